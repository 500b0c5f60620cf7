"""AERCA finds planted shocks and respects its switches."""

from __future__ import annotations

from functools import cache

import numpy as np
import pytest
from numpy.typing import NDArray

from alora_ts.baselines.aerca import AERCA
from alora_ts.errors import DataError

SHOCKS = {60: 0, 120: 1, 180: 2, 240: 3}


def _autoregression(rows: int, *, seed: int, shock: float = 0.0) -> NDArray[np.float64]:
    """A linear system of four variables; at each time of SHOCKS one of them is hit."""
    rng = np.random.default_rng(seed)
    chain = 0.5 * np.eye(4) + 0.3 * np.eye(4, k=-1)
    x = np.zeros((rows, 4))
    for t in range(1, rows):
        x[t] = chain @ x[t - 1] + 0.1 * rng.normal(size=4)
        if t in SHOCKS:
            x[t, SHOCKS[t]] += shock
    return x


@cache
def _fitted() -> AERCA:
    settings = {"width": 24, "hidden": 1, "learning_rate": 3e-3, "epochs": 40, "chunk_rows": 200}
    return AERCA(**settings).fit(_autoregression(2000, seed=0), progress=False)


@pytest.mark.parametrize("shock", [2.0, -2.0])
def test_a_shock_names_its_variable(shock: float) -> None:
    scores = _fitted().score_variables(_autoregression(300, seed=1, shock=shock))
    for time, variable in SHOCKS.items():
        assert scores[time].argmax() == variable


def test_one_sided_scores_see_upward_shocks_only() -> None:
    detector = _fitted()
    up, down = (_autoregression(300, seed=1, shock=sign * 2.0) for sign in (1, -1))
    try:
        detector.set_params(two_sided=False)
        high, low = detector.score_variables(up), detector.score_variables(down)
    finally:
        detector.set_params(two_sided=True)
    for time, variable in SHOCKS.items():
        assert high[time].argmax() == variable
        assert low[time].argmin() == variable
    np.testing.assert_array_equal(np.abs(high), detector.score_variables(up))


def test_first_rows_share_the_first_score() -> None:
    scores = _fitted().score_variables(
        _autoregression(9, seed=2), segments=np.repeat([0, 1, 2], [5, 3, 1])
    )
    np.testing.assert_array_equal(scores[0], scores[1])
    np.testing.assert_array_equal(scores[5], scores[6])
    np.testing.assert_array_equal(scores[8], np.zeros(4))


def test_blocks_do_not_change_the_scores(monkeypatch: pytest.MonkeyPatch) -> None:
    rows = _autoregression(50, seed=3)
    whole = _fitted().score_variables(rows)
    monkeypatch.setattr("alora_ts.baselines.aerca._COEFFICIENTS_AT_ONCE", 16 * 7)
    np.testing.assert_allclose(_fitted().score_variables(rows), whole, rtol=1e-4, atol=1e-5)


def test_full_size_parameter_counts() -> None:
    assert AERCA().parameter_count(10) == 9_342_300
    assert AERCA().parameter_count(38) == 13_462_332


def test_too_short_segments_are_refused() -> None:
    with pytest.raises(DataError, match="order=2"):
        AERCA(order=2, epochs=1).fit(
            np.random.default_rng(0).random((40, 2)), segments=np.arange(40) // 4
        )


def test_a_single_chunk_is_split_in_time() -> None:
    detector = AERCA(width=4, hidden=1, epochs=2, learning_rate=1e-3)
    scores = detector.fit(_autoregression(60, seed=0)).score_variables(_autoregression(20, seed=1))
    assert np.isfinite(scores).all()
