"""Missing cells of rows that come one by one: each variable holds its last value."""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np
from numpy.typing import NDArray

__all__ = ["RowHold"]


class RowHold:
    """Fills rows in order of time, as :func:`alora_ts.data.fill.hold` fills a table.

    Parameters
    ----------
    usual : ndarray of shape (d,)
        What a variable is given before it has had a value.

    Attributes
    ----------
    last : ndarray of shape (d,) or None
        The last row as it was filled; None at the start and after a gap. Never changed in place,
        so whoever keeps it can go back to it.

    Examples
    --------
    >>> hold = RowHold(np.array([0.5, 9.0]))
    >>> hold.fill(np.array([np.nan, 1.0]))
    array([0.5, 1. ])
    >>> hold.fill(np.array([2.0, np.nan]))
    array([2., 1.])
    """

    def __init__(self, usual: NDArray[np.float64]) -> None:
        self._usual = usual
        self.last: NDArray[np.float64] | None = None

    def restart(self) -> None:
        """Forget what was before: nothing is held across a gap."""
        self.last = None

    def fill(self, row: NDArray[np.float64]) -> NDArray[np.float64]:
        """The row with a value in every cell; itself where nothing is missing."""
        if np.isnan(row).any():
            row = _complete(row, self._usual if self.last is None else self.last)
        self.last = row
        return row

    @staticmethod
    def recall(
        row: NDArray[np.float64], earlier: Iterable[NDArray[np.float64]]
    ) -> NDArray[np.float64]:
        """A row filled from those before it, the latest first; only as many as needed are read.

        Examples
        --------
        >>> before = iter([np.array([np.nan, 4.0]), np.array([3.0, 5.0])])
        >>> RowHold.recall(np.array([np.nan, np.nan]), before)
        array([3., 4.])
        """
        before = iter(earlier)
        while np.isnan(row).any():
            known = next(before, None)
            if known is None:
                break
            row = _complete(row, known)
        return row


def _complete(row: NDArray[np.float64], known: NDArray[np.float64]) -> NDArray[np.float64]:
    return np.where(np.isnan(row), known, row)
