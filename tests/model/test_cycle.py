"""Rows less their day in tables, streams, chunks and files; people see what was measured."""

from __future__ import annotations

import pickle
from pathlib import Path

import numpy as np
import polars as pl
import pytest
from numpy.testing import assert_allclose, assert_array_equal

from alora_ts import ALoRa, load
from alora_ts.data.options import PreparationOptions
from alora_ts.errors import DataError

PER_DAY = 48
NAMES = ["busy", "late", "noise", "other"]


def system(days: int, *, seed: int) -> np.ndarray:
    rng = np.random.default_rng(seed)
    at = np.arange(days * PER_DAY) / PER_DAY
    shape = np.exp(-8 * np.square(at % 1 - 0.4))
    load_ = 50 * shape + 2 * rng.normal(size=len(at))
    noise = rng.normal(size=(len(at), 2))
    return np.column_stack([load_, 3 * np.roll(load_, 2) + 1000, noise[:, 0], noise[:, 1]])


def stamps(rows: int) -> pl.Series:
    first = np.datetime64("2026-03-01T00:00", "us")
    return pl.Series("time", first + np.arange(rows) * np.timedelta64(30, "m"))


def frame(rows: np.ndarray, *, timed: bool, skip: int = 0) -> pl.DataFrame:
    table = pl.DataFrame(rows[skip:], schema=NAMES).fill_nan(None)
    return table.insert_column(0, stamps(len(rows))[skip:]) if timed else table


@pytest.fixture(scope="module", params=["timed", "counted"])
def timed(request: pytest.FixtureRequest) -> bool:
    return request.param == "timed"


@pytest.fixture(scope="module")
def model(timed: bool) -> ALoRa:
    options = {"window": 8, "epochs": 1, "epoch_windows": 256, "threads": 1}
    return ALoRa(**options).fit(frame(system(20, seed=0), timed=timed), progress=False)


@pytest.fixture(scope="module")
def today(timed: bool) -> pl.DataFrame:
    rows = system(6, seed=1)
    rows[210:216, 0] = rows[42:48, 0]  # night at noon: usual values at a wrong time
    rows[100:110, 2] = np.nan
    rows[50, :] = np.nan
    rows[120:124, 0] = np.nan
    return frame(rows, timed=timed)


def test_a_usual_value_at_the_wrong_time_alarms(model: ALoRa, today: pl.DataFrame) -> None:
    fitted = model.model_
    assert fitted.cycle is not None
    assert fitted.cycle.moments == PER_DAY
    found = model.diagnose(today, progress=False)
    assert found.alarm[210:216].any()
    assert found.alarm[:205].mean() < 0.05
    worst = max(found.incidents, key=lambda one: one.score)
    busy = next(one for one in worst.culprits if one.variable == "busy")
    assert busy.direction == "below"
    # What people see are readings, not readings less their day.
    measured = today["busy"].to_numpy()
    assert measured[210:216].min() - 0.1 <= busy.value <= measured[210:216].max() + 0.1
    assert busy.expected > 25
    known = ~np.isnan(measured)
    assert_allclose(found.values[known, 0], measured[known], rtol=1e-4, atol=1e-3)
    assert np.abs(found.expected[20:200, 0] - found.values[20:200, 0]).mean() < 6
    implied = found.implied(worst, 205, 220)
    assert implied[5:11, 0].min() > 25
    assert found.model["cycle"] == fitted.cycle.name
    plain = ALoRa(
        window=8,
        epochs=1,
        epoch_windows=256,
        threads=1,
        preparation=PreparationOptions(calendar="off"),
    ).fit(frame(system(20, seed=0), timed=False), progress=False)
    assert plain.model_.cycle is None
    assert plain.diagnose(today, progress=False).model["cycle"] is None


def test_all_ways_to_score_agree(
    model: ALoRa, today: pl.DataFrame, timed: bool, tmp_path: Path
) -> None:
    whole = model.diagnose(today, progress=False)
    assert_allclose(model.score(today, progress=False), whole.score, rtol=1e-6)
    rows = today.select(NAMES).to_numpy()
    times = today["time"].to_list() if timed else [None] * len(rows)
    stream, many, resumed = model.stream(), model.stream(), model.stream()
    one_by_one = [stream.push(row, time=at) for row, at in zip(rows[:70], times[:70], strict=True)]
    resumed.resume(pickle.loads(pickle.dumps(stream.state())))
    one_by_one += [stream.push(row, time=at) for row, at in zip(rows[70:], times[70:], strict=True)]
    at_once = many.push_many(rows[:30], times=times[:30])
    bad = [*rows[30:40], np.array([np.inf, 0, 0, 0])]
    with pytest.raises(DataError, match="infinite"):
        many.push_many(bad, times=times[30:41])
    at_once += many.push_many(rows[30:], times=times[30:])
    again = one_by_one[:70] + resumed.push_many(rows[70:], times=times[70:])
    for readings in (one_by_one, at_once, again):
        scores = np.array([one.score for one in readings])
        assert_allclose(scores[7:], whole.score[7:], rtol=5e-4, atol=1e-6)
        assert [one.alarm for one in readings] == whole.alarm.tolist()
        expected = np.stack([one.expected for one in readings])
        assert_allclose(expected[7:], whole.expected[7:], rtol=1e-3, atol=1e-2)
    today.write_csv(tmp_path / "today.csv")
    for size in (64, 100):
        chunks = list(model.score_chunks(tmp_path / "today.csv", rows=size))
        assert_allclose(np.concatenate([one.score for one in chunks]), whole.score, rtol=1e-4)
        told = {one.start: one for chunk in chunks for one in chunk.incidents}
        assert len(told) == len(whole.incidents)
        for one in whole.incidents:
            assert told[one.start].culprits[0].variable == one.culprits[0].variable
            assert_allclose(told[one.start].culprits[0].value, one.culprits[0].value, rtol=1e-3)


def test_a_saved_model_keeps_its_day(model: ALoRa, today: pl.DataFrame, tmp_path: Path) -> None:
    model.save(tmp_path / "model.alora")
    loaded = load(tmp_path / "model.alora")
    assert_array_equal(loaded.score(today, progress=False), model.score(today, progress=False))
    assert loaded.model_.cycle is not None
    assert model.model_.cycle is not None
    assert loaded.model_.cycle.name == model.model_.cycle.name


def test_a_table_that_begins_at_another_hour(model: ALoRa, timed: bool) -> None:
    later = frame(system(6, seed=1), timed=timed, skip=17)
    found = model.diagnose(later, progress=False)
    assert not found.alarm.any()
    # Columns in another order, and one more.
    mixed = later.select(["noise", *([] if not timed else ["time"]), "busy", "other", "late"])
    mixed = mixed.with_columns(more=pl.lit(1.0))
    assert_allclose(model.score(mixed, progress=False), found.score, rtol=1e-9)


@pytest.mark.parametrize("scoring", ["paper", "error", "refined"])
def test_other_scores_stay_as_they_were(scoring: str, timed: bool) -> None:
    options = {"window": 8, "epochs": 1, "epoch_windows": 128, "threads": 1}
    plain = ALoRa(scoring=scoring, **options)  # type: ignore[arg-type]
    assert plain.fit(frame(system(20, seed=0), timed=timed), progress=False).model_.cycle is None


def test_segments_and_a_validation_table(timed: bool) -> None:
    rows = system(20, seed=0)
    options = {"window": 8, "epochs": 1, "epoch_windows": 128, "threads": 1}
    apart = ALoRa(**options).fit(
        frame(rows[: 15 * PER_DAY], timed=timed),
        validation=frame(rows, timed=timed, skip=15 * PER_DAY),
        progress=False,
    )
    assert apart.model_.cycle is not None
    segments = np.repeat([0, 1], PER_DAY * 3)
    two = np.concatenate([system(3, seed=2), np.roll(system(3, seed=3), -20, axis=0)])
    found = apart.diagnose(frame(two, timed=False), segments=segments, progress=False)
    # A stretch of its own is placed anew where no times tell.
    assert not found.alarm[PER_DAY * 3 + 20 : -30].any()
