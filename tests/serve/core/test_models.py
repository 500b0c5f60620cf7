"""Models, drift, recalibration and training through the HTTP interface."""

from __future__ import annotations

import json
import struct
import time
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.testing import assert_allclose

from alora_ts import ALoRa
from alora_ts.serve.models.drift import population_stability, show_drift
from tests.serve.core import plant
from tests.serve.core.conftest import Plant

API = "/api/v1"


def upload(here: Plant, file: bytes, name: str = "other") -> Any:
    return here.client.post(f"{API}/models", params={"name": name}, content=file)


@pytest.fixture(scope="module")
def other(tmp_path_factory: pytest.TempPathFactory) -> bytes:
    return plant.fit(seed=7).save(tmp_path_factory.mktemp("other") / "m.alora").read_bytes()


def test_upload_activate_and_roll_back(here: Plant, other: bytes) -> None:
    first = here.source.model_id
    answer = upload(here, other)
    assert answer.status_code == 201
    second = answer.json()["id"]
    assert upload(here, other).json()["id"] == second
    here.send(plant.rows(plant.values(40)))
    activated = here.client.post(f"{API}/sources/plant/activate", json={"model_id": second})
    assert activated.json()["model_id"] == second
    here.send(plant.rows(plant.values(60))[40:])
    here.settle()
    page = here.client.get(f"{API}/sources/plant/readings", params={"limit": 100}).json()
    # The new model has replayed the rows before: no second warm-up.
    assert not any(item["warm_up"] for item in page["items"][10:])
    active = {one["id"]: one["active_for"] for one in here.client.get(f"{API}/models").json()}
    assert active == {first: [], second: ["plant"]}
    back = here.client.post(f"{API}/sources/plant/rollback")
    assert back.json()["model_id"] == first
    assert here.client.post(f"{API}/sources/plant/rollback").status_code == 409
    fresh = here.client.post(f"{API}/sources/second/activate", json={"model_id": second})
    assert fresh.json()["state"] == "waiting"


def test_contributions_and_card(here: Plant, model: ALoRa) -> None:
    key = here.source.model_id
    found = here.client.get(f"{API}/models/{key}/contributions").json()
    assert_allclose(found["C"], model.contributions_.reconstruction, rtol=1e-6)
    assert here.client.get(f"{API}/models/{key}").json()["card"]["window"] == 8
    assert here.client.get(f"{API}/models/none").status_code == 404


def header(content: dict[str, Any], size: int | None = None) -> bytes:
    text = json.dumps(content).encode()
    return struct.pack("<Q", len(text) if size is None else size) + text


@pytest.mark.parametrize(
    "file",
    [
        b"",
        b"PK\x03\x04" + b"\x00" * 100,
        b"\x80\x04\x95" + b"\x00" * 50,  # what a pickle begins with
        header({}, size=2**62),
        header({"__metadata__": {"alora_ts": "{"}}),
        header({"__metadata__": {"alora_ts": "[]"}}),
        header({"__metadata__": {"alora_ts": json.dumps({"format": 1})}}),
        header({"__metadata__": {"alora_ts": json.dumps({"format": 99, "versions": 3})}}),
        header(
            {
                "__metadata__": {
                    "alora_ts": json.dumps(
                        {"format": 1, "kind": "ALoRa", "description": {"parameters": {"a": 1}}}
                    )
                }
            }
        ),
        header({"__metadata__": {"other": "x"}}),
    ],
)
def test_foreign_files_are_refused(here: Plant, file: bytes) -> None:
    answer = upload(here, file)
    assert answer.status_code == 422, answer.text
    assert "/tmp" not in answer.text


def test_damaged_models_are_refused(here: Plant, other: bytes) -> None:
    said = b'\\\\"window\\\\": 8'.replace(b"\\\\", b"\\")
    assert said in other
    for damaged in (
        other[:-20],
        other[:200],
        other.replace(said, said[:-1] + b"0"),
        other[:-4000] + b"\xff" * 4000,  # weights that are not finite
    ):
        assert upload(here, damaged).status_code == 422


@pytest.mark.parametrize("kind", ["json", "csv", "parquet"])
def test_detect(here: Plant, model: ALoRa, tmp_path: Path, kind: str) -> None:
    table = plant.values(80, seed=2)
    table[40:50, 1] += 80
    frame = plant.frame(table)
    file = tmp_path / "table"
    if kind == "json":
        body = json.dumps({"rows": plant.rows(table)}).encode()
    elif kind == "csv":
        frame.write_csv(file)
        body = file.read_bytes()
    else:
        frame.write_parquet(file)
        body = file.read_bytes()
    types = {"json": "application/json", "csv": "text/csv"}
    answer = here.client.post(
        f"{API}/detect",
        params={"model_id": here.source.model_id},
        content=body,
        headers={"content-type": types.get(kind, "application/vnd.apache.parquet")},
    )
    wanted = model.diagnose(frame, progress=False).to_dict()
    assert answer.json()["alarming_rows"] == wanted["alarming_rows"] > 0
    assert answer.json()["incidents"][0]["start"] == wanted["incidents"][0]["start"]


@pytest.mark.parametrize(
    ("kind", "body"),
    [
        ("application/vnd.apache.parquet", b"PAR1" + b"\x00" * 40 + b"PAR1"),
        ("application/vnd.apache.parquet", b""),
        ("text/csv", b""),
        ("text/csv", b"a,b\n1,2\n"),
        ("text/csv", b"\x00\xff\n"),
        ("application/json", b'{"rows": []}'),
        ("application/json", b'{"rows": [1]}'),
    ],
)
def test_detect_refuses(here: Plant, kind: str, body: bytes) -> None:
    answer = here.client.post(
        f"{API}/detect",
        params={"model_id": here.source.model_id},
        content=body,
        headers={"content-type": kind},
    )
    assert answer.status_code == 422, answer.text


def test_recalibration_and_its_undo(here: Plant) -> None:
    refused = here.client.post(f"{API}/sources/plant/recalibrate")
    assert refused.status_code == 409
    here.send(plant.rows(plant.values(700, seed=4)))
    here.settle()
    own = here.source.threshold
    done = here.client.post(f"{API}/sources/plant/recalibrate").json()
    assert own / 3 <= done["threshold"] <= 3 * own
    assert done["threshold"] != own
    undone = here.client.delete(f"{API}/sources/plant/recalibrate").json()
    assert undone["threshold"] == own


def naive_stability(reference: list[float], recent: list[float], bins: int) -> float:
    edges = sorted({float(np.quantile(reference, k / bins)) for k in range(1, bins)})
    total = 0.0
    for at in range(len(edges) + 1):
        low = -np.inf if at == 0 else edges[at - 1]
        high = np.inf if at == len(edges) else edges[at]
        p, q = (
            (sum(low < x <= high for x in sample) + 0.5) / (len(sample) + 0.5 * (len(edges) + 1))
            for sample in (reference, recent)
        )
        total += (q - p) * np.log(q / p)
    return total


numbers = st.lists(st.floats(-5, 5).map(lambda x: round(x, 1)), min_size=1, max_size=40)


@given(reference=numbers, recent=numbers, bins=st.integers(1, 12))
def test_stability_equals_its_slow_twin(
    reference: list[float], recent: list[float], bins: int
) -> None:
    fast = population_stability(np.array([*reference, np.nan]), np.array(recent), bins=bins)
    assert_allclose(fast, naive_stability(reference, recent, bins), atol=1e-12)
    assert fast >= 0
    assert np.isnan(population_stability(np.array([np.nan]), np.array(recent)))


def test_drift_names_what_moved(here: Plant) -> None:
    few = here.client.get(f"{API}/sources/plant/drift").json()
    assert few["inputs"] == []
    table = plant.values(900, seed=4)
    table[450:, 3] += 20
    here.send(plant.rows(table))
    here.settle()
    found = here.client.get(f"{API}/sources/plant/drift").json()
    levels = {one["variable"]: one["level"] for one in found["inputs"]}
    assert levels["heat"] == "drifted"
    assert "heat" in found["advice"]
    # What lasts may be a fault, which nobody should teach a model.
    assert here.client.get(f"{API}/sources/plant").json()["state"] == "alarm"
    assert "an incident is open" in found["advice"]
    assert "fit" not in found["advice"]


def test_a_cycle_is_no_drift(here: Plant) -> None:
    here.service.settings = here.service.settings.model_copy(update={"drift_rows": 200})
    turn = 2 * np.pi * np.arange(1000) / 500
    load = 10 * np.sin(turn)
    table = np.column_stack([load, 2 * load, -load, 5 * np.cos(turn)])
    here.send(plant.rows(table + 0.1 * np.random.default_rng(0).normal(size=table.shape)))
    here.settle()
    found = here.client.get(f"{API}/sources/plant/drift").json()
    # 200 rows are less than half a turn: its beginning against its end would look like drift.
    assert {one["level"] for one in found["inputs"]} == {"ok"}


def test_drift_of_constant_and_silent_variables() -> None:
    table = np.column_stack([np.ones(300), np.full(300, np.nan)])
    shown = show_drift(
        variables=("a", "b"),
        reference=table,
        recent=table,
        reference_score=np.ones(300),
        recent_score=np.ones(300),
        center=np.zeros(2),
        scale=np.ones(2),
    )
    assert [one["level"] for one in shown["inputs"]] == ["watch", "ok"]
    assert shown["score"]["statistic"] == 0


def wait_for(here: Plant, fit: str, states: set[str]) -> dict[str, Any]:
    deadline = time.monotonic() + 400
    while True:
        shown: dict[str, Any] = here.client.get(f"{API}/fits/{fit}").json()
        if shown["state"] in states:
            return shown
        assert time.monotonic() < deadline, shown
        time.sleep(0.1)


@pytest.mark.slow
def test_training_from_the_service(here: Plant) -> None:
    here.send(plant.rows(plant.values(500, seed=6)))
    body = {"start": "2026-03-01T00:00:00Z", "end": "2026-03-01T00:07:00Z", "name": "new"}
    wrong = here.client.post(f"{API}/sources/plant/fits", json={**body, "settings": {"wndow": 4}})
    assert "did you mean 'window'" in wrong.text
    started = here.client.post(
        f"{API}/sources/plant/fits", json={**body, "settings": {"window": 6}}
    )
    assert started.status_code == 202
    waiting = here.client.post(f"{API}/sources/plant/fits", json=body).json()["id"]
    assert here.client.delete(f"{API}/fits/{waiting}").json()["state"] == "cancelled"
    assert here.client.post(f"{API}/fits/{waiting}/activate").status_code == 409
    fit = started.json()["id"]
    done = wait_for(here, fit, {"done", "failed"})
    assert done["state"] == "done", done
    assert done["comparison"]["rows"] > 400
    assert 0 <= done["comparison"]["agreement"] <= 1
    assert here.client.post(f"{API}/fits/{fit}/activate").status_code == 200
    assert here.source.model_id == done["model_id"]
    assert here.client.delete(f"{API}/fits/{fit}").status_code == 409
    assert [one["state"] for one in here.client.get(f"{API}/fits").json()] == ["cancelled", "done"]


def test_models_that_add_variables(here: Plant, tmp_path: Path) -> None:
    here.send(plant.rows(plant.values(30)))
    here.settle()
    table = plant.frame(plant.values(600)).with_columns(speed=pl.col("flow") * 3)
    wider = ALoRa(window=8, epochs=1, epoch_windows=160).fit(table, time="time", progress=False)
    key = upload(here, wider.save(tmp_path / "w.alora").read_bytes()).json()["id"]
    here.client.post(f"{API}/sources/plant/activate", json={"model_id": key})
    rows = plant.rows(plant.values(50))[30:]
    for row in rows:
        row["values"]["speed"] = row["values"]["flow"] * 3
    assert here.send(rows)["accepted"] == 20
    here.settle()
    page = here.client.get(f"{API}/sources/plant/readings", params={"limit": 100}).json()["items"]
    assert page[0]["values"]["speed"] is None
    assert page[-1]["expected"]["speed"] is not None
    series = here.client.get(f"{API}/sources/plant/series", params={"signals": "speed"}).json()
    assert series["signals"]["speed"]["v"][0] is None
    back = here.client.post(f"{API}/sources/plant/rollback")
    assert back.status_code == 200
    here.send(plant.rows(plant.values(60))[50:])
    here.settle()
    assert not here.service.crew.troubles
