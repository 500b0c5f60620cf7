from __future__ import annotations

from typing import Literal

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

from alora_ts.data import scaling
from alora_ts.data.scaling import CLIP, Standardiser, constant_scale, fit_standardiser


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("order", ["C", "F"])
def test_equals_the_plain_moments(
    monkeypatch: pytest.MonkeyPatch, dtype: type, order: Literal["C", "F"]
) -> None:
    monkeypatch.setattr(scaling, "_CHUNK", 7)
    rng = np.random.default_rng(3)
    values = np.asarray(rng.normal(50, 4, (100, 5)), dtype=dtype, order=order)
    values[rng.random(values.shape) < 0.2] = np.nan
    fit = fit_standardiser(values)
    wide = values.astype(np.float64)
    np.testing.assert_allclose(fit.center, np.nanmean(wide, axis=0), rtol=1e-12)
    np.testing.assert_allclose(fit.scale, np.nanstd(wide, axis=0), rtol=1e-10)
    robust = fit_standardiser(values, scaling="robust")
    np.testing.assert_allclose(robust.center, np.nanmedian(wide, axis=0))
    width = np.nanquantile(wide, 0.75, axis=0) - np.nanquantile(wide, 0.25, axis=0)
    np.testing.assert_allclose(robust.scale, width / 1.3489795, rtol=1e-6)


def test_memory_order_does_not_change_a_bit() -> None:
    values = np.random.default_rng(0).normal(size=(1000, 3)).astype(np.float32)
    one, other = fit_standardiser(values), fit_standardiser(np.asfortranarray(values))
    np.testing.assert_array_equal(one.center, other.center)
    np.testing.assert_array_equal(one.scale, other.scale)
    turned = fit_standardiser(values[:, ::-1])
    np.testing.assert_array_equal(one.scale, turned.scale[::-1])


@given(
    hnp.arrays(
        st.sampled_from([np.float32, np.float64]),
        hnp.array_shapes(min_dims=2, max_dims=2, max_side=12),
        elements={"allow_infinity": False},
    ),
    st.sampled_from(["standard", "robust"]),
)
def test_any_numbers_give_finite_values(
    values: np.ndarray, choice: Literal["standard", "robust"]
) -> None:
    values[0] = np.nan_to_num(values[0])
    fit = fit_standardiser(values, scaling=choice)
    assert np.isfinite(fit.center).all()
    assert np.all(fit.scale > 0)
    assert np.isfinite(fit.scale).all()
    scaled = fit.apply(values)
    np.testing.assert_array_equal(np.isnan(scaled), np.isnan(values))
    assert np.nanmax(np.abs(scaled)) <= CLIP


def test_a_constant_that_moves_is_seen_and_rounding_is_not() -> None:
    still = np.full((1000, 1), 0.1) * np.array([[1.0]])
    still[::2] += 1e-17
    train = np.hstack([still, np.full((1000, 1), 0.0), np.full((1000, 1), 3e8)])
    fit = fit_standardiser(train)
    assert fit.constant == (0, 1, 2)
    np.testing.assert_allclose(fit.scale, [constant_scale(0.1), 0.01, 3e6], rtol=1e-6)
    moved = fit.apply(np.array([[0.11, 0.1, 3.3e8]]))
    np.testing.assert_allclose(moved, [[10, 10, 10]], rtol=1e-3)
    narrow = np.full((1000, 1), 16_777_217.3, np.float32)
    narrow[5] = np.nextafter(narrow[0], np.float32(np.inf))
    assert fit_standardiser(narrow).constant == (0,)


def test_a_spike_in_training_does_not_make_the_scale_tiny() -> None:
    quiet = np.zeros((100_000, 1))
    quiet[7] = 1.0
    fit = fit_standardiser(quiet)
    assert fit.nearly_constant == (0,)
    np.testing.assert_allclose(fit.scale, [0.1])
    assert fit.apply(quiet).max() <= 10.001
    # One per cent of jumps is where the rule and the plain deviation meet.
    busy = np.zeros((10_000, 1))
    busy[::100] = 1.0
    np.testing.assert_allclose(fit_standardiser(busy).scale, [0.1], rtol=0.01)
    wild = np.random.default_rng(0).normal(size=(10_000, 1))
    wild[3] = 1e6
    assert fit_standardiser(wild).nearly_constant == ()


def test_robust_scaling_withstands_outliers_and_falls_back() -> None:
    rng = np.random.default_rng(1)
    clean = rng.normal(10, 2, (5000, 1))
    dirty = clean.copy()
    dirty[:100] = 1e6
    fit = fit_standardiser(dirty, scaling="robust")
    np.testing.assert_allclose([fit.center[0], fit.scale[0]], [10, 2], rtol=0.1)
    resting = np.zeros((1000, 1))
    resting[:150, 0] = np.linspace(1, 2, 150)  # the middle half is constant, the middle 90 % not
    assert fit_standardiser(resting, scaling="robust").scale[0] > 0.1
    rare = np.zeros((1000, 1))
    rare[:6], rare[6:12] = 5.0, -5.0  # only the outermost per cents move
    assert fit_standardiser(rare, scaling="robust").scale[0] == pytest.approx(rare.std())


def test_restoring_undoes_scaling() -> None:
    fit = Standardiser(np.array([5.0, -1.0]), np.array([2.0, 0.5]))
    values = np.array([[1.0, 2.0], [3.0, 4.0]])
    np.testing.assert_allclose(fit.restore(fit.apply(values)), values)
