"""Fewer points that look the same."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from alora_ts.errors import AloraError

__all__ = ["sample_rows"]


def sample_rows(values: NDArray[np.floating], *, points: int) -> NDArray[np.int64]:
    """Choose the rows that keep the look of a line: both ends and every local extreme.

    Parameters
    ----------
    values : ndarray of shape (N,)
        The line; missing values count as their last known neighbour.
    points : int
        How many rows to keep at most.

    Returns
    -------
    ndarray of int64
        Rising row numbers; all rows when there are no more than ``points``.

    Raises
    ------
    AloraError
        When a long line needs the package tsdownsample and it is not installed.

    Examples
    --------
    >>> wave = np.zeros(10_000)
    >>> wave[4321] = 5.0
    >>> rows = sample_rows(wave, points=100)
    >>> len(rows), 4321 in rows
    (100, True)
    """
    if len(values) <= points:
        return np.arange(len(values))
    try:
        from tsdownsample import MinMaxLTTBDownsampler
    except ImportError as error:
        raise AloraError(
            "drawing long series needs the package tsdownsample; "
            "install it with: pip install 'alora-ts[plot]'"
        ) from error
    line = _fill(np.ascontiguousarray(values, dtype=np.float64))
    thin: Any = MinMaxLTTBDownsampler
    rows = thin().downsample(line, n_out=max(points, 3))
    return np.unique(rows.astype(np.int64))


def _fill(line: NDArray[np.float64]) -> NDArray[np.float64]:
    """Carry the last finite value forward, so that gaps do not hide extremes elsewhere."""
    known = np.isfinite(line)
    if known.all():
        return line
    if not known.any():
        return np.zeros_like(line)
    last = np.maximum.accumulate(np.where(known, np.arange(len(line)), -1))
    filled: NDArray[np.float64] = line[np.where(last < 0, int(np.argmax(known)), last)]
    return filled
