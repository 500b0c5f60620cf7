"""Localization forms and shares against loops."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

from alora_ts.diagnosis import localize
from alora_ts.diagnosis.localization import LOCALIZATIONS
from alora_ts.diagnosis.shares import shares
from alora_ts.errors import AloraError
from tests import naive


def problem(seed: int, n: int = 4, d: int = 5) -> tuple[np.ndarray, np.ndarray]:
    rng = np.random.default_rng(seed)
    return rng.exponential(size=(n, d)), rng.normal(size=(d, d))


@pytest.mark.parametrize("form", LOCALIZATIONS)
@pytest.mark.parametrize("top", [1, 2, 5, 9])
def test_each_form_equals_its_formula_written_out(form: str, top: int) -> None:
    for seed in range(20):
        error, c = problem(seed)
        expected = [naive.localization(row, c, form, top) for row in error]
        np.testing.assert_allclose(localize(error, c, form=form, top=top), expected, atol=1e-12)


@pytest.mark.parametrize("form", LOCALIZATIONS)
def test_one_matrix_per_row_is_the_same_as_row_by_row(form: str) -> None:
    error, _ = problem(0)
    matrices = np.random.default_rng(1).normal(size=(4, 5, 5))
    together = localize(error, matrices, form=form)
    apart = [localize(error[i : i + 1], matrices[i], form=form)[0] for i in range(4)]
    np.testing.assert_allclose(together, apart, atol=1e-12)


@pytest.mark.parametrize("form", LOCALIZATIONS)
def test_no_error_and_no_weights_give_finite_scores(form: str) -> None:
    assert np.isfinite(localize(np.zeros((2, 3)), np.zeros((3, 3)), form=form)).all()
    assert np.isfinite(localize(np.ones((1, 1)), np.ones((1, 1)), form=form)).all()


def test_a_misspelt_form_is_named() -> None:
    with pytest.raises(AloraError, match="did you mean 'paper'"):
        localize(np.ones((1, 2)), np.eye(2), form="papper")


@settings(max_examples=100, deadline=None)
@given(
    hnp.arrays(
        np.float64, st.tuples(st.integers(1, 4), st.integers(1, 6)), elements=st.floats(-1e6, 1e6)
    )
)
def test_shares_sum_to_one_and_ignore_negative_scores(scores: np.ndarray) -> None:
    part = shares(scores)
    np.testing.assert_allclose(part.sum(-1), 1)
    positive = (scores > 0).any(-1)
    assert (part[positive][scores[positive] <= 0] == 0).all()
