"""Statistics agree with their slow twins, on ties, constants and tiny tables too."""

from __future__ import annotations

from inspect import signature

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats

from alora_ts.bench.statistics import (
    average_ranks,
    bootstrap_mean,
    critical_difference,
    friedman,
    holm,
    indistinguishable,
    wilcoxon_holm,
)
from alora_ts.errors import AloraError
from tests.bench import naive_statistics as naive

# A busy machine is not a failure.
calm = settings(max_examples=40, deadline=None)
COARSE = st.integers(0, 5).map(lambda value: value / 4)  # many ties


def tables(least_rows: int = 1, least_columns: int = 1) -> st.SearchStrategy[list[list[float]]]:
    return st.integers(least_columns, 6).flatmap(
        lambda columns: st.lists(
            st.lists(COARSE, min_size=columns, max_size=columns), min_size=least_rows, max_size=7
        )
    )


@calm
@given(tables())
def test_ranks_are_the_naive_ones(table: list[list[float]]) -> None:
    np.testing.assert_allclose(average_ranks(table), naive.average_ranks(table), atol=1e-12)


@calm
@given(tables(2, 3))
def test_friedman_is_the_naive_one(table: list[list[float]]) -> None:
    found = friedman(table)
    if all(len(set(row)) == 1 for row in table):
        assert found is None
        return
    assert found is not None
    assert found.statistic == pytest.approx(naive.friedman_statistic(table), abs=1e-9)
    assert 0 <= found.p <= 1


def test_friedman_needs_three_methods_and_two_entities() -> None:
    assert friedman([[1.0, 2.0], [1.0, 3.0]]) is None
    assert friedman([[1.0, 2.0, 3.0]]) is None


@pytest.mark.parametrize(
    ("methods", "q"),
    # The table of critical values for the two-tailed Nemenyi test at 5 %.
    [(2, 1.960), (3, 2.343), (4, 2.569), (5, 2.728), (6, 2.850), (8, 3.031), (10, 3.164)],
)
def test_critical_difference_has_the_tabled_values(methods: int, q: float) -> None:
    expected = q * np.sqrt(methods * (methods + 1) / (6 * 14))
    assert critical_difference(14, methods) == pytest.approx(expected, rel=5e-4)


def test_critical_difference_refuses_nothing_to_compare() -> None:
    with pytest.raises(AloraError, match="two methods"):
        critical_difference(3, 1)


@calm
@given(st.lists(COARSE, min_size=1, max_size=7), st.sampled_from([0.0, 0.3, 0.5, 1.0, 9.0]))
def test_groups_are_the_largest_ones(ranks: list[float], difference: float) -> None:
    found = indistinguishable(ranks, difference)
    assert {frozenset(one) for one in found} == naive.groups(ranks, difference)
    assert len(found) == len(set(found))
    for one in found:
        assert [ranks[at] for at in one] == sorted(ranks[at] for at in one)


@calm
@given(st.lists(st.floats(0, 1), max_size=8))
def test_holm_is_the_naive_one(p: list[float]) -> None:
    np.testing.assert_allclose(holm(p), naive.holm(p), atol=1e-12)


@calm
@given(
    st.lists(st.integers(-999, 999), min_size=1, max_size=8)
    | st.lists(st.integers(-3, 3), min_size=1, max_size=8)
)
def test_signed_ranks_are_exact_with_ties_and_zeros(differences: list[int]) -> None:
    values = np.column_stack([np.array(differences) / 1000, np.zeros(len(differences))])
    found = wilcoxon_holm(values, 0)
    assert found[0] is None
    assert found[1] == pytest.approx(naive.signed_ranks(differences), abs=1e-12)


def test_equal_methods_do_not_differ() -> None:
    same = np.tile([0.3, 0.7, 0.2, 0.9], (3, 1)).T
    assert wilcoxon_holm(same, 1) == [1.0, None, 1.0]


@pytest.mark.parametrize("entities", [1, 2, 7, 28, 45])
def test_signed_ranks_are_scipys_where_nothing_is_tied(entities: int) -> None:
    differences = np.random.default_rng(entities).normal(0.2, size=entities)
    values = np.column_stack([differences, np.zeros(entities)])
    theirs = stats.wilcoxon(differences, method="exact").pvalue
    assert wilcoxon_holm(values, 0)[1] == pytest.approx(theirs, rel=1e-9)


def test_p_values_are_adjusted_for_all_that_are_looked_at() -> None:
    rng = np.random.default_rng(0)
    values = rng.normal([0.0, 0.5, 1.0, 2.0], size=(12, 4))
    raw = [stats.wilcoxon(values[:, 3] - values[:, at]).pvalue for at in range(3)]
    assert wilcoxon_holm(values, 3)[:3] == pytest.approx(naive.holm(raw))


@calm
@given(st.lists(st.floats(-1, 1), min_size=2, max_size=6), st.integers(0, 3))
def test_intervals_are_the_naive_ones(values: list[float], seed: int) -> None:
    found = bootstrap_mean(values, resamples=60, seed=seed)
    assert found is not None
    low, high = naive.bootstrap(values, 60, seed)
    mean = sum(values) / len(values)
    assert found.mean == pytest.approx(mean, abs=1e-12)
    assert found.low == pytest.approx(min(low, mean), abs=1e-12)
    assert found.high == pytest.approx(max(high, mean), abs=1e-12)


def test_intervals_agree_with_scipy_within_their_own_spread() -> None:
    values = np.random.default_rng(3).normal(size=25)
    found = bootstrap_mean(values)
    assert found is not None
    # scipy before 1.15 calls it random_state.
    name = "rng" if "rng" in signature(stats.bootstrap).parameters else "random_state"
    drawn = {name: np.random.default_rng(7)}
    theirs = stats.bootstrap(
        (values,), np.mean, method="percentile", n_resamples=10_000, **drawn
    ).confidence_interval
    assert found.low == pytest.approx(theirs.low, abs=0.02)
    assert found.high == pytest.approx(theirs.high, abs=0.02)


def test_constant_and_single_values() -> None:
    found = bootstrap_mean([0.1, 0.1, 0.1])
    assert found is not None
    assert found.low <= found.mean <= found.high
    assert found.high - found.low < 1e-12
    assert bootstrap_mean([0.4]) is None


def test_intervals_say_whether_a_sign_may_be_chance() -> None:
    sure, unsure = bootstrap_mean([0.1, 0.2, 0.3]), bootstrap_mean([-0.5, 0.2, 0.4])
    assert sure is not None
    assert unsure is not None
    assert not sure.covers_zero
    assert unsure.covers_zero


@pytest.mark.parametrize("broken", [[[1.0, np.nan]], [[np.inf, 1.0]]])
def test_missing_numbers_are_refused(broken: list[list[float]]) -> None:
    with pytest.raises(AloraError, match="leave out methods that lack entities"):
        average_ranks(broken)
    with pytest.raises(AloraError, match="shape"):
        average_ranks([])
