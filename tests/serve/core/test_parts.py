"""Rows in parts, rows refused, times as numbers, and who may read the store."""

from __future__ import annotations

import stat
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from sqlalchemy.exc import DataError

from alora_ts import ALoRa
from alora_ts.errors import AloraError
from alora_ts.serve.check import check_settings
from alora_ts.serve.settings import Settings
from tests.serve.core import plant
from tests.serve.core.conftest import Plant
from tests.serve.core.test_scoring import batch, check, faulty, warm_up


def part(row: dict[str, Any], *names: str) -> dict[str, Any]:
    return {"time": row["time"], "values": {name: row["values"][name] for name in names}}


@pytest.mark.parametrize("together", [True, False])
def test_parts_of_a_row_make_one_row(here: Plant, model: ALoRa, together: bool) -> None:
    table, seconds = faulty(), np.arange(300)
    rows = plant.rows(table, seconds=seconds)
    first = [part(row, "flow", "level") for row in rows]
    second = [part(row, "power", "heat") for row in rows]
    if together:
        receipt = here.send([one for pair in zip(first, second, strict=True) for one in pair])
        assert receipt["accepted"] == 300
    else:
        assert here.send(first)["accepted"] == 300
        here.settle()
        receipt = here.send(second)
        assert receipt == {"accepted": 0, "duplicates": 0, "merged": 300, "late": 0, "rejected": []}
    check(here.scores(), batch(model, table, seconds), warm_up(model, table, seconds))
    # What is there stays, and the same part again is a duplicate.
    other = part(rows[7], "power")
    other["values"]["power"] += 1
    assert here.send([other])["duplicates"] == 1
    assert here.source.rows == 300


def test_a_refused_row_is_an_error(here: Plant) -> None:
    path = "/api/v1/sources/plant/rows"
    bad = {"time": "2026-03-01T00:00:00Z", "values": {"floww": 1.0}}
    for body in (bad, {"rows": [bad]}, {"rows": [bad, bad]}):
        answer = here.client.post(path, json=body)
        assert answer.status_code == 422
        assert "unknown variable 'floww'" in answer.json()["error"]["message"]
    good = plant.rows(plant.values(1))[0]
    assert here.client.post(path, json={"rows": [bad, good]}).status_code == 200
    assert here.client.post(path, json={"rows": []}).status_code == 200


def test_times_may_be_seconds(here: Plant) -> None:
    second = int(plant.START.timestamp())
    here.send([{"time": second + at, "values": {"flow": 1.0}} for at in (0, 0.5)])
    shown = here.client.get("/api/v1/sources/plant").json()
    assert shown["first_time"] == "2026-03-01T00:00:00.000000Z"
    assert shown["last_time"] == "2026-03-01T00:00:00.500000Z"
    text = '{"time": Infinity, "values": {"flow": 1}}'
    json = {"content-type": "application/json"}
    answer = here.client.post("/api/v1/sources/plant/rows", content=text, headers=json)
    assert answer.status_code == 422


def test_only_the_owner_reads_the_store(here: Plant) -> None:
    here.send(plant.rows(plant.values(2)))
    for file in here.service.folder.glob("store.db*"):
        assert stat.S_IMODE(file.stat().st_mode) == 0o600, file


def test_what_the_database_cannot_hold_is_the_senders_fault(
    here: Plant, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refuse(*_: object, **__: object) -> None:
        raise DataError("INSERT", {}, ValueError("texts cannot contain NUL"))

    monkeypatch.setattr(type(here.service.registry), "activate", refuse)
    answer = here.client.post("/api/v1/sources/plant/activate", json={"model_id": "m\0"})
    assert answer.status_code == 422


def test_rolling_back_is_offered_when_there_is_something_before(here: Plant) -> None:
    shown = here.client.get("/api/v1/sources/plant").json()
    assert shown["can_roll_back"] is False
    path = "/api/v1/sources/plant/activate"
    assert here.client.post(path, json={"model_id": shown["model_id"]}).json()["can_roll_back"]


def test_a_check_finds_absent_models_and_unknown_sources(
    settings: Settings, tmp_path: Path
) -> None:
    check_settings(settings)
    with pytest.raises(AloraError, match=r"gone\.alora.*No such file"):
        check_settings(settings.model_copy(update={"models": {"plant": tmp_path / "gone.alora"}}))
    wrong = {"connect": {"directory": [{"name": "files", "source": "plnt", "path": tmp_path}]}}
    given = Settings.model_validate({**settings.model_dump(), **wrong})
    with pytest.raises(AloraError, match=r"'plnt', which is not there.*plant"):
        check_settings(given)
    assert not settings.folder.exists(), "nothing is made"
