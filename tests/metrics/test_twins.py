"""The fast paths against their slow twins, on thousands of odd cases."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from alora_ts import metrics
from alora_ts.metrics.curves import METRICS
from alora_ts.metrics.neighbours import neighbours_when_removed
from tests.metrics import naive_metrics as naive
from tests.metrics.cases import Case, labelled_scores, seeded

NAMES = sorted(METRICS)


def check_curve(case: Case, metric: str) -> None:
    label, score = case
    found = metrics.curve(label, score, metric, i_know_it_misleads=True)
    expected = naive.curve(label.tolist(), score.tolist(), metric)
    assert found.threshold.size == len(expected)
    for i, (level, (precision, recall)) in enumerate(expected):
        np.testing.assert_array_equal(score > found.threshold[i], score >= level)
        assert found.precision[i] == pytest.approx(precision, abs=1e-12)
        assert found.recall[i] == pytest.approx(recall, abs=1e-12)
    best = metrics.best_f1(label, score, metric, i_know_it_misleads=True)
    assert best.f1 == pytest.approx(max(naive.f1(pair) for _, pair in expected), abs=1e-12)
    again = metrics.at_threshold(label, score, best.threshold, metric, i_know_it_misleads=True)
    assert (best.precision, best.recall) == (again.precision, again.recall)


@pytest.mark.parametrize("metric", NAMES)
@given(case=labelled_scores())
@settings(max_examples=150, deadline=None)
def test_curve_of_any_case(metric: str, case: Case) -> None:
    check_curve(case, metric)


@pytest.mark.parametrize("metric", NAMES)
def test_curve_of_a_thousand_cases(metric: str) -> None:
    for seed in range(1000):
        check_curve(seeded(seed), metric)


def test_affiliation_of_all_short_cases() -> None:
    for n in range(1, 6):
        for bits in range(1, 2**n):
            label = [bits >> i & 1 for i in range(n)]
            for alarm_bits in range(2**n):
                alarm = [alarm_bits >> i & 1 for i in range(n)]
                found = metrics.affiliation(label, alarm)
                expected = naive.affiliation(label, alarm)
                assert (found.precision, found.recall) == pytest.approx(expected, abs=1e-12)


@pytest.mark.parametrize("bias", ["flat", "front", "middle", "back"])
@pytest.mark.parametrize("cardinality", ["one", "reciprocal"])
def test_range_based(bias: str, cardinality: str) -> None:
    for seed in range(300):
        label, score = seeded(seed)
        alarm = (score > np.median(score)).astype(int)
        alpha = seed % 5 / 4
        found = metrics.range_based(label, alarm, alpha=alpha, bias=bias, cardinality=cardinality)
        expected = naive.range_based(label.tolist(), alarm.tolist(), alpha, bias, cardinality)
        assert (found.precision, found.recall) == pytest.approx(expected, abs=1e-12)


@given(case=labelled_scores(both=True))
@settings(max_examples=200, deadline=None)
def test_areas(case: Case) -> None:
    label, score = case
    truth, values = label.tolist(), score.tolist()
    assert metrics.auc_roc(label, score) == pytest.approx(naive.auc_roc(truth, values), abs=1e-12)
    assert metrics.auc_pr(label, score) == pytest.approx(naive.auc_pr(truth, values), abs=1e-12)


def test_volumes() -> None:
    for seed in range(150):
        label, score = seeded(seed, both=True)
        window, thresholds = seed % 14, [2, 7, 50][seed % 3]
        slices = [
            naive.range_auc(label.tolist(), score.tolist(), w, thresholds)
            for w in range(window + 1)
        ]
        one = metrics.range_auc(label, score, window, thresholds=thresholds)
        assert (one.roc, one.pr) == pytest.approx(slices[-1], abs=1e-9)
        whole = metrics.vus(label, score, window, thresholds=thresholds)
        assert (whole.roc, whole.pr) == pytest.approx(np.mean(slices, axis=0).tolist(), abs=1e-9)


@given(order=st.permutations(range(9)), kept=st.integers(0, 9))
def test_neighbours(order: list[int], kept: int) -> None:
    removed = order[: len(order) - kept]
    before, after = neighbours_when_removed(np.array(removed, dtype=np.int64), 9)
    present = set(order)
    for position in removed:
        present.remove(position)
        assert before[position] == max((p for p in present if p < position), default=-1)
        assert after[position] == min((p for p in present if p > position), default=9)


def test_a_long_series_keeps_every_digit() -> None:
    rng = np.random.default_rng(3)
    label = np.repeat(rng.random(2000) < 0.05, 20).astype(int)
    score = np.round(rng.normal(size=label.size) + label, 2)
    for metric in NAMES:
        found = metrics.curve(label, score, metric, i_know_it_misleads=True)
        for i in range(0, found.threshold.size, 97):
            once = metrics.at_threshold(
                label, score, float(found.threshold[i]), metric, i_know_it_misleads=True
            )
            assert found.precision[i] == pytest.approx(once.precision, abs=1e-12)
            assert found.recall[i] == pytest.approx(once.recall, abs=1e-12)
