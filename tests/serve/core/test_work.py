"""What people do about incidents, and what the health page says first."""

from __future__ import annotations

import time
from collections.abc import Callable

import pytest
from benchmarks.serve_programs import free_port

from alora_ts.serve.settings import Settings
from alora_ts.serve.store.outbox import post as queue
from tests.serve.core import plant
from tests.serve.core.conftest import Plant
from tests.serve.core.test_silence import in_trouble

API = "/api/v1"
Start = Callable[[Settings], Plant]


@pytest.fixture
def noted(settings: Settings) -> Settings:
    books = {"runbooks": {"plant": "https://wiki.example/plant"}}
    return Settings.model_validate({**settings.model_dump(), **books})


def test_an_incident_is_acknowledged_assigned_and_noted_on(serve: Start, noted: Settings) -> None:
    here = serve(noted)
    in_trouble(here)
    [found] = here.client.get(f"{API}/incidents").json()["items"]
    assert found["work"] == {"acknowledged": None, "assignee": None, "notes": []}
    path = f"{API}/incidents/{found['id']}/work"
    here.client.post(path, json={"acknowledged": True, "assignee": "Ada"})
    here.client.post(path, json={"note": "the pump was <b>loud</b>"})
    # The incident goes on, and what people said stays.
    here.send(plant.rows(plant.values(100, seed=3)[60:], seconds=range(60, 100)))  # type: ignore[arg-type]
    here.settle()
    shown = here.client.get(f"{API}/incidents/{found['id']}").json()
    assert shown["state"] == "closed"
    assert shown["work"]["acknowledged"]["by"] == "this machine"
    assert shown["work"]["assignee"] == "Ada"
    assert [note["text"] for note in shown["work"]["notes"]] == ["the pump was <b>loud</b>"]
    assert shown["runbook"] == "https://wiki.example/plant"
    back = here.client.post(path, json={"acknowledged": False, "assignee": ""}).json()["work"]
    assert (back["acknowledged"], back["assignee"]) == (None, None)
    actions = [one["action"] for one in here.client.get(f"{API}/audit").json()]
    assert actions.count("incident worked on") == 3
    assert here.client.post(path, json={"assignee": "a\0b"}).status_code == 422
    assert here.client.post(f"{API}/incidents/none/work", json={}).status_code == 404


def test_incidents_are_filtered_by_severity(here: Plant) -> None:
    in_trouble(here)
    [found] = here.client.get(f"{API}/incidents").json()["items"]
    for severity in ("low", "medium", "high"):
        items = here.client.get(f"{API}/incidents", params={"severity": severity}).json()["items"]
        assert len(items) == (severity == found["severity"])


def test_health_says_first_what_is_wrong(here: Plant) -> None:
    health = here.client.get(f"{API}/health").json()
    assert health["wrong"] == []
    assert health["free_disk"] > 0
    assert (health["lag"], health["unscored"], health["channels"]) == (0.0, 0, [])
    here.service.crew.troubles["plant"] = "ValueError: no"
    here.service.settings_error = "bad line"
    wrong = here.client.get(f"{API}/health").json()["wrong"]
    here.service.crew.troubles.clear()
    assert wrong == [
        "scoring plant fails: ValueError: no",
        "the changed settings were not taken over: bad line",
    ]


def test_health_names_a_channel_that_takes_nothing(serve: Start, settings: Settings) -> None:
    """Long before it is given up."""
    notify = {"webhook": [{"name": "pager", "url": f"http://127.0.0.1:{free_port()}/"}]}
    here = serve(Settings.model_validate({**settings.model_dump(), "notify": notify}))
    post = here.service.store.writer.run
    post(lambda connection: queue(connection, ["pager"], "opened", {"id": "i_1"}))
    deadline = time.monotonic() + 60
    while not (wrong := here.client.get(f"{API}/health").json()["wrong"]):
        assert time.monotonic() < deadline
        time.sleep(0.05)
    assert wrong == ["pager cannot be reached; 1 wait for it"]
