"""Slow twins of D3R's offset and rolling median."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray


def offset(data: NDArray[np.float64], stable: NDArray[np.float64], reach: int) -> list[float]:
    """Of one window (T, D), the mean signed residual of smallest magnitude per variable."""
    steps, variables = data.shape
    means = []
    for i in range(variables):
        total = 0.0
        for t in range(steps):
            residuals = [
                data[t, i] - stable[min(max(t + k, 0), steps - 1), i]
                for k in range(-reach, reach + 1)
            ]
            total += min(residuals, key=abs)
        means.append(total / steps)
    return means


def rolling_median(values: NDArray[np.float64], window: int) -> NDArray[np.float64]:
    count = len(values) - window + 1
    return np.array([np.median(values[i : i + window], axis=0) for i in range(count)])
