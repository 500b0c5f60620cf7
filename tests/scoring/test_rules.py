from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from alora_ts.scoring.rules import ScoreRule, causal_mean, memory_segments
from tests import naive


@settings(max_examples=80, deadline=None)
@given(
    st.lists(st.sampled_from([0.0, 1.0, -3.5, 1e9, 1e-9]), min_size=1, max_size=25),
    st.integers(1, 8),
    st.data(),
)
def test_causal_mean_equals_the_row_by_row_twin(
    series: list[float], width: int, data: st.DataObject
) -> None:
    values = np.array(series)
    changes = data.draw(st.lists(st.booleans(), min_size=len(series), max_size=len(series)))
    segments = np.cumsum(changes)
    np.testing.assert_allclose(
        causal_mean(values, width, segments), naive.causal_mean(values, width, segments)
    )
    table = np.column_stack([values, values[::-1]])
    np.testing.assert_allclose(
        causal_mean(table, width, None), naive.causal_mean(table, width, None)
    )


def test_a_mean_never_reaches_into_warm_up_rows() -> None:
    segments = np.zeros(6, dtype=np.int64)
    warm_up = np.array([True, True, False, False, False, False])
    mean = causal_mean(np.array([100.0, 100, 1, 3, 5, 7]), 3, memory_segments(segments, warm_up))
    np.testing.assert_allclose(mean, [100, 100, 1, 2, 3, 5])


def rule(scoring: str, smoothing: int = 1) -> ScoreRule:
    return ScoreRule(scoring, np.array([1.0, 4.0]), 9.0, smoothing, np.array([1.0, 0.5]))  # type: ignore[arg-type]


def test_scores_by_hand() -> None:
    residual = np.array([[1.0, 2.0], [10.0, -2.0]], dtype=np.float32)
    rank = np.array([2, 3])
    np.testing.assert_allclose(rule("paper").error(residual), [[1, 4], [100, 4]])
    np.testing.assert_allclose(rule("refined").error(residual), [[1, 0.5], [9, 0.5]])
    total = np.array([5.0, 104.0])
    np.testing.assert_allclose(rule("error").raw(total, rank, None), [5, 104])
    np.testing.assert_allclose(rule("paper", 2).raw(total, rank, None), [10, 312])
    np.testing.assert_allclose(rule("refined", 2).raw(total, rank, None), [10, 161])


@pytest.mark.parametrize("scoring", ["refined", "paper", "error"])
def test_a_larger_residual_never_scores_less(scoring: str) -> None:
    small = np.random.default_rng(0).normal(size=(50, 2))
    rank = np.full(50, 3)
    chosen = rule(scoring, 2)
    less, more = (
        chosen.raw(chosen.error(residual).sum(1), rank, None) for residual in (small, 1.5 * small)
    )
    assert (more >= less).all()


def test_few_observations_say_less_of_a_large_deviation() -> None:
    residual = np.array([[1.0, 2.0], [30.0, 60.0], [0.0, 0.0]])
    plain = ScoreRule("joint", np.array([1.0, 4.0]), 1000.0, 1, np.array([1.0, 0.5]))
    sure = replace(plain, observed=np.array([1e12, 1e12]))
    np.testing.assert_allclose(sure.error(residual), plain.error(residual), rtol=1e-3)
    unsure = replace(plain, observed=np.array([3.0, 1.0]), surprise_scale=np.array([1.0, 4.0]))
    by_hand = [
        [k * np.log(1 + e / k) * weight for k, e, weight in ((3.0, e, 1.0), (1.0, e, 0.5))]
        for e in (1.0, 900.0, 0.0)
    ]
    np.testing.assert_allclose(unsure.error(residual), by_hand)
    unsure = replace(unsure, surprise_observed=np.array([3.0, 1.0]))
    np.testing.assert_allclose(unsure.surprise(residual), np.sum(by_hand, 1))
