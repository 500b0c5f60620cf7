from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from alora_ts.errors import AloraError
from alora_ts.scoring.threshold import choose_threshold

RULES = ("tail", "quantile", "alarms-per-day")

scores = st.lists(
    st.one_of(
        st.floats(0, 1e12, allow_nan=False),
        st.sampled_from([0.0, 1.0, 2.0, 1e-300, 1e30]),
    ),
    min_size=1,
    max_size=200,
)


@settings(max_examples=150, deadline=None)
@given(scores, st.sampled_from(RULES), st.floats(1e-6, 0.4))
def test_any_scores_give_a_positive_finite_threshold(
    values: list[float], rule: str, share: float
) -> None:
    chosen = choose_threshold(
        np.array(values),
        rule=rule,  # type: ignore[arg-type]
        alarm_share=share,
        rows_per_day=1440.0,
    )
    assert np.isfinite(chosen.value)
    assert chosen.value > 0
    assert chosen.note
    assert chosen.rule == rule


@settings(max_examples=60, deadline=None)
@given(scores, st.floats(0.1, 1000))
def test_the_scale_of_the_scores_does_not_matter(values: list[float], factor: float) -> None:
    array = np.clip(np.array(values), 1e-3, 1e9)
    one = choose_threshold(array, alarm_share=1e-3).value
    other = choose_threshold(array * factor, alarm_share=1e-3).value
    assert other == pytest.approx(one * factor, rel=1e-5)


@settings(max_examples=60, deadline=None)
@given(scores)
def test_fewer_alarms_need_a_higher_threshold(values: list[float]) -> None:
    array = np.array(values)
    for rule in ("tail", "quantile"):
        often, seldom = (
            choose_threshold(array, rule=rule, alarm_share=share).value  # type: ignore[arg-type]
            for share in (1e-2, 1e-4)
        )
        assert seldom >= often * (1 - 1e-12)


@pytest.mark.parametrize(
    ("draw", "true"),
    [
        (lambda rng: rng.exponential(size=50_000), -np.log(1e-4)),
        (lambda rng: rng.uniform(size=50_000), 1.0),
        (lambda rng: rng.pareto(4, size=50_000), 1e-4**-0.25 - 1),
    ],
    ids=["exponential", "bounded", "heavy tail"],
)
def test_the_tail_rule_meets_the_true_quantile(draw: object, true: float) -> None:
    sample = draw(np.random.default_rng(3))  # type: ignore[operator]
    assert choose_threshold(sample, alarm_share=1e-4).value == pytest.approx(true, rel=0.2)


def test_ties_tiny_samples_and_constants() -> None:
    ties = np.repeat([0.0, 1.0, 5.0], [900, 90, 10])
    assert 1 <= choose_threshold(ties, alarm_share=5e-3).value < 20
    few = choose_threshold(np.array([1.0, 2.0, 4.0]))
    assert few.value == pytest.approx(4.4)
    assert "only" in few.note
    assert choose_threshold(np.full(40, 7.0)).value == pytest.approx(7.7)
    assert choose_threshold(np.zeros(40)).value > 0
    assert choose_threshold(np.array([3.0])).value == pytest.approx(3.3)
    exponential = choose_threshold(np.random.default_rng(0).exponential(size=200))
    assert "exponential" in exponential.note


def test_alarms_per_day_is_the_tail_at_that_share() -> None:
    sample = np.random.default_rng(0).exponential(size=5000)
    daily = choose_threshold(sample, rule="alarms-per-day", alarms_per_day=2, rows_per_day=1000)
    assert daily.value == choose_threshold(sample, alarm_share=2e-3).value


def test_refusals() -> None:
    with pytest.raises(AloraError, match="did you mean 'tail'"):
        choose_threshold(np.ones(3), rule="tial")  # type: ignore[arg-type]
    with pytest.raises(AloraError, match="finite"):
        choose_threshold(np.array([1.0, np.nan]))
    with pytest.raises(AloraError, match="at least one"):
        choose_threshold(np.array([]))
    with pytest.raises(AloraError, match="between 0 and 1"):
        choose_threshold(np.ones(3), alarm_share=0)
    with pytest.raises(AloraError, match="timestamps"):
        choose_threshold(np.ones(3), rule="alarms-per-day")
