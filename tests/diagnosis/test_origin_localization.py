"""Origins: the rules against least squares, the scores against loops, and what they tell."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from alora_ts.diagnosis.origins import Mechanisms, learn_mechanisms
from tests import naive


def after(row: int, values: np.ndarray) -> np.ndarray:
    return np.arange(len(values)) >= row


def chain(rows: int, *, seed: int = 0) -> np.ndarray:
    """Each signal follows the one before it, one row later; only the first moves by itself."""
    rng = np.random.default_rng(seed)
    x = np.zeros((rows, 4))
    noise = rng.normal(size=(rows, 4)) * [0.3, 0.1, 0.1, 0.1]
    for t in range(1, rows):
        x[t, 0] = 0.9 * x[t - 1, 0] + noise[t, 0]
        x[t, 1:] = 0.95 * x[t - 1, :-1] + noise[t, 1:]
    return x


def a_rule(seed: int, *, lags: int, d: int) -> Mechanisms:
    rng = np.random.default_rng(seed)
    weights = rng.normal(size=(lags, d, d)).astype(np.float32)
    offset, size, usual = rng.normal(size=d), rng.uniform(0.1, 2, d), rng.uniform(0.5, 3, d)
    return Mechanisms(weights, offset, size, usual)


@settings(max_examples=40, deadline=None)
@given(st.integers(0, 99), st.integers(1, 3), st.integers(1, 4), st.integers(1, 5))
def test_scores_equal_the_formula_written_out(seed: int, lags: int, d: int, more: int) -> None:
    rule = a_rule(seed, lags=lags, d=d)
    windows = np.random.default_rng(seed).normal(size=(3, lags + more, d))
    windows[1] = 0.0
    windows[2, :, 0] = 1e6
    expected = [
        naive.origin_scores(window, rule.weights, rule.offset, rule.size, rule.usual)
        for window in windows
    ]
    np.testing.assert_allclose(rule.scores(windows), expected, rtol=1e-9)


def test_rules_are_ridge_regressions_within_segments() -> None:
    values = chain(300)
    segments = (np.arange(300) >= 120).astype(int)
    learned = learn_mechanisms(values, segments, window=8, held_back=after(260, values))
    assert learned.lags == 2
    rows = [t for t in range(2, 260) if t not in (120, 121)]
    past = np.array([np.concatenate([values[t - 1], values[t - 2]]) for t in rows])
    now = values[rows]
    centred = past - past.mean(0)
    # Ridge as least squares: each penalty is one more row.
    stacked = np.vstack([centred, np.sqrt(1e-3 * len(rows)) * np.eye(8)])
    wanted = np.vstack([now - now.mean(0), np.zeros((8, 4))])
    weights = np.linalg.lstsq(stacked, wanted, rcond=None)[0]
    np.testing.assert_allclose(learned.weights.reshape(8, 4), weights, atol=1e-5)
    np.testing.assert_allclose(learned.offset, now.mean(0) - past.mean(0) @ weights, atol=1e-5)


@pytest.mark.parametrize("kind", ["shock", "shift", "stuck"])
@pytest.mark.parametrize("origin", [0, 1, 2])
def test_the_origin_is_distinguished_from_what_it_reached(kind: str, origin: int) -> None:
    values = chain(2400)
    learned = learn_mechanisms(values[:2000], None, window=20, held_back=after(1800, values[:2000]))
    faulty = values[2000:2060].copy()
    if kind == "shock":
        faulty[45, origin] += 4
    elif kind == "shift":
        faulty[45:, origin] += 3
    else:
        faulty[40:, origin] = faulty[40, origin]
    # What follows keeps following: recompute it from the disturbed signal and its own noise.
    for child in range(origin + 1, 4):
        noise = values[2001:2060, child] - 0.95 * values[2000:2059, child - 1]
        faulty[1:, child] = 0.95 * faulty[:-1, child - 1] + noise
    scores = learned.scores(faulty[None, 40:60])[0]
    assert scores.argmax() == origin
    assert scores[origin] > 3


@pytest.mark.parametrize(
    "values",
    [
        np.zeros((40, 3)),
        np.random.default_rng(0).normal(size=(40, 1)),
        np.tile(np.random.default_rng(0).normal(size=(40, 1)), (1, 5)),
        np.random.default_rng(0).normal(size=(5, 2)),
        np.full((40, 2), 1e4) * np.random.default_rng(0).choice([-1, 1], size=(40, 2)),
    ],
    ids=["constant", "one variable", "copies", "few rows", "wild"],
)
def test_odd_training_rows_give_finite_scores(values: np.ndarray) -> None:
    learned = learn_mechanisms(values, None, window=4)
    windows = np.stack([values[:4], np.zeros_like(values[:4]), values[:4] + 10])
    scores = learned.scores(windows)
    assert np.isfinite(scores).all()
    assert (scores >= 0).all()


def test_normal_windows_score_about_one() -> None:
    values = chain(3000)
    learned = learn_mechanisms(values[:2000], None, window=20, held_back=after(1800, values[:2000]))
    windows = np.stack([values[end - 20 : end] for end in range(2020, 3000, 7)])
    np.testing.assert_allclose(learned.scores(windows).mean(0), 1, atol=0.25)


def test_very_many_variables_reach_back_less() -> None:
    values = np.random.default_rng(0).normal(size=(30, 600))
    learned = learn_mechanisms(values, None, window=20, held_back=after(30, values))
    assert learned.lags == 1


def test_rules_hold_where_there_is_enough_to_learn_from() -> None:
    values = chain(400)
    learned = learn_mechanisms(values, None, held_back=after(360, values), window=8)
    assert learned.hold(values, None, held_back=after(360, values))
    assert not learned.hold(values, None, held_back=after(400, values))  # nothing was held back
    noise = np.cumsum(np.random.default_rng(0).normal(size=(120, 30)), axis=0)
    few = learn_mechanisms(noise, None, held_back=after(100, noise), window=20)
    assert not few.hold(noise, None, held_back=after(100, noise))
    still = np.ones((100, 2))
    assert not learn_mechanisms(still, None, held_back=after(80, still), window=8).hold(
        still, None, held_back=after(80, still)
    )
