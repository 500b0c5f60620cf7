"""Runs of True in a boolean series: the events of a label, the episodes of an alarm."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

__all__ = ["runs"]


def runs(mask: NDArray[np.bool_]) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """First row of each run of True, and the row after its last.

    Parameters
    ----------
    mask : ndarray of bool, shape (n,)
        The series.

    Returns
    -------
    starts, ends : ndarray of int64, shape (m,)
        Run ``i`` is ``mask[starts[i]:ends[i]]``.

    Examples
    --------
    >>> starts, ends = runs(np.array([True, False, True, True]))
    >>> starts.tolist(), ends.tolist()
    ([0, 2], [1, 4])
    """
    padded = np.zeros(mask.size + 2, dtype=np.int8)
    padded[1:-1] = mask
    steps = np.diff(padded)
    return np.flatnonzero(steps == 1).astype(np.int64), np.flatnonzero(steps == -1).astype(np.int64)
