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
    twin = naive.followed(
        raw,
        warm_up,
        np.array(before)[order],
        float(np.interp(0.5, np.linspace(0, 1, len(NORMAL)), NORMAL)),
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
    # At most ten times the level: what lies further away never becomes usual.
    follower.follow(usual + 1e6, quiet(400))
    assert follower.shift == 100


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
