"""A backtest is the explicit loop of fit and score, and never looks ahead."""

from __future__ import annotations

import itertools
import json
from pathlib import Path

import numpy as np
import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from alora_ts import ALoRa, Architecture
from alora_ts.backtest import Backtest, backtest
from alora_ts.backtest.rounds import plan_rounds
from alora_ts.errors import DataError
from tests.backtest.naive_backtest import naive_fits, naive_replay

QUICK = ALoRa(window=6, architecture=Architecture(layers=1, heads=2), epochs=1, epoch_windows=64)


def history(rows: int = 260, *, gap: bool = False, missing: bool = False) -> pl.DataFrame:
    rng = np.random.default_rng(3)
    at = np.arange(rows)
    load = np.sin(at / 8)
    values = np.column_stack([load, 1 - load, 0.5 * load]) + 0.05 * rng.normal(size=(rows, 3))
    values[220:228, 1] += 9
    if missing:
        values[[5, 130, 200, 201], [0, 2, 1, 1]] = np.nan
    minutes = at + 500 * (at >= 180) * gap
    times = np.datetime64("2026-01-01T00:00", "us") + minutes * np.timedelta64(60, "s")
    return pl.DataFrame({"time": times, "a": values[:, 0], "b": values[:, 1], "c": values[:, 2]})


@pytest.mark.parametrize(
    ("frame", "every", "kept"),
    [
        (history(), None, None),
        (history(), 70, None),
        (history(gap=True, missing=True), 60, 110),
        (history().drop("time"), 80, 100),
    ],
    ids=["one fit", "refits", "gap and missing cells, latest rows", "without times"],
)
def test_it_is_the_loop_of_fit_and_push(
    frame: pl.DataFrame, every: int | None, kept: int | None
) -> None:
    found = backtest(frame, model=QUICK, train=120, refit_every=every, history=kept)
    clock = np.arange(len(frame), dtype=np.float64)
    fits = naive_fits(clock, first=120, rows=every, duration=None)
    readings, rounds = naive_replay(frame, QUICK, fits=fits, history=kept)
    ready = np.array([not reading.warm_up for reading in readings])
    assert found.round_of.tolist() == rounds
    np.testing.assert_array_equal(~found.diagnosis.warm_up, ready)
    scores = np.array([reading.score for reading in readings])
    np.testing.assert_allclose(found.diagnosis.score[ready], scores[ready], rtol=1e-3)
    alarms = [reading.alarm for reading in readings]
    assert found.diagnosis.alarm.tolist() == alarms
    assert found.alarming_rows == sum(alarms)
    for incident in found.incidents:
        assert alarms[incident.start]
        assert alarms[incident.end - 1]
        assert alarms[incident.peak]
    leading = max(found.incidents, key=lambda incident: incident.score)
    assert leading.culprits[0].variable == "b"
    assert [one.train_end for one in found.rounds] == fits
    assert sum(one.alarming_rows for one in found.rounds) == sum(alarms)
    assert sum(one.incidents for one in found.rounds) == len(found.incidents)


def test_later_rows_change_nothing_earlier() -> None:
    frame = history()
    whole = backtest(frame, model=QUICK, train=120, refit_every=50)
    part = backtest(frame[:210], model=QUICK, train=120, refit_every=50)
    np.testing.assert_allclose(whole.diagnosis.score[:90], part.diagnosis.score, rtol=1e-5)


def test_the_settings_given_stay_unfitted() -> None:
    backtest(history(), model=QUICK, train=0.5)
    assert not hasattr(QUICK, "model_")


def test_rates_are_per_day_of_rows_and_absent_without_dates() -> None:
    found = backtest(history(gap=True), model=QUICK, train=120)
    assert found.days == pytest.approx(140 / 1440)
    assert found.incidents_per_day == pytest.approx(len(found.incidents) * 1440 / 140)
    assert found.alarming_rows_per_day == pytest.approx(found.alarming_rows * 1440 / 140)
    bare = backtest(history().drop("time"), model=QUICK, train=120)
    assert (bare.days, bare.incidents_per_day, bare.alarming_rows_per_day) == (None, None, None)
    assert "a day" in str(found)
    assert "a day" not in str(bare)


@pytest.fixture(scope="module")
def found() -> Backtest:
    return backtest(history(), model=QUICK, train=120, refit_every="1h")


def test_leaders_count_first_culprits(found: Backtest) -> None:
    counted: dict[str, int] = {}
    for incident in found.incidents:
        name = incident.culprits[0].variable
        counted[name] = counted.get(name, 0) + 1
    assert dict(found.leaders()) == counted
    assert [count for _, count in found.leaders()] == sorted(counted.values(), reverse=True)


def test_what_is_written(found: Backtest, tmp_path: Path) -> None:
    said = json.loads(found.to_json())
    assert said["incidents"] == len(found.incidents) == len(said["diagnosis"]["incidents"])
    assert said["rounds"][1]["fitted_at"] == "2026-01-01T03:00:00"
    frame = found.to_frame()
    assert frame.columns[:3] == ["time", "round", "score"]
    assert len(frame) == 140
    page = found.report(tmp_path / "b.html").read_text()
    assert "What would have alarmed" in page
    assert "In service from" in page
    assert str(found) in page


@given(
    steps=st.lists(st.sampled_from([1.0, 60.0, 61.0, 5000.0]), min_size=3, max_size=60),
    first=st.integers(1, 40),
    hours=st.sampled_from(["30s", "2min", "0.5h", "1d"]),
    rows=st.integers(1, 30),
)
@settings(max_examples=200, deadline=None)
def test_rounds_are_those_of_a_walk_over_the_rows(
    steps: list[float], first: int, hours: str, rows: int
) -> None:
    seconds = np.cumsum([0.0, *steps])
    first = min(first, len(steps))
    stamps = np.datetime64("2026-01-01", "us") + (seconds * 1e6).astype("timedelta64[us]")
    duration = {"30s": 30.0, "2min": 120.0, "0.5h": 1800.0, "1d": 86400.0}[hours]
    n = len(stamps)
    by_time = plan_rounds(n, stamps, train=first, refit_every=hours, history=hours)
    by_rows = plan_rounds(n, None, train=first, refit_every=rows, history=rows)
    fits = naive_fits(seconds, first=first, rows=None, duration=duration)
    assert [plan.train_end for plan in by_time] == fits
    assert [plan.train_end for plan in by_rows] == naive_fits(
        seconds, first=first, rows=rows, duration=None
    )
    for plan in by_time:
        kept = [row for row in range(n) if seconds[row] >= seconds[plan.train_end] - duration]
        assert plan.train_start == kept[0]
    for plans in (by_time, by_rows):
        assert plans[-1].score_end == n
        assert all(a.score_end == b.train_end for a, b in itertools.pairwise(plans))


@pytest.mark.parametrize(
    ("options", "said"),
    [
        ({"train": 260}, "leave rows"),
        ({"train": "9d"}, "leave rows"),
        ({"train": 0.0}, "not a span"),
        ({"train": "soon"}, "not a span"),
        ({"refit_every": "1 month"}, "not a span"),
        ({"refit_every": 0}, "not a span"),
        ({"history": "-3d"}, "not a span"),
        ({"history": 3}, "no window of 6 rows"),
    ],
)
def test_bad_options_are_named(options: dict[str, float | str], said: str) -> None:
    with pytest.raises(DataError, match=said):
        backtest(history(), model=QUICK, **options)  # type: ignore[arg-type]


def test_durations_need_dates_and_rows_need_order() -> None:
    with pytest.raises(DataError, match="no column of dates"):
        backtest(history().drop("time"), model=QUICK, refit_every="1d")
    with pytest.raises(DataError, match="row 1 is earlier"):
        backtest(history().reverse(), model=QUICK)
