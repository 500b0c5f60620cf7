"""Scaling to a fixed range, learned from training rows."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

__all__ = ["Range", "fit_range"]


@dataclass(frozen=True)
class Range:
    """Per variable the offset and factor that bring training values into a range.

    Attributes
    ----------
    offset, factor : ndarray of float64, shape (d,)
        A cell x becomes ``offset + factor · x``.
    clip : tuple of two floats, or None
        Bounds for rows that leave the range.
    """

    offset: NDArray[np.float64]
    factor: NDArray[np.float64]
    clip: tuple[float, float] | None = None

    def apply(self, values: NDArray[Any]) -> NDArray[np.float32]:
        """Scale rows.

        Examples
        --------
        >>> Range(np.array([1.0]), np.array([2.0]), clip=(0, 3)).apply(np.array([[0.5], [9.0]]))
        array([[2.], [3.]], dtype=float32)
        """
        scaled = values.astype(np.float64) * self.factor + self.offset
        if self.clip is not None:
            np.clip(scaled, *self.clip, out=scaled)
        return scaled.astype(np.float32)


def fit_range(
    values: NDArray[Any],
    *,
    low: float = 0.0,
    high: float = 1.0,
    clip: tuple[float, float] | None = None,
) -> Range:
    """Learn the scaling that brings each variable's training values between two bounds.

    The smallest goes to ``low``, the largest to ``high``. A variable that never moves rests at
    ``low`` and keeps its unit.

    Examples
    --------
    >>> fit_range(np.array([[2.0, 5.0], [4.0, 5.0]]), low=-1).apply(np.array([[3.0, 6.0]]))
    array([[0., 0.]], dtype=float32)
    """
    least = values.min(axis=0).astype(np.float64)
    span = values.max(axis=0).astype(np.float64) - least
    factor = np.where(span > 0, (high - low) / np.where(span > 0, span, 1.0), 1.0)
    return Range(low - factor * least, factor, clip)
