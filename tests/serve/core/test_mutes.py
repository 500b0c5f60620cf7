"""Maintenance windows and mutes: incidents stay visible and are only not told."""

from __future__ import annotations

import time
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest
from sqlalchemy import update
from typer.testing import CliRunner

from alora_ts.cli.main import app
from alora_ts.serve.incidents.mutes import tell_held
from alora_ts.serve.settings import Settings
from alora_ts.serve.store.schema import mutes
from tests.serve.core import plant
from tests.serve.core.conftest import Plant
from tests.serve.core.test_old_news import Start, events, told

__all__ = ["told"]

API = "/api/v1"
COUNT = 140
FAULT = slice(70, 110)


def story(column: int = 1, *, count: int = COUNT, fault: slice = FAULT) -> list[dict[str, Any]]:
    """Rows a second apart up to now; a signal goes up for a while."""
    table = plant.values(count, seed=3)
    table[fault, column] += 60
    end = datetime.now(UTC)
    made = plant.rows(table)
    for at, row in enumerate(made):
        row["time"] = (end - timedelta(seconds=count - 1 - at)).isoformat()
    return made


def mute(here: Plant, **said: Any) -> dict[str, Any]:
    answer = here.client.post(f"{API}/mutes", json={"hours": 1, **said})
    assert answer.status_code == 200, answer.text
    made: dict[str, Any] = answer.json()
    return made


def over(here: Plant, key: str) -> None:
    """Let a mute have ended a moment ago."""
    ended = update(mutes).where(mutes.c.id == key).values(end_us=1)
    here.service.store.writer.run(lambda connection: connection.execute(ended))


def incident(here: Plant) -> dict[str, Any]:
    here.settle()
    [found] = here.client.get(f"{API}/incidents").json()["items"]
    shown: dict[str, Any] = here.client.get(f"{API}/incidents/{found['id']}").json()
    return shown


def test_what_ends_while_muted_is_kept_and_never_told(serve: Start, told: Settings) -> None:
    here = serve(told)
    mute(here, source="plant", reason="new pump")
    rows = story()
    here.send(rows[:90])
    assert events(here) == []
    shown = incident(here)
    assert (shown["state"], shown["muted"]["reason"]) == ("open", "new pump")
    assert here.client.get(f"{API}/sources/plant").json()["state"] == "alarm"
    assert "alora_muted_incidents 1.0" in here.client.get("/metrics").text
    [listed] = here.client.get(f"{API}/mutes").json()
    assert (listed["state"], listed["holds"], listed["by"]) == ("active", 1, "this machine")
    here.send(rows[90:])
    assert events(here) == []
    shown = incident(here)
    assert (shown["state"], shown["muted"]["held"]) == ("closed", False)
    assert tell_held(here.service) == 0


@pytest.mark.parametrize("how", ["expiry", "undo", "restart"])
def test_what_lasts_when_the_window_ends_is_told_then(
    serve: Start, told: Settings, how: str
) -> None:
    here = serve(told)
    made = mute(here, source="plant")
    rows = story()
    here.send(rows[:85])
    assert events(here) == []
    if how == "undo":
        removed = here.client.delete(f"{API}/mutes/{made['id']}").json()
        assert removed["state"] == "removed"
    elif how == "expiry":
        over(here, made["id"])
    else:
        here.client.__exit__(None, None, None)
        here = serve(told)
        over(here, made["id"])
    until = time.monotonic() + 240
    while events(here) != ["opened"]:
        assert time.monotonic() < until
        time.sleep(0.05)
    here.send(rows[85:])
    heard = events(here)
    assert (heard[0], heard[-1], heard.count("opened")) == ("opened", "closed", 1)


def test_who_heard_of_the_beginning_hears_of_the_end(serve: Start, told: Settings) -> None:
    here = serve(told)
    rows = story()
    here.send(rows[:85])
    assert events(here)[:1] == ["opened"]
    mute(here)
    here.send(rows[85:])
    assert events(here)[-1] == "closed"
    assert events(here).count("opened") == 1


def test_a_pattern_is_muted_and_others_are_not(serve: Start, told: Settings) -> None:
    here = serve(told)
    table = plant.values(300, seed=3)
    table[60:80, 3] += 60
    table[140:160, 3] += 60
    table[220:240, 1] -= 60
    end = datetime.now(UTC)
    rows = plant.rows(table)
    for at, row in enumerate(rows):
        row["time"] = (end - timedelta(seconds=299 - at)).isoformat()
    settings = told.notify.model_copy(update={"max_age": 3600.0})
    here.service.settings = told.model_copy(update={"notify": settings})
    here.send(rows[:120])
    first = incident(here)
    made = mute(here, incident=first["id"])
    assert made["source"] == "plant"
    assert made["what"] == f"{first['culprits'][0]['variable']} {first['culprits'][0]['direction']}"
    before = len(events(here))
    here.send(rows[120:200])
    assert len(events(here)) == before
    assert len(here.client.get(f"{API}/incidents").json()["items"]) == 2
    here.send(rows[200:])
    assert len(events(here)) > before


def test_a_window_to_come_mutes_nothing_yet(serve: Start, told: Settings) -> None:
    here = serve(told)
    made = mute(here, start=(datetime.now(UTC) + timedelta(hours=2)).isoformat())
    assert made["state"] == "planned"
    here.send(story()[:85])
    assert events(here)[:1] == ["opened"]


def test_silences_are_muted_too(serve: Start, told: Settings) -> None:
    here = serve(told)
    mute(here, source="plant")
    here.service.silences.hear(here.source, "gateway", {"flow": None})
    assert events(here) == []
    here.service.silences.hear(here.source, "gateway", {})
    assert events(here) == []
    assert incident(here)["kind"] == "silence"


def test_bad_mutes_are_refused_with_a_reason(here: Plant) -> None:
    def refused(**said: Any) -> tuple[int, str]:
        answer = here.client.post(f"{API}/mutes", json=said)
        return answer.status_code, answer.text

    assert refused()[0] == 422
    assert refused(hours=1, end="2030-01-01T00:00:00Z")[0] == 422
    assert refused(end="2001-01-01T00:00:00Z")[0] == 422
    assert refused(hours=1, start="9998-01-01T00:00:00Z")[0] == 422
    status, text = refused(hours=1, source="plnt")
    assert (status, "plant" in text) == (404, True)
    assert refused(hours=1, incident="none")[0] == 404
    assert here.client.delete(f"{API}/mutes/none").status_code == 404


def test_who_muted_what_is_kept(here: Plant) -> None:
    made = mute(here, reason="tests")
    here.client.delete(f"{API}/mutes/{made['id']}")
    trail = [(one["action"], one["target"]) for one in here.client.get(f"{API}/audit").json()]
    assert trail[:2] == [("mute removed", made["id"]), ("mute made", made["id"])]
    assert here.client.get(f"{API}/mutes").json() == []
    [past] = here.client.get(f"{API}/mutes", params={"past": True}).json()
    assert past["state"] == "removed"


def test_mutes_by_the_command_line(serve: Callable[[Settings], Plant], told: Settings) -> None:
    here = serve(told)
    folder = ["--folder", str(Path(told.folder))]
    runner = CliRunner()

    def run(*words: str) -> str:
        result = runner.invoke(app, ["mute", *words, *folder])
        assert result.exit_code == 0, result.output
        return result.output

    said = run("add", "--source", "plant", "--hours", "2", "--reason", "new pump")
    key = said.split()[2]
    assert key.startswith("m_")
    # A running service follows at once.
    here.send(story()[:85])
    assert events(here) == []
    assert "m_" in run("list")
    assert run("remove", key) == f"Removed {key}.\n"
    assert tell_held(here.service) == 1 or events(here) == ["opened"]
