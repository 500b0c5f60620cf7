from __future__ import annotations

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from alora_ts.scoring.drift import summarise
from alora_ts.scoring.following import Following
from tests import naive

NORMAL = summarise(np.random.default_rng(0).gamma(2.0, size=500))


def quiet(rows: int) -> np.ndarray:
    return np.zeros(rows, dtype=bool)


@settings(max_examples=60, deadline=None)
@given(
    st.lists(st.sampled_from([0.0, 1.0, 9.0, 11.0, 30.0, 1e6]) | st.floats(0, 100), max_size=80),
    st.integers(0, 30),
    st.sampled_from([None, 2.0, 10.0]),
    st.integers(0, 3),
    st.integers(0, 5),
)
def test_every_row_equals_the_twin(
    scores: list[float], memory: int, each: float | None, gap: int, early: int
) -> None:
    raw, warm_up = np.array(scores), np.arange(len(scores)) < early
    follower = Following(NORMAL, memory=memory, level=10.0, each=each, gap=gap)
    before = follower._scores._sorted.copy()
    found = follower.follow(raw, warm_up)
    order = np.random.default_rng(0).permutation(len(before))
    middle, high = np.interp([0.5, 0.75], np.linspace(0, 1, len(NORMAL)), NORMAL)
    twin = naive.followed(
        raw,
        warm_up,
        np.array(before)[order],
        float(middle),
        float(high - middle),
        memory=memory,
        level=10.0,
        each=each,
        gap=gap,
    )
    np.testing.assert_allclose(found, twin)


def test_rows_in_pieces_and_one_by_one_give_the_same() -> None:
    raw = np.random.default_rng(1).gamma(2.0, size=500) * 4
    whole = Following(NORMAL, memory=50, level=10.0, each=20.0, gap=2).follow(raw, quiet(500))
    parts = Following(NORMAL, memory=50, level=10.0, each=20.0, gap=2)
    pieces = [parts.follow(raw[:100], quiet(100)), parts.follow(raw[100:], quiet(400))]
    np.testing.assert_array_equal(whole, np.concatenate(pieces))
    parts.restart()
    np.testing.assert_array_equal(whole, [parts.step(one) for one in raw.tolist()])


def test_a_lasting_shift_is_taken_off_and_an_incident_is_not() -> None:
    follower = Following(NORMAL, memory=200, level=10.0, each=None, gap=5)
    rng = np.random.default_rng(2)
    usual = rng.gamma(2.0, size=400)
    follower.follow(usual, quiet(400))
    assert follower.shift < 1
    follower.follow(usual[:40] + 50, quiet(40))
    assert follower.shift < 1
    follower.follow(usual + 50, quiet(400))
    assert abs(follower.shift - 50) < 2
    # At most ten times the level (and the spread since the change): further away is never usual.
    follower.follow(usual + 1e6, quiet(400))
    assert 100 <= follower.shift < 110


@settings(max_examples=40, deadline=None)
@given(
    st.integers(0, 2**32 - 1),
    st.sampled_from([20, 60]),
    st.sampled_from([1.0, 12.0, 40.0, 900.0]),
    st.sampled_from([0.0, 1.0, 30.0]),
    st.integers(0, 3),
)
def test_changes_equal_the_twin(
    seed: int, memory: int, size: float, wider: float, gap: int
) -> None:
    rng = np.random.default_rng(seed)
    raw = rng.gamma(2.0, size=500)
    since = slice(150, 150 + int(rng.integers(5, 350)))
    raw[since] = size + wider * raw[since]
    follower = Following(NORMAL, memory=memory, level=10.0, each=None, gap=gap)
    middle, high = np.interp([0.5, 0.75], np.linspace(0, 1, len(NORMAL)), NORMAL)
    before = np.array(follower._scores._recent)
    twin = naive.followed(
        raw,
        quiet(500),
        before,
        float(middle),
        float(high - middle),
        memory=memory,
        level=10.0,
        each=None,
        gap=gap,
    )
    np.testing.assert_allclose(follower.follow(raw, quiet(500)), twin)


def moved(size: float, wider: float, rows: int = 3000) -> np.ndarray:
    """Normal rows, then rows of a changed system."""
    rng = np.random.default_rng(4)
    return np.concatenate([rng.gamma(2.0, size=1000), size + wider * rng.gamma(2.0, size=rows)])


def test_after_a_change_rows_are_measured_by_those_since() -> None:
    follower = Following(NORMAL, memory=1000, level=10.0, each=1000.0, gap=5)
    raw = moved(40.0, 15.0)
    score = raw / (10.0 * follower.follow(raw, quiet(4000)))
    alarms = np.flatnonzero(score > 1)
    assert alarms[0] == 1000  # at once
    assert follower.last_spread is not None
    assert 1450 < alarms[alarms < 2000][-1] < 1700  # until half of the memory is of the new state
    assert len(alarms[alarms > 1700]) < 5  # quiet, although scores spread fifteen times wider
    fault = follower.step(2000.0)  # and not deaf
    assert 2000.0 / (10.0 * fault) > 5


def test_a_system_that_goes_back_is_measured_as_before() -> None:
    follower = Following(NORMAL, memory=1000, level=10.0, each=1000.0, gap=5)
    follower.follow(moved(40.0, 15.0, rows=1500), quiet(2500))
    assert follower.last_spread is not None
    follower.follow(np.random.default_rng(5).gamma(2.0, size=150), quiet(150))
    assert follower.last_spread is None
    assert 15.0 / (10.0 * follower.step(15.0)) > 1


def test_a_long_incident_that_ends_by_itself_is_no_change() -> None:
    follower = Following(NORMAL, memory=1000, level=10.0, each=1000.0, gap=5)
    raw = np.concatenate([moved(40.0, 15.0, rows=400), np.ones(50)])
    follower.follow(raw, quiet(1450))
    assert follower.last_spread is None


def test_a_system_that_goes_back_with_the_last_row_of_a_cluster_is_followed() -> None:
    follower = Following(NORMAL, memory=50, level=10.0, each=None, gap=0)
    for spread in (1.0, None):
        follower.step(50.0)
        follower.recall(spread)
    assert 1.0 / (10.0 * follower.step(1.0)) < 1
    assert follower.last_spread is None


def test_a_change_is_recalled_without_the_rows_before_it() -> None:
    whole = Following(NORMAL, memory=500, level=10.0, each=100.0, gap=5)
    raw = moved(40.0, 15.0)
    expected = whole.follow(raw, quiet(4000))
    again = Following(NORMAL, memory=500, level=10.0, each=100.0, gap=5)
    found = []
    for one in raw[2500:].tolist():
        found.append(again.step(one))
        again.recall(whole.last_spread)
    np.testing.assert_allclose(found[750:], expected[3250:])


def test_a_storm_lets_only_the_worst_through() -> None:
    raw = np.ones(400)
    raw[20::20] = 20.0
    raw[300] = 200.0
    follower = Following((0.9, 1.0, 1.1), memory=0, level=10.0, each=100.0, gap=2)
    score = raw / (10.0 * follower.follow(raw, quiet(400)))
    alarms = np.flatnonzero(score > 1)
    assert alarms.tolist() == [20, 40, 60, 80, 100, 300]


def test_what_is_new_counts_and_a_lasting_novelty_does_not() -> None:
    rng = np.random.default_rng(3)
    raw, new = rng.gamma(2.0, size=600), rng.normal(size=600)
    new[300:] += 4.0  # a system that has changed for good
    usual = summarise(rng.normal(size=500))
    follower = Following(NORMAL, memory=100, level=10.0, each=None, gap=2, novelty=usual)
    before = list(follower._novelties._recent)
    parts = follower.follow(raw, quiet(600), new)
    seen = np.empty(600)
    for row in range(600):
        recent = np.sort([*before, *new[:row]][-100:])
        lasting = max(recent[len(recent) // 2] - usual[50], 0.0)
        seen[row] = raw[row] * np.exp(0.6 * max(new[row] - lasting, 0))
    alone = Following(NORMAL, memory=100, level=10.0, each=None, gap=2)
    np.testing.assert_allclose(raw / parts, seen / alone.follow(seen, quiet(600)))
    score = raw / (10.0 * parts)
    assert np.median(score[300:340]) > 3 * np.median(score[:300])
    assert np.median(score[450:]) < 1.5 * np.median(score[:300])
