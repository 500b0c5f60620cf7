"""Rows with held values, kept now and then, so that no search goes far back."""

from __future__ import annotations

import bisect

import numpy as np
from numpy.typing import NDArray

__all__ = ["HeldRows"]

_EVERY = 1000
_MOST = 64


class HeldRows:
    """What a source's variables held at some times.

    A variable that stopped coming holds its last value, however old. Whoever begins again in the
    midst of the rows needs it, and would have to search back to where it stopped.

    Examples
    --------
    >>> held = HeldRows()
    >>> held.note(5, np.array([1.0, 2.0]), rows=1000)
    >>> held.before(9)
    (5, array([1., 2.]))
    >>> held.forget_from(5)
    >>> held.before(9) is None
    True
    """

    def __init__(self) -> None:
        self._times: list[int] = []
        self._rows: list[NDArray[np.float64]] = []
        self._since = _EVERY

    def note(self, time: int, row: NDArray[np.float64], *, rows: int) -> None:
        """Keep the row of a time, filled, if many came since the last that was kept.

        Parameters
        ----------
        time : int
            After all that are kept.
        row : ndarray of shape (d,)
        rows : int
            How many came since the last call.
        """
        self._since += rows
        if self._since < _EVERY:
            return
        self._since = 0
        self._times.append(time)
        self._rows.append(row)
        if len(self._times) > _MOST:
            # Late rows are mostly recent: among the older ones every second is enough.
            del self._times[1 : _MOST // 2 : 2], self._rows[1 : _MOST // 2 : 2]

    def before(self, time: int) -> tuple[int, NDArray[np.float64]] | None:
        """The last row kept from before a time."""
        place = bisect.bisect_left(self._times, time) - 1
        return None if place < 0 else (self._times[place], self._rows[place])

    def forget_from(self, time: int) -> None:
        """Drop what is no longer true because rows came in at ``time`` or after."""
        place = bisect.bisect_left(self._times, time)
        if place < len(self._times):
            del self._times[place:], self._rows[place:]
            self._since = _EVERY
