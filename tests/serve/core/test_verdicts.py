"""Verdicts silence a pattern and nothing else; incidents that recur are put together."""

from __future__ import annotations

from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from sqlalchemy import select

from alora_ts import ALoRa
from alora_ts.serve.incidents.patterns import WORSE, check_silences
from alora_ts.serve.settings import Settings
from alora_ts.serve.store.schema import judgements, outbox
from tests.serve.core import plant
from tests.serve.core.conftest import Plant

API = "/api/v1"
Start = Callable[[Settings], Plant]


@pytest.fixture
def here(serve: Start, settings: Settings) -> Plant:
    notify = {"webhook": [{"name": "pager", "url": "http://127.0.0.1:9/"}]}
    return serve(Settings.model_validate({**settings.model_dump(), "notify": notify}))


class Live:
    """Rows that end now, with faults of "level" of some heights at some places."""

    def __init__(self, here: Plant, rows: int = 600) -> None:
        self.here = here
        self.table = plant.values(rows, seed=3)
        self.begin = datetime.now(UTC) - timedelta(seconds=rows)
        self.sent = 0

    def fault(self, start: int, height: float, *, rows: int = 10, column: int = 1) -> None:
        self.table[start : start + rows, column] += height

    def send(self, until: int) -> None:
        made = plant.rows(self.table[self.sent : until])
        for at, row in enumerate(made):
            row["time"] = (self.begin + timedelta(seconds=self.sent + at)).isoformat()
        self.sent = until
        self.here.send(made)
        self.here.settle()

    def incidents(self, **query: Any) -> list[dict[str, Any]]:
        """The oldest first."""
        found = self.here.client.get(f"{API}/incidents", params=query).json()["items"]
        return list(reversed(found))

    def judge(self, incident: dict[str, Any], verdict: str, **more: Any) -> Any:
        url = f"{API}/incidents/{incident['id']}/feedback"
        return self.here.client.post(url, json={"verdict": verdict, **more})

    def told(self) -> list[tuple[str, str]]:
        """Kind of message and incident."""
        with self.here.service.store.reading() as connection:
            found = connection.execute(select(outbox).order_by(outbox.c.id)).all()
        return [(entry.event["kind"], entry.incident_id) for entry in found]


def metric(here: Plant, line: str) -> bool:
    return line in here.client.get("/metrics").text


def test_normal_silences_the_pattern_and_leaves_the_level(here: Plant) -> None:
    live = Live(here)
    live.fault(100, 40)
    live.fault(200, 40)
    live.fault(300, -40)
    level = here.source.threshold
    live.send(150)
    [first] = live.incidents()
    answer = live.judge(first, "normal").json()
    assert answer["incident"]["verdict"] == "normal"
    assert answer["pattern"]["text"] == "level above"
    assert answer["pattern"]["silenced_until"] is not None
    live.send(206)
    # Found, kept, shown as silenced; no message, no alarm.
    _, second = live.incidents()
    assert (second["state"], second["silenced"]) == ("open", True)
    assert second["pattern"] == first["pattern"]
    shown = here.client.get(f"{API}/sources/plant").json()
    assert (shown["state"], shown["open_incidents"], shown["silenced_incidents"]) == ("ok", 0, 1)
    assert shown["worst"] is None
    assert metric(here, 'alora_alarm{source="plant"} 0.0')
    assert metric(here, "alora_silenced_incidents{")
    assert not metric(here, "alora_open_incidents{")
    live.send(306)
    # Another pattern alarms as ever, at the same level.
    third = live.incidents()[-1]
    assert (third["silenced"], third["pattern"] != first["pattern"]) == (False, True)
    assert here.client.get(f"{API}/sources/plant").json()["state"] == "alarm"
    live.send(600)
    assert {key for _, key in live.told()} == {first["id"], third["id"]}
    assert here.source.threshold == level


def test_a_much_worse_one_alarms_all_the_same(here: Plant) -> None:
    live = Live(here)
    live.fault(100, 30)
    live.fault(300, 35)
    live.fault(400, 3000)
    live.send(150)
    [first] = live.incidents()
    above = live.judge(first, "normal").json()["pattern"]["alarms_above"]
    assert above == pytest.approx(WORSE * first["peak"])
    live.send(600)
    _, second, third = live.incidents()
    assert second["silenced"]
    assert third["peak"] > above
    assert not third["silenced"]
    assert {key for _, key in live.told()} == {first["id"], third["id"]}


def test_a_silence_that_is_outgrown_is_told_once(here: Plant) -> None:
    live = Live(here)
    live.fault(100, 30)
    live.fault(300, 35, rows=30)
    live.fault(315, 3000, rows=15)
    live.send(150)
    live.judge(live.incidents()[0], "normal")
    live.send(310)
    grown = live.incidents()[-1]
    assert grown["silenced"]
    for until in (316, 317, 318, 322):
        live.send(until)
    assert not live.incidents()[-1]["silenced"]
    live.send(400)
    kinds = [kind for kind, key in live.told() if key == grown["id"]]
    assert [kind for kind in kinds if kind != "updated"] == ["opened", "closed"]


def test_an_open_incident_is_silenced_and_undone(here: Plant) -> None:
    live = Live(here)
    live.fault(100, 40, rows=200)
    live.send(120)
    [opened] = live.incidents()
    live.judge(opened, "normal")
    assert live.incidents()[0]["silenced"]
    assert metric(here, 'alora_alarm{source="plant"} 0.0')
    live.send(130)
    assert here.client.get(f"{API}/sources/plant").json()["state"] == "ok"
    undone = here.client.delete(f"{API}/incidents/{opened['id']}/feedback").json()
    assert undone["incident"]["verdict"] is None
    assert undone["incident"]["silenced"] is False
    assert undone["pattern"]["silenced_until"] is None
    assert metric(here, 'alora_alarm{source="plant"} 1.0')
    assert here.client.get(f"{API}/patterns").json() == []
    live.send(600)
    # Who heard that it began hears of the silence, of its end, and that it is over.
    told = [kind for kind, key in live.told() if key == opened["id"]]
    assert told == ["opened", "updated", "updated", "closed"]


def test_a_silence_ends_by_itself(here: Plant) -> None:
    live = Live(here)
    live.fault(100, 40)
    live.fault(200, 40, rows=100)
    live.send(150)
    [first] = live.incidents()
    live.judge(first, "normal", days=1)
    live.send(210)
    second = live.incidents()[-1]
    assert second["silenced"]
    here.service.store.writer.run(
        lambda connection: connection.execute(judgements.update().values(until_us=1)) and None
    )
    check_silences(here.service)
    assert not live.incidents()[-1]["silenced"]
    assert here.client.get(f"{API}/sources/plant").json()["state"] == "alarm"
    assert here.client.get(f"{API}/patterns").json() == []
    live.send(400)
    told = [kind for kind, key in live.told() if key == second["id"]]
    assert told == ["opened", "closed"]


def test_real_protects_the_pattern(here: Plant) -> None:
    live = Live(here)
    live.fault(100, 40)
    live.fault(200, 40)
    live.send(300)
    first, second = live.incidents()
    assert live.judge(first, "real").json()["pattern"]["protected"]
    refused = live.judge(second, "normal")
    assert refused.status_code == 409
    assert first["id"] in refused.json()["error"]["message"]
    ahead = here.client.get(f"{API}/incidents/{second['id']}/feedback").json()
    assert (ahead["allowed"], first["id"] in ahead["why"]) == (False, True)
    here.client.delete(f"{API}/incidents/{first['id']}/feedback")
    assert live.judge(second, "normal").status_code == 200
    # Said of a silenced pattern, it ends the silence at once.
    assert live.judge(first, "real").json()["pattern"]["silenced_until"] is None
    [pattern] = here.client.get(f"{API}/patterns").json()
    assert pattern["protected"]
    assert {one["incident"] for one in pattern["verdicts"]} == {first["id"], second["id"]}


def test_the_preview_says_what_then_happens(here: Plant) -> None:
    live = Live(here, 800)
    for start, height in ((100, 30), (200, -30), (300, 35), (400, 3000)):
        live.fault(start, height)
    live.send(500)
    first, *_ = live.incidents()
    before = here.client.get(f"{API}/audit").json()
    url = f"{API}/incidents/{first['id']}/feedback"
    ahead = here.client.get(url, params={"verdict": "normal", "days": 7}).json()
    assert (ahead["incidents"], ahead["of_pattern"], ahead["silenced"]) == (4, 3, 2)
    assert [one["silenced"] for one in ahead["items"]] == [False, True, True]
    assert "2 of them would not have alarmed" in ahead["summary"]
    assert here.client.get(url, params={"verdict": "real"}).json()["silenced"] == 0
    assert here.client.get(url, params={"days": 0}).status_code == 422
    # Nothing was changed by asking.
    assert here.client.get(f"{API}/audit").json() == before
    assert here.client.get(f"{API}/incidents/none/feedback").status_code == 404
    # The same heights again, with the verdict in force.
    given = live.judge(first, "normal", days=7).json()
    assert given["pattern"]["alarms_above"] == ahead["alarms_above"]
    live.fault(550, 30)
    live.fault(700, 30, column=3)
    live.send(800)
    again, *others = [one["silenced"] for one in live.incidents()[4:]]
    assert again
    assert others
    assert not any(others)
    newest = here.client.get(f"{API}/audit").json()[0]
    assert newest["action"] == "incident judged"
    assert newest["detail"]["verdict"] == "normal"
    assert newest["detail"]["until"] == given["pattern"]["silenced_until"]


@pytest.mark.parametrize("days", [0, -1, 400, "x"])
def test_a_verdict_needs_an_end(here: Plant, days: Any) -> None:
    answer = here.client.post(
        f"{API}/incidents/x/feedback", json={"verdict": "normal", "days": days}
    )
    assert answer.status_code == 422
    assert here.client.post(f"{API}/incidents/x/feedback", json={"verdict": "maybe"}).is_error


def test_a_verdict_on_an_open_incident_stays_as_it_goes_on(here: Plant) -> None:
    live = Live(here)
    live.fault(100, 300, rows=40)
    live.send(120)
    [opened] = live.incidents(state="open")
    live.judge(opened, "real")
    live.send(140)
    later = here.client.get(f"{API}/incidents/{opened['id']}").json()
    assert later["verdict"] == "real"
    assert later["rows"] > opened["rows"]


def test_verdicts_do_not_enter_a_recalibration(here: Plant) -> None:
    live = Live(here, 900)
    live.fault(100, 60, rows=20)
    live.send(900)
    first = live.incidents()[0]
    level = here.client.post(f"{API}/sources/plant/recalibrate").json()["threshold"]
    live.judge(first, "normal")
    again = here.client.post(f"{API}/sources/plant/recalibrate").json()["threshold"]
    assert again == level


def test_incidents_that_recur_are_one_with_a_count(
    serve: Start, settings: Settings, model: ALoRa
) -> None:
    here = serve(settings)
    live = Live(here, 800)
    for start, height in ((100, 40), (200, -40), (300, 40), (500, 40)):
        live.fault(start, height)
    live.send(800)
    found = live.incidents()
    assert [one["recurring"]["count"] for one in found] == [3, 1, 3, 3]
    assert {one["recurring"]["series"] for one in found} == {found[0]["id"], found[1]["id"]}
    assert found[3]["recurring"]["first"] == found[0]["start"]
    grouped = live.incidents(grouped=True)
    assert [one["id"] for one in grouped] == [found[1]["id"], found[3]["id"]]
    assert [one["recurring"]["count"] for one in grouped] == [1, 3]
    series = live.incidents(series=found[0]["id"])
    assert [one["id"] for one in series] == [found[at]["id"] for at in (0, 2, 3)]
    # A page of groups goes on where the one before ended.
    page = here.client.get(f"{API}/incidents", params={"grouped": True, "limit": 1}).json()
    rest = {"grouped": True, "limit": 5, "cursor": page["next"]}
    assert [one["id"] for one in live.incidents(**rest)] == [found[1]["id"]]
    # The library puts the same ones together.
    diagnosis = model.diagnose(plant.frame(live.table), progress=False)
    assert sorted(one.count for one in diagnosis.recurring()) == [1, 3]


def test_late_rows_put_them_together_anew(serve: Start, settings: Settings) -> None:
    here = serve(settings.model_copy(update={"late_limit": 1e6}))
    live = Live(here, 600)
    for start in (100, 300, 500):
        live.fault(start, 40)
    live.send(200)
    rows, live.sent = (200, 400), 400
    live.send(600)
    assert [one["recurring"]["count"] for one in live.incidents()] == [2, 2]
    live.sent = rows[0]
    live.send(rows[1])
    assert [one["recurring"]["count"] for one in live.incidents()] == [3, 3, 3]
    series = {one["recurring"]["series"] for one in live.incidents()}
    assert series == {live.incidents()[0]["id"]}


def test_what_is_too_far_apart_does_not_recur(
    serve: Start, settings: Settings, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("alora_ts.serve.scoring.scorer.WITHIN", 100)
    live = Live(serve(settings), 600)
    for start in (100, 200, 400):
        live.fault(start, 40)
    live.send(600)
    assert [one["recurring"]["count"] for one in live.incidents()] == [2, 2, 1]
