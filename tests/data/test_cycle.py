"""What repeats each day: found, measured without the day itself, placed by times or by itself."""

from __future__ import annotations

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from numpy.typing import NDArray

from alora_ts.data.cycle import Cycle, Tracker
from alora_ts.data.record import Table
from alora_ts.data.repetition import learn_cycle
from tests import naive

NAMES = ("busy", "late", "noise", "still")


def days(count: int, *, per_day: int = 48, seed: int = 0, start: int = 0) -> NDArray[np.float64]:
    """Two signals with a day, one without, one that stands still."""
    rng = np.random.default_rng(seed)
    at = (start + np.arange(count * per_day)) / per_day
    shape = np.exp(-8 * np.square(at % 1 - 0.4))
    rows = np.column_stack([50 * shape, -3 * np.roll(shape, 5) + 1e6, 0 * at, 0 * at + 7])
    rows[:, :3] += rng.normal(size=(len(at), 3)) * [4, 0.3, 1]
    return rows


def times(
    rows: int, *, minutes: int = 30, start: str = "2026-03-01T05:00"
) -> NDArray[np.datetime64]:
    return np.datetime64(start, "us") + np.arange(rows) * np.timedelta64(minutes, "m")


@pytest.mark.parametrize("timed", [False, True])
def test_a_day_is_found_and_taken_off(timed: bool) -> None:
    rows = days(20)
    found = learn_cycle(Table(rows, NAMES, times(len(rows)) if timed else None))
    assert found is not None
    cycle, rest = found
    assert (cycle.moments, cycle.name) == (48, "day" if timed else "48 rows")
    assert (cycle.share[:2] > 0.8).all()
    assert (cycle.share[2:] == 0).all()
    assert_array_equal(rest[:, 2:], rows[:, 2:])
    assert (rest[:, :2].std(0) < 0.5 * rows[:, :2].std(0)).all()
    assert_allclose(cycle.course.mean(0), 0, atol=0.05)
    # New days look as training's own do, which were measured against the others.
    new = days(20, seed=1)
    left = (
        new - np.tile(cycle.course, (20, 1))
        if not timed
        else new - cycle.course[cycle.at(times(len(new)).view(np.int64))]
    )
    assert_allclose(left[:, :2].std(0), rest[:, :2].std(0), rtol=0.1)


@pytest.mark.parametrize("gaps", [False, True])
def test_shares_are_those_of_the_slow_twin(gaps: bool) -> None:
    rows = days(8, per_day=24)
    if gaps:
        rows[3:9, 0] = np.nan
        rows[:, 1][np.random.default_rng(1).random(len(rows)) < 0.3] = np.nan
        rows[:, 2] = np.nan
    found = learn_cycle(Table(rows, NAMES))
    assert found is not None
    slow = naive.cycle_shares(rows, np.arange(len(rows)), 24)
    assert_allclose(found[0].share, slow, atol=1e-9)


def test_days_of_many_moments_are_smoothed_as_in_the_twin() -> None:
    rows = days(7, per_day=288)[:, :2]
    found = learn_cycle(Table(rows, NAMES[:2]))
    assert found is not None
    assert found[0].moments == 288
    assert_allclose(found[0].share, naive.cycle_shares(rows, np.arange(len(rows)), 288), atol=1e-9)


def test_rows_are_measured_against_the_other_days() -> None:
    rows = days(8, per_day=24)
    rows[30, 0] += 500
    found = learn_cycle(Table(rows, NAMES))
    assert found is not None
    cycle, rest = found
    others = np.delete(rows[:, 0].reshape(8, 24), 1, axis=0)
    course = others.mean(0) - others.mean()
    assert_allclose(rest[30, 0], rows[30, 0] - cycle.share[0] * course[6], rtol=1e-9)


@pytest.mark.parametrize(
    "rows",
    [
        np.zeros((0, 1)),
        np.zeros((400, 2)),
        np.full((400, 2), np.nan),
        np.random.default_rng(0).normal(size=(2000, 3)),
        np.cumsum(np.random.default_rng(0).normal(size=(3000, 3)), axis=0),
        np.sin(np.arange(4000) / 9)[:, None],  # 56.5 rows: no day
        np.sin(2 * np.pi * np.arange(1200) / 50)[:, None],
        days(6)[:, :2],  # fewer days than seven
    ],
)
def test_where_no_day_repeats_there_is_none(rows: NDArray[np.float64]) -> None:
    assert learn_cycle(Table(rows, tuple(f"x{at}" for at in range(rows.shape[1])))) is None


def test_a_week_is_taken_where_a_day_tells_less() -> None:
    rows = days(28, per_day=24)
    weekend = np.arange(len(rows)) // 24 % 7 >= 5
    rows[weekend, 0] = 0
    found = learn_cycle(Table(rows, NAMES, times(len(rows), minutes=60, start="2026-03-02")))
    assert found is not None
    assert (found[0].name, found[0].moments) == ("week", 168)
    plain = learn_cycle(Table(days(28, per_day=24), NAMES, times(len(rows), minutes=60)))
    assert plain is not None
    assert plain[0].name == "day"


def test_gaps_and_duplicate_times_do_not_move_the_day() -> None:
    rows = days(20)
    keep = np.random.default_rng(2).random(len(rows)) < 0.7
    keep[300:400] = False
    order = np.sort(np.r_[np.flatnonzero(keep), np.flatnonzero(keep)[:50]])
    found = learn_cycle(Table(rows[order], NAMES, times(len(rows))[order]))
    assert found is not None
    assert (found[0].moments, found[0].name) == (48, "day")
    assert (found[0].share[:2] > 0.8).all()


def test_rows_without_times_find_their_moment() -> None:
    found = learn_cycle(Table(days(20), NAMES))
    assert found is not None
    cycle = found[0]
    for start in (0, 7, 30):
        rows = days(4, seed=3, start=start)
        rows[60:80, 0] += 80  # a fault does not move the clock
        rows[::9, 1] = np.nan
        anew = np.arange(len(rows)) == 0
        moments = Tracker(cycle).place_all(rows, None, anew)
        assert_array_equal(moments[48:], (start + np.arange(48, len(rows))) % 48)
        one_by_one = Tracker(cycle)
        each = [one_by_one.place(row, None, anew=at == 0) for at, row in enumerate(rows)]
        assert_array_equal(moments, each)


def test_a_new_stretch_is_placed_anew_and_a_tracker_goes_on_where_it_was() -> None:
    found = learn_cycle(Table(days(20), NAMES))
    assert found is not None
    rows = np.concatenate([days(3, seed=4), days(3, seed=5, start=20)])
    anew = np.isin(np.arange(len(rows)), [0, 144])
    moments = Tracker(found[0]).place_all(rows, None, anew)
    assert moments[100] == 100 % 48
    assert moments[-1] == (20 + 143) % 48
    first, second = Tracker(found[0]), Tracker(found[0])
    start = first.place_all(rows[:30], None, anew[:30])
    second.resume(first.state())
    assert_array_equal(np.r_[start, second.place_all(rows[30:], None, anew[30:])], moments)


def test_a_row_without_any_value_and_a_damaged_cycle() -> None:
    found = learn_cycle(Table(days(20), NAMES))
    assert found is not None
    cycle = found[0]
    empty = np.full((60, 4), np.nan)
    assert_array_equal(Tracker(cycle).place_all(empty, None, np.arange(60) == 0)[:3], [0, 1, 2])
    assert cycle.fitting(4) is cycle
    assert cycle.only(np.array([True, False, False, True])).fitting(2).course.shape == (48, 2)
    for wrong in (
        {"course": cycle.course[:, :2]},
        {"course": cycle.course[:0]},
        {"mean": cycle.mean[:2]},
        {"spread": cycle.spread * 0},
        {"share": cycle.share * np.nan},
        {"seconds": np.array([-1.0])},
        {"seconds": np.array([1e-9])},
        {"seconds": np.array([1e300])},
        {"rows": np.array([5.0])},
        {"seconds": np.zeros(2)},
    ):
        with pytest.raises(ValueError, match="cycle"):
            Cycle(**{**vars(cycle), **wrong}).fitting(4)


def test_a_model_of_times_places_rows_without_them_also_where_they_come_often() -> None:
    rows = np.repeat(days(8, per_day=1440)[:, :2], 2, axis=0)  # two a minute
    step = np.timedelta64(30, "s")
    stamps = np.datetime64("2026-03-01", "us") + np.arange(len(rows)) * step
    found = learn_cycle(Table(rows, NAMES[:2], stamps))
    assert found is not None
    cycle = found[0]
    assert (cycle.moments, cycle.rows[0], cycle.name) == (1440, 2880, "day")
    start = 1000
    moments = Tracker(cycle).place_all(rows[start : start + 6000], None, np.arange(6000) == 0)
    true = cycle.at(stamps[start : start + 6000].view(np.int64))
    off = (moments[2880:] - true[2880:] + 720) % 1440 - 720
    assert np.abs(off).max() <= 15


def test_values_that_no_difference_can_hold_do_not_disturb() -> None:
    rows = days(20)
    rows[::2, 2], rows[1::2, 2] = -1.7e308, 1.7e308
    found = learn_cycle(Table(rows, NAMES))
    assert found is not None
    assert np.isfinite(found[1]).all()
    assert found[0].share[2] == 0
