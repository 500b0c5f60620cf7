"""A signal far beyond all of training speaks for itself: tables, streams, chunks, files."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import polars as pl
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from numpy.typing import NDArray

from alora_ts import ALoRa, load
from alora_ts.data import as_table
from alora_ts.scoring.bounds import Bounds, Held
from tests import naive

LOW, HIGH = np.array([-3.0, 0.0, 0.0, -1.0]), np.array([3.0, 1.0, 1.0, -1.0])
DEVIATION = np.array([1.0, 0.2, 0.2, 0.0])
OBSERVED = np.array([500.0, 10.0, 9.9, np.inf])


def system(rows: int, seed: int, signals: int = 30) -> NDArray[np.float64]:
    rng = np.random.default_rng(seed)
    load = np.sin(np.arange(rows) / 9)[:, None] * rng.uniform(0.5, 1, signals)
    noisy: NDArray[np.float64] = load + 0.3 * rng.normal(size=(rows, signals))
    return noisy


@pytest.fixture(scope="module")
def model() -> ALoRa:
    return ALoRa(window=8, epochs=1, epoch_windows=256, threads=1).fit(system(300, 0))


@pytest.fixture(scope="module")
def faulty() -> NDArray[np.float64]:
    rows = system(400, 1)
    rows[50, 3] += 40  # a spike
    rows[100:103, 3] += 40  # three rows
    rows[200:260, 4] -= 40  # an hour
    rows[:4, 5] += 60  # in the warm-up
    return rows


@pytest.mark.parametrize("at_once", [3, 7, 4096])
def test_equals_the_slow_twin(at_once: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("alora_ts.scoring.bounds._ROWS_AT_ONCE", at_once)
    rng = np.random.default_rng(0)
    rows = (rng.normal(size=(90, 4)) * 4).astype(np.float32)
    rows[10:14, 0], rows[13:15, 1], rows[30:40, 2], rows[50:60, 3] = 12, 2.5, 1e6, 99
    rows[60:66, 1], rows[70:72, 0] = -1e30, 12
    for segments in (None, np.repeat([0, 1, 2, 3], [12, 1, 50, 27])):
        fast = Bounds.around(LOW, HIGH, DEVIATION, OBSERVED).of(rows, segments)
        slow = naive.beyond(
            LOW, HIGH, DEVIATION, OBSERVED, rows=rows.astype(float), segments=segments
        )
        assert_allclose(fast, slow, rtol=1e-12)
        assert fast.max() == 10


@pytest.mark.parametrize("rows", [0, 1, 2])
def test_fewer_rows_than_three_say_nothing(rows: int) -> None:
    said = Bounds.around(LOW, HIGH, DEVIATION, OBSERVED).of(np.full((rows, 4), 1e9), None)
    assert_array_equal(said, np.zeros(rows))


def test_a_damaged_range_is_not_asked() -> None:
    bounds = Bounds.around(
        np.array([np.nan, -1, 0]),
        np.array([1, np.inf, 1]),
        np.array([1, 1, np.nan]),
        np.ones(3) * 99,
    )
    assert_array_equal(bounds.of(np.full((5, 3), 1e9), None), np.zeros(5))


def test_row_by_row_is_the_same() -> None:
    rng = np.random.default_rng(1)
    rows = rng.normal(size=(60, 4)) * 8
    rows[20:30, 0] = 30
    segments = np.repeat([0, 1], [25, 35])
    bounds = Bounds.around(LOW, HIGH, DEVIATION, OBSERVED)
    held = Held(bounds)
    said = [held.push(row, anew=at in (0, 25)) for at, row in enumerate(rows)]
    assert_array_equal(said, bounds.of(rows, segments))


def test_three_rows_far_out_alarm_whatever_the_sum_says(
    model: ALoRa, faulty: NDArray[np.float64]
) -> None:
    fitted = model.model_
    assert fitted.bounds is not None
    plain = ALoRa(window=8, epochs=1, epoch_windows=256, threads=1, scoring="refined")
    assert plain.fit(system(300, 0)).model_.bounds is None  # stays as it was
    found = model.diagnose(faulty, progress=False)
    assert found.alarm[102]
    assert found.alarm[205:260].all()
    said = fitted.bounds.of(fitted.preparation.apply(as_table(faulty)).values, None)
    assert not said[:100].any() or (np.flatnonzero(said[:100]) < 4).all()
    assert not found.alarm[:7].any()  # warm-up rows never alarm
    longest = max(found.incidents, key=lambda one: one.end - one.start)
    assert longest.culprits[0].variable == fitted.preparation.variables[4]
    told = next(one for one in longest.witnesses if one.name == "range")
    assert told.text == "a signal that stays far beyond everything in training"
    assert_allclose(sum(one.share for one in longest.witnesses), 1.0)


def test_all_ways_to_score_agree(model: ALoRa, faulty: NDArray[np.float64], tmp_path: Path) -> None:
    whole = model.diagnose(faulty, progress=False)
    assert_allclose(model.score(faulty, progress=False), whole.score, rtol=1e-6)
    one_by_one, many, resumed = model.stream(), model.stream(), model.stream()
    first = [one_by_one.push(row) for row in faulty[:102]]
    resumed.resume(one_by_one.state())  # between two rows that are far out
    first += [one_by_one.push(row) for row in faulty[102:]]
    at_once = many.push_many(faulty)
    again = resumed.push_many(faulty[102:])
    full = slice(7, None)
    for readings in (first, at_once, first[:102] + again):
        assert_allclose(
            [one.score for one in readings][full], whole.score[full], rtol=2e-4, atol=1e-6
        )
        assert [one.alarm for one in readings] == whole.alarm.tolist()
    names = model.model_.preparation.variables
    pl.DataFrame(faulty, schema=list(names)).write_csv(tmp_path / "rows.csv")
    chunks = list(model.score_chunks(tmp_path / "rows.csv", rows=101))
    assert_allclose(np.concatenate([one.score for one in chunks]), whole.score, rtol=1e-4)


def test_a_saved_model_keeps_it_and_an_older_one_has_none(
    model: ALoRa, faulty: NDArray[np.float64], tmp_path: Path
) -> None:
    path = tmp_path / "model.alora"
    model.save(path)
    wanted = model.score(faulty, progress=False)
    assert_array_equal(load(path).score(faulty, progress=False), wanted)
    content = path.read_bytes()
    size = int.from_bytes(content[:8], "little")
    header = json.loads(content[8 : 8 + size])
    text = json.dumps(header).replace('\\"bounds\\": true', '\\"bounds\\": false').encode()
    path.write_bytes(len(text).to_bytes(8, "little") + text + content[8 + size :])
    older = load(path)
    assert older.model_.bounds is None
    assert older.score(faulty, progress=False)[230] < wanted[230]


def test_what_lasts_becomes_usual(model: ALoRa) -> None:
    rows = system(1500, 2)
    rows[100:, 4] += 40
    found = model.diagnose(rows, progress=False)
    assert found.alarm[110:200].all()
    assert found.alarm[-200:].mean() < 0.2
