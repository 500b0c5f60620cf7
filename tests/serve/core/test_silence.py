"""Silence beside alarms: neither hides the other."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest
from sqlalchemy import text, update

from alora_ts.serve.incidents import arrivals
from alora_ts.serve.incidents.arrivals import check_arrivals
from alora_ts.serve.notify.interface import IncidentEvent
from alora_ts.serve.notify.message import headline
from alora_ts.serve.settings import Settings
from alora_ts.serve.store.schema import sources as stored
from alora_ts.serve.times import now_micros
from tests.serve.core import plant
from tests.serve.core.conftest import Plant

Start = Callable[[Settings], Plant]


@pytest.fixture(autouse=True)
def looked_at_by_hand(monkeypatch: pytest.MonkeyPatch) -> None:
    """The service looks once, at its start."""
    monkeypatch.setattr(arrivals, "_LOOK", 1e6)


def in_trouble(here: Plant, *, rows: int = 60) -> None:
    table = plant.values(rows, seed=3)
    table[-10:, 1] += 60
    here.send(plant.rows(table))
    here.settle()


def look(here: Plant, *, later: float) -> None:
    check_arrivals(here.service, now=now_micros() + int(later * 1e6))


def test_silence_does_not_hide_an_alarm(serve: Start, settings: Settings) -> None:
    here = serve(settings.model_copy(update={"silent_after": 300.0}))
    in_trouble(here)
    look(here, later=301)
    here.source.heard = here.source.arrived = here.source.arrived - int(301e6)
    shown = here.client.get("/api/v1/sources?recent=5").json()[0]
    assert shown["state"] == "alarm"
    assert shown["silent_signals"] == sorted(plant.VARIABLES)
    assert shown["open_incidents"] == 2
    assert shown["worst"]["kind"] == "anomaly"
    assert shown["worst"]["culprits"][0]["variable"] == "level"
    assert len(shown["recent"]) == 5
    assert shown["recent"][-1] == shown["score"]


def test_a_clock_that_is_ahead_silences_nobody(here: Plant, settings: Settings) -> None:
    """Rows taken by a process whose clock is ten minutes behind came just now all the same."""
    service = here.service
    here.send(plant.rows(plant.values(40)))
    here.settle()
    service.settings = settings.model_copy(update={"silent_after": 300.0})
    service.started -= int(3600e6)
    with service.store._writing.begin() as connection:
        connection.execute(text("UPDATE sources SET arrived_us = arrived_us - 600000000"))
    service.registry.follow()
    look(here, later=0)
    assert here.client.get("/api/v1/incidents").json()["items"] == []
    assert here.client.get("/api/v1/sources").json()[0]["state"] != "silent"
    look(here, later=301)
    assert len(here.client.get("/api/v1/incidents").json()["items"]) == 1


def test_a_source_that_stops_is_one_incident_until_rows_come(
    serve: Start, settings: Settings
) -> None:
    here = serve(settings.model_copy(update={"silent_after": 300.0}))
    look(here, later=1000)
    assert here.client.get("/api/v1/incidents").json()["items"] == []  # nothing ever came
    rows = plant.rows(plant.values(40))
    here.send(rows[:30])
    here.settle()
    look(here, later=200)
    assert here.client.get("/api/v1/incidents").json()["items"] == []
    for _ in range(3):
        look(here, later=301)
    [silence] = here.client.get("/api/v1/incidents").json()["items"]
    assert silence["kind"] == "silence"
    assert silence["connector"] is None
    assert {one["variable"] for one in silence["culprits"]} == set(plant.VARIABLES)
    here.send(rows[30:])
    look(here, later=1)
    [silence] = here.client.get("/api/v1/incidents").json()["items"]
    assert silence["state"] == "closed"


def test_a_silence_outlives_a_restart_and_0_means_never(serve: Start, settings: Settings) -> None:
    settings = settings.model_copy(update={"silent_after": 300.0})
    first = serve(settings)
    first.send(plant.rows(plant.values(30)))
    first.settle()
    look(first, later=301)
    # As if it had been a while ago.
    first.service.store.writer.run(lambda c: c.execute(update(stored).values(arrived_us=1)))
    first.client.__exit__(None, None, None)
    second = serve(settings)
    look(second, later=0)
    [silence] = second.client.get("/api/v1/incidents").json()["items"]
    assert silence["state"] == "open"
    second.service.settings = settings.model_copy(update={"silent_after": 0.0})
    look(second, later=1e6)
    [silence] = second.client.get("/api/v1/incidents").json()["items"]
    assert silence["state"] == "closed"


def test_a_gap_does_not_end_an_anomaly_as_if_all_were_well(here: Plant) -> None:
    in_trouble(here)
    calm = plant.values(20, seed=4)
    here.send(plant.rows(calm, seconds=np.arange(1000, 1020)))
    here.settle()
    [anomaly] = here.client.get("/api/v1/incidents?source=plant&state=closed").json()["items"]
    assert anomaly["ending"] == "gap"
    shown = here.client.get(f"/api/v1/incidents/{anomaly['id']}").json()
    assert "the data stopped while it was going on" in [fact["text"] for fact in shown["facts"]]
    event = IncidentEvent("1", "closed", anomaly)
    assert headline(event).startswith("plant: data stopped during an incident")


def test_the_state_does_not_follow_one_odd_row(here: Plant) -> None:
    in_trouble(here)
    assert 'alora_alarm{source="plant"} 1.0' in here.client.get("/metrics").text
    # One quiet row in the midst of an anomaly is no end of it.
    calm = plant.values(61, seed=3)
    here.send(plant.rows(calm[60:], seconds=np.array([60])))
    here.settle()
    assert here.client.get("/api/v1/sources/plant").json()["state"] == "alarm"
    assert 'alora_alarm{source="plant"} 1.0' in here.client.get("/metrics").text
