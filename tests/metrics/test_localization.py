"""Localization: ties are fair, chance levels are exact, segments are wholes."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from alora_ts import metrics
from alora_ts.errors import DataError
from tests.metrics import naive_metrics as naive


@st.composite
def tables(draw: st.DrawFn) -> tuple[list[list[int]], list[list[int]]]:
    n, d = draw(st.integers(1, 4)), draw(st.integers(1, 5))
    row = st.lists(st.integers(0, 1), min_size=d, max_size=d)
    truth = draw(st.lists(row, min_size=n, max_size=n))
    truth[0][0] = 1
    level = st.integers(0, draw(st.sampled_from([0, 1, 2, 9])))
    scores = st.lists(level, min_size=d, max_size=d)
    return truth, draw(st.lists(scores, min_size=n, max_size=n))


@given(case=tables(), percent=st.sampled_from([1, 50, 100, 150, 1000]))
@settings(max_examples=300, deadline=None)
def test_equals_the_mean_over_every_order_of_ties(
    case: tuple[list[list[int]], list[list[int]]], percent: int
) -> None:
    truth, scores = case
    rows = [naive.localized(t, s, percent) for t, s in zip(truth, scores, strict=True) if any(t)]
    hit_rate, ndcg = np.mean(rows, axis=0)
    assert metrics.hit_rate(truth, scores, percent) == pytest.approx(hit_rate, abs=1e-12)
    assert metrics.ndcg(truth, scores, percent) == pytest.approx(ndcg, abs=1e-12)

    found = metrics.localization(truth, scores, percent=percent)
    assert (found.hit_rate, found.ndcg) == pytest.approx((hit_rate, ndcg), abs=1e-12)
    flat = [naive.localized(t, [0] * len(t), percent) for t in truth if any(t)]
    chance = (found.hit_rate_chance, found.ndcg_chance)
    assert chance == pytest.approx(np.mean(flat, axis=0).tolist(), abs=1e-12)

    segments = []
    for start, end in naive.ranges([int(any(t)) for t in truth]):
        affected = [int(any(column)) for column in zip(*truth[start:end], strict=True)]
        highest = [max(column) for column in zip(*scores[start:end], strict=True)]
        segments.append(naive.localized(affected, highest, percent))
    expected = np.mean(segments, axis=0).tolist()
    assert metrics.ips(truth, scores, percent=percent) == pytest.approx(expected[0], abs=1e-12)
    assert (found.ips, found.segment_ndcg) == pytest.approx(expected, abs=1e-12)


def test_random_scores_reach_the_stated_chance() -> None:
    rng = np.random.default_rng(0)
    truth = rng.random((4000, 9)) < 0.3
    found = metrics.localization(truth, rng.random(truth.shape), percent=150)
    assert found.hit_rate == pytest.approx(found.hit_rate_chance, abs=0.01)
    assert found.ndcg == pytest.approx(found.ndcg_chance, abs=0.01)


def test_the_papers_example_of_k() -> None:
    truth = np.array([[1, 1, 1, 0, 0, 0, 0]])
    fifth = np.array([[7.0, 6.0, 3.0, 5.0, 4.0, 2.0, 1.0]])  # the third one has rank 5
    assert metrics.hit_rate(truth, fifth, percent=150) == 1.0
    assert metrics.hit_rate(truth, fifth, percent=100) == pytest.approx(2 / 3)


def test_a_given_segment_is_one_whole() -> None:
    truth = np.array([[1, 0], [0, 0], [0, 1]])
    scores = np.array([[5.0, 1.0], [0.0, 0.0], [9.0, 2.0]])
    assert metrics.ips(truth, scores) == 0.5
    assert metrics.ips(truth, scores, segments=[(0, 3)]) == 1.0


@pytest.mark.parametrize(
    ("truth", "scores", "segments", "message"),
    [
        ([[1, 0]], [[1.0]], None, r"shape \(1, 2\) and scores \(1, 1\)"),
        ([1, 0], [1.0, 0.0], None, "tables"),
        (np.zeros((0, 2)), np.zeros((0, 2)), None, "at least one row"),
        ([[0, 0]], [[1.0, 2.0]], None, "no affected variable"),
        ([[1, 3]], [[1.0, 2.0]], None, "row 0, variable 1 holds 3"),
        ([[1, 0]], [[1.0, np.nan]], None, "row 0, variable 1 holds nan"),
        ([["a", "b"]], [[1.0, 2.0]], None, "truth must be numbers"),
        ([[1, 0]], [[1.0, 2.0]], [(0, 2)], "not inside the 1 rows"),
        ([[1, 0], [0, 0]], [[1.0, 2.0]] * 2, [(1, 2)], "no affected variable"),
        ([[1, 0]], [[1.0, 2.0]], [], "no segment"),
    ],
)
def test_bad_tables_are_refused(
    truth: object, scores: object, segments: list[tuple[int, int]] | None, message: str
) -> None:
    with pytest.raises(DataError, match=message):
        metrics.ips(truth, scores, segments)  # type: ignore[arg-type]


def test_rows_without_truth_cannot_be_localized() -> None:
    for metric in (metrics.hit_rate, metrics.ndcg):
        with pytest.raises(DataError, match="no affected variable in any row"):
            metric([[0, 0]], [[1.0, 2.0]])


def test_a_percentage_below_one_is_refused() -> None:
    with pytest.raises(DataError, match="percent must be at least 1"):
        metrics.hit_rate([[1, 0]], [[1.0, 0.0]], percent=0)
