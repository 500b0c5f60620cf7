"""A system with days: the service scores and tells it as a table is, restarts included."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from numpy.testing import assert_allclose
from numpy.typing import NDArray

from alora_ts import ALoRa
from alora_ts.serve.settings import Settings
from tests.serve.core import plant
from tests.serve.core.conftest import Plant, send_with_restart

PER_DAY, STEP = 48, 1800
VARIABLE = plant.VARIABLES[0]


def system(days: int, *, seed: int) -> NDArray[np.float64]:
    rng = np.random.default_rng(seed)
    at = np.arange(days * PER_DAY) / PER_DAY
    shape = 50 * np.exp(-8 * np.square(at % 1 - 0.4))
    noise = rng.normal(size=(len(at), 4))
    return np.column_stack([shape, 1000 - 3 * np.roll(shape, 9), 0 * at, 0 * at]) + noise


def seconds(rows: NDArray[np.float64]) -> NDArray[np.float64]:
    return np.arange(len(rows)) * float(STEP)


@pytest.fixture(scope="module")
def model() -> ALoRa:
    rows = system(20, seed=0)
    model = ALoRa(window=8, epochs=1, epoch_windows=256, threads=1)
    return model.fit(plant.frame(rows, seconds=seconds(rows)), time="time", progress=False)


@pytest.mark.parametrize("cut", [None, 150, 158, 216])
def test_a_day_is_taken_off_as_in_a_table(
    serve: Callable[[Settings], Plant], model: ALoRa, tmp_path: Path, cut: int | None
) -> None:
    assert model.model_.cycle is not None
    table = system(6, seed=1)
    table[210:222, 0] = 5  # night at noon
    table[140:160, 1] = np.nan  # held, less its day, across a restart
    frame = plant.frame(table, seconds=seconds(table)).fill_nan(None)
    wanted = model.diagnose(frame, progress=False)
    file = model.save(tmp_path / "plant.alora")
    settings = Settings(folder=tmp_path / "data", models={"plant": file}, late_limit=1e8)
    here = send_with_restart(serve, settings, plant.rows(table, seconds=seconds(table)), cut)
    assert_allclose(here.scores()[7:], wanted.score[7:], rtol=1e-3, atol=1e-6)
    items: list[dict[str, Any]] = here.client.get("/api/v1/incidents").json()["items"]
    told = {one["rows"]: one for one in items}
    assert sorted(told) == sorted(one.rows for one in wanted.incidents)
    for one in wanted.incidents:
        culprits = told[one.rows]["culprits"]
        assert [each["variable"] for each in culprits] == [each.variable for each in one.culprits]
        for each, own in zip(culprits, one.culprits, strict=True):
            assert_allclose(each["value"], own.value, rtol=1e-3)
            assert_allclose(each["expected"], own.expected, rtol=1e-2, atol=0.5)
    worst = max(wanted.incidents, key=lambda one: one.score)
    implied = wanted.implied(worst, 0, len(table))
    lines = here.client.get(f"/api/v1/incidents/{told[worst.rows]['id']}/expected").json()
    assert wanted.timestamps is not None
    millis = wanted.timestamps.astype("datetime64[ms]").astype(int).tolist()
    for name, line in lines.items():
        at = [millis.index(time) for time in line["t"]]
        of = implied[at, wanted.variables.index(name)]
        assert_allclose(line["v"], of, rtol=1e-2, atol=0.5)


def test_a_model_that_saw_no_dates_places_live_rows_by_their_values(
    serve: Callable[[Settings], Plant], tmp_path: Path
) -> None:
    rows = plant.frame(system(20, seed=0)).drop("time")
    options = {"window": 8, "epochs": 1, "epoch_windows": 256, "threads": 1}
    model = ALoRa(**options).fit(rows, progress=False)
    assert model.model_.cycle is not None
    table = system(6, seed=1)
    table[210:222, 0] = 5
    wanted = model.diagnose(plant.frame(table).drop("time"), progress=False)
    file = model.save(tmp_path / "plant.alora")
    here = serve(Settings(folder=tmp_path / "data", models={"plant": file}, late_limit=1e8))
    here.send(plant.rows(table, seconds=seconds(table)))
    assert_allclose(here.scores()[7:], wanted.score[7:], rtol=1e-3, atol=1e-6)
    worst = max(wanted.incidents, key=lambda one: one.score)
    items = here.client.get("/api/v1/incidents").json()["items"]
    told = max(items, key=lambda one: one["peak"])
    assert told["culprits"][0]["variable"] == worst.culprits[0].variable
    assert_allclose(told["culprits"][0]["value"], worst.culprits[0].value, rtol=1e-3)
    lines = here.client.get(f"/api/v1/incidents/{told['id']}/expected").json()
    # Night at noon: what would have been is what noon is like.
    middle = len(lines[VARIABLE]["v"]) // 2
    assert lines[VARIABLE]["v"][middle] > 25
