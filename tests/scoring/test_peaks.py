from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from alora_ts.errors import AloraError
from alora_ts.scoring import AlarmOptions, choose_level
from alora_ts.scoring.peaks import find_peaks, fit_tail
from tests import naive

values = st.lists(st.sampled_from([0.0, 1.0, 2.0, 7.0]) | st.floats(0, 1e6), max_size=40)


@settings(max_examples=60, deadline=None)
@given(values, st.integers(0, 5), st.integers(0, 3))
def test_peaks_equal_the_twin(scores: list[float], gap: int, borders: int) -> None:
    raw = np.array(scores)
    blocks = np.arange(len(raw)) * borders // 10
    found = find_peaks(raw, blocks, gap=gap)
    assert found.tolist() == naive.cluster_peaks(raw, blocks, gap)


def test_a_level_keeps_its_rate_on_rows_like_those_it_was_found_on() -> None:
    """Autocorrelated scores with a heavy tail: incidents, not rows, come at the rate asked for."""
    rng = np.random.default_rng(0)

    def scores(rows: int) -> np.ndarray:
        steps = rng.normal(size=rows + 200)
        return np.exp(1.5 * np.convolve(steps, np.full(8, 8**-0.5), mode="valid"))[:rows]

    for each in (1000, 5000, 20_000):
        alarms = AlarmOptions(false_alarms=f"1 per {each} rows")
        rates = []
        for _ in range(5):
            tail = choose_level(scores(10_000), alarms=alarms, gap=10).tail
            assert tail is not None
            later = scores(200_000)
            rates.append((find_peaks(later, None, gap=10) > tail.level(each)).sum() * each / 2e5)
        assert 0.5 < np.mean(rates) < 2


def test_a_few_rows_lean_on_what_is_usual_elsewhere() -> None:
    """Eighty rows show four peaks: their own slope would often be near nothing."""
    rng = np.random.default_rng(0)
    later = np.exp(rng.normal(size=20_000))
    peaks = find_peaks(later, None, gap=10)
    allowed = (peaks > choose_level(later, alarms=AlarmOptions(), gap=10).value).sum()
    for _ in range(20):
        few = choose_level(np.exp(rng.normal(size=80)), alarms=AlarmOptions(), gap=10)
        assert few.tail is not None
        assert 0.6 < few.tail.slope < 1.2
        assert (peaks > few.value).sum() < 3 * allowed


def test_levels_and_return_periods_are_inverse() -> None:
    tail, _ = fit_tail(np.exp(np.random.default_rng(1).normal(size=5000)), gap=5)
    for each in (500.0, 3000.0, 40_000.0):
        assert tail.return_rows(tail.level(each)) == pytest.approx(each)
        low, high = tail.interval(each)
        assert low < each < high
    assert tail.return_rows(1e30) == tail.longest == 50_000
    wide, narrow = (np.ptp(np.log(tail.interval(each))) for each in (40_000.0, 500.0))
    assert wide > narrow


@pytest.mark.parametrize("scores", [np.ones(50), np.zeros(30), np.array([3.0]), np.arange(1.0, 5)])
def test_hardly_any_peaks_give_a_level_above_the_highest(scores: np.ndarray) -> None:
    level = choose_level(scores, alarms=AlarmOptions(), gap=2)
    assert level.value > scores.max()
    assert np.isfinite(level.value)


def test_a_training_too_short_for_its_budget_says_so() -> None:
    scores = np.exp(np.random.default_rng(2).normal(size=600))
    short = choose_level(scores, alarms=AlarmOptions(false_alarms="1 per 10000 rows"), gap=5)
    assert "too few to promise it" in short.note
    assert (
        "too few"
        not in choose_level(scores, alarms=AlarmOptions(false_alarms="1 per 500 rows"), gap=5).note
    )


@pytest.mark.parametrize("scores", [np.empty(0), np.array([1.0, np.nan]), np.array([np.inf, 1.0])])
def test_no_scores_give_no_level(scores: np.ndarray) -> None:
    with pytest.raises(AloraError, match="at least one normal score"):
        fit_tail(scores, gap=1)


def test_outdated_names_count_rows() -> None:
    scores = np.random.default_rng(3).exponential(size=20_000)
    level = choose_level(scores, alarms=AlarmOptions(alarm_share=1e-3), gap=5)
    assert level.each is None
    assert (scores > level.value).mean() == pytest.approx(1e-3, rel=0.5)
