"""TSB-AD's window: equal to the slow rule, and to the reference on series whose period is known."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from numpy.typing import NDArray

from alora_ts.datasets import load
from alora_ts.errors import DataError
from alora_ts.metrics import period_window
from tests.metrics.naive_metrics import naive_period_window

# What TSB-AD's own function (statsmodels' autocorrelation) gives for the first variable.
REFERENCE = {
    ("MSL", "D-14"): 181,
    ("MSL", "F-4"): 228,
    ("MSL", "F-7"): 9,
    ("MSL", "M-5"): 15,
    ("MSL", "P-11"): 40,
    ("MSL", "P-14"): 125,
    ("SMD", "machine-1-2"): 30,
    ("SMD", "machine-1-5"): 10,
    ("SMD", "machine-1-7"): 64,
}


def drawn(seed: int) -> NDArray[np.float64]:
    rng = np.random.default_rng(seed)
    rows = int(rng.integers(1, 700))
    wave = np.sin(np.arange(rows) * 2 * np.pi / int(rng.integers(2, 350)))
    return wave * rng.integers(0, 2) + rng.normal(size=rows) * rng.choice([0.05, 0.5])


@pytest.mark.parametrize("seed", range(30))
def test_equals_the_slow_rule(seed: int) -> None:
    assert period_window(drawn(seed)) == naive_period_window(drawn(seed).tolist())


@pytest.mark.parametrize("rows", [1, 2, 3, 4, 5, 6])
def test_short_and_constant_series_have_the_usual_window(rows: int) -> None:
    assert period_window(np.full(rows, 3.0)) == 125
    assert period_window(np.arange(rows)) == naive_period_window(range(rows))


def test_bounds_and_length() -> None:
    rows = np.arange(3000)
    assert period_window(np.sin(rows * 2 * np.pi / 303)) == 303
    assert period_window(np.sin(rows * 2 * np.pi / 310)) == 125
    late = np.r_[np.sin(np.arange(20_000) * 2 * np.pi / 50), np.sin(np.arange(60_000) / 3)]
    assert period_window(late) == 50


def test_refuses_what_is_not_finite() -> None:
    with pytest.raises(DataError, match="values must be finite, but row 1"):
        period_window([0.0, float("nan")])


@pytest.mark.parametrize("place", REFERENCE)
def test_equals_the_reference(real_data: Path, place: tuple[str, str]) -> None:
    dataset, entity = place
    assert period_window(load(dataset, real_data, entity).test[:, 0]) == REFERENCE[place]
