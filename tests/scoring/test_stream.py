from __future__ import annotations

import pickle
import tracemalloc

import numpy as np
import polars as pl
import pytest

from alora_ts import ALoRa, Architecture, CalibrationOptions, PreparationOptions
from alora_ts.bench.speed import wavy_rows
from alora_ts.errors import DataError
from tests import naive

WINDOW = 8


@pytest.fixture(scope="module")
def model() -> ALoRa:
    small = ALoRa(
        window=WINDOW,
        pairs=40,
        architecture=Architecture(heads=4),
        epochs=1,
        epoch_windows=64,
        scoring="paper",
        drift_memory=64,
    )
    return small.fit(wavy_rows(300, 4), progress=False)


def test_a_row_gets_what_the_loops_say(model: ALoRa) -> None:
    rows = wavy_rows(40, 4).astype(np.float64)
    fitted = model.model_
    values = fitted.preparation.standardiser.apply(rows)
    values = np.clip(values, -fitted.input_limit, fitted.input_limit)
    stream = model.stream()
    for number, row in enumerate(rows):
        reading = stream.push(row)
        assert reading.warm_up == (number < WINDOW - 1)
        if reading.warm_up:
            continue
        window = values[number - WINDOW + 1 : number + 1]
        reconstruction, attention = naive.forward(fitted.network, window)
        error = np.square(window[-1] - reconstruction[-1])
        np.testing.assert_allclose(reading.error, error, rtol=1e-3, atol=1e-5)
        assert reading.rank == naive.rank(attention, fitted.calibration.rank_level)


def test_memory_does_not_grow(model: ALoRa) -> None:
    stream = model.stream()
    rows = wavy_rows(100, 4)
    for row in rows:
        stream.push(row)
    tracemalloc.start()
    try:
        for row in rows:
            stream.push(row)
        before, _ = tracemalloc.get_traced_memory()
        for _ in range(5):
            for row in rows:
                stream.push(row)
        after, _ = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert after - before < 20_000


@pytest.mark.parametrize("scoring", ["paper", "error", "refined"])
def test_every_scoring_streams_as_it_scores(scoring: str) -> None:
    quick = ALoRa(
        window=6,
        pairs=12,
        architecture=Architecture(heads=2),
        epochs=1,
        epoch_windows=32,
        scoring=scoring,
    )
    model = quick.fit(wavy_rows(200, 3), progress=False)
    rows = wavy_rows(30, 3)
    stream = model.stream()
    readings = [stream.push(row) for row in rows]
    raw = model.diagnose(rows, progress=False).raw
    np.testing.assert_allclose([r.raw for r in readings[5:]], raw[5:], rtol=1e-3)


@pytest.mark.parametrize("variables", [3, 14])
@pytest.mark.parametrize("sizes", [[60], [1, 2, 57], [7, 1, 30, 22], [20, 20, 20]])
def test_many_rows_at_once_read_like_one_by_one(variables: int, sizes: list[int]) -> None:
    quick = {
        "window": 8,
        "pairs": 60,
        "architecture": Architecture(heads=2),
        "epochs": 1,
        "epoch_windows": 32,
        "preparation": PreparationOptions(gap=5.0),
        # The level found on these very rows is one of their singular values: a rank would tip.
        "calibration": CalibrationOptions(rank_level=0.037),
    }
    model = ALoRa(**quick).fit(wavy_rows(200, variables), progress=False)
    rows = wavy_rows(60, variables).astype(np.float64)
    rows[25, 1] = np.nan
    times = np.arange(60.0)
    times[40:] += 100  # a gap
    single, many = model.stream(), model.stream()
    wanted = [single.push(row, time=time) for row, time in zip(rows, times, strict=True)]
    found = []
    for stop, size in zip(np.cumsum(sizes), sizes, strict=True):
        part = slice(stop - size, stop)
        found += many.push_many(rows[part], times=times[part])
    assert [r.warm_up for r in found] == [r.warm_up for r in wanted]
    assert [r.timestamp for r in found] == [r.timestamp for r in wanted]
    for name in ("score", "raw", "drift", "rank"):
        values = [[getattr(r, name) for r in each] for each in (found, wanted)]
        np.testing.assert_allclose(*values, rtol=1e-3, atol=1e-6)
    for name in ("error", "localization", "expected"):
        values = [[getattr(r, name) for r in each] for each in (found, wanted)]
        np.testing.assert_allclose(*values, rtol=1e-2, atol=1e-4)


def test_a_bad_row_among_many_leaves_the_stream_as_it_was(model: ALoRa) -> None:
    rows = wavy_rows(30, 4).astype(np.float64)
    one, other = model.stream(), model.stream()
    one.push_many(rows[:15])
    other.push_many(rows[:15])
    broken = rows[15:].copy()
    broken[5, 2] = np.inf
    with pytest.raises(DataError, match="infinite"):
        one.push_many(broken)
    scores = [[r.score for r in each.push_many(rows[15:])] for each in (one, other)]
    np.testing.assert_array_equal(*scores)
    assert one.push_many([]) == []


@pytest.mark.parametrize("pushed", [0, 3, 40])
def test_a_stream_is_resumed_elsewhere(model: ALoRa, pushed: int) -> None:
    times = np.datetime64("2026-01-01", "us") + np.arange(60) * np.timedelta64(60, "s")
    rows = wavy_rows(60, 4).astype(np.float64)
    rows[pushed + 1, 2] = np.nan  # takes its last value, which is part of the state
    rows[45:50] += 9
    stream = model.stream()
    stream.push_many(rows[:pushed], times=times[:pushed])
    kept = pickle.dumps(stream.state())
    resumed = model.stream().resume(pickle.loads(kept))
    for row, time in zip(rows[pushed:], times[pushed:], strict=True):
        ours, theirs = resumed.push(row, time=time), stream.push(row, time=time)
        assert ours.score == theirs.score
        assert ours.alarm == theirs.alarm
        assert ours.warm_up == theirs.warm_up
        np.testing.assert_array_equal(ours.localization, theirs.localization)
    with pytest.raises(DataError, match="push rows in order of time"):
        model.stream().resume(stream.state()).push(rows[0], time=times[0])
    other = ALoRa(window=5, epochs=1, epoch_windows=32).fit(wavy_rows(100, 4), progress=False)
    with pytest.raises(DataError, match="state of another model"):
        other.stream().resume(stream.state())


def test_numbers_since_1970_have_the_unit_of_training() -> None:
    rows = wavy_rows(200, 2)
    stamps = 1_768_435_200_000 + 60_000 * np.arange(200)
    frame = pl.DataFrame({"ts": stamps, "a": rows[:, 0], "b": rows[:, 1]})
    model = ALoRa(window=4, epochs=1, epoch_windows=32).fit(frame, progress=False)
    stream = model.stream()
    seen = [stream.push(row, time=int(time)) for time, *row in frame.iter_rows()]
    assert sum(reading.warm_up for reading in seen) == 3  # no gap between minutes
    late = stream.push(rows[0], time=1_768_435_200_000 + 60_000 * 5_000)
    assert late.warm_up
