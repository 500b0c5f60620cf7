"""Localization scores as shares that sum to one."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

__all__ = ["shares"]


def shares(localization: NDArray[np.floating]) -> NDArray[np.float64]:
    """Divide localization scores by their sum; negative ones count as 0.

    Parameters
    ----------
    localization : ndarray of shape (..., d)

    Returns
    -------
    ndarray of shape (..., d)
        Sums to 1 along the last axis; equal shares where no score is positive.

    Examples
    --------
    >>> shares(np.array([3.0, 1.0, -2.0]))
    array([0.75, 0.25, 0.  ])
    >>> shares(np.zeros(4))
    array([0.25, 0.25, 0.25, 0.25])
    """
    positive = np.maximum(np.asarray(localization, dtype=np.float64), 0.0)
    total = positive.sum(-1, keepdims=True)
    result: NDArray[np.float64] = np.full_like(positive, 1 / positive.shape[-1])
    np.divide(positive, total, out=result, where=total > 0)
    return result
