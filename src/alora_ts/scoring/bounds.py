"""A fourth witness: a signal that stays far beyond everything training showed.

A score sums over all signals, and after a short training its alarm level has to be high. Then one
signal may stand tens of deviations outside its range for hours, and the sum hardly tell. A person
who looks at that signal needs no sum. So each is asked alone: how many of its deviations beyond
the smallest or largest value of training has it been, at the least, over the last three rows? Up
to four that says nothing. Eight alarm by themselves.

A deviation is the upper limit of what the standard deviation may be
(:mod:`alora_ts.diagnosis.usual`). A signal that gave fewer than ten independent observations in
training has shown no range to leave, and is not asked.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from alora_ts.data.windows import segment_ages

__all__ = ["BOUND_ROWS", "Bounds", "Held"]

BOUND_ROWS = 3
"""A lone spike is not held: that it is far out says little of the next row."""

_FEWEST = 10
_SILENT, _ALARM = 4.0, 8.0
_MOST = 10.0  # times the alarm level, the most that is ever taken off as usual
_ROWS_AT_ONCE = 4096


@dataclass(frozen=True, eq=False)
class Bounds:
    """Values beyond which a signal begins to speak for itself, in scaled units.

    Attributes
    ----------
    floor, ceiling : ndarray of shape (d,)
        Infinite for a signal that is not asked.
    step : ndarray of shape (d,)
        How much further it has to go for an alarm.
    """

    floor: NDArray[np.float64]
    ceiling: NDArray[np.float64]
    step: NDArray[np.float64]

    @classmethod
    def around(
        cls,
        low: NDArray[np.float64],
        high: NDArray[np.float64],
        deviation: NDArray[np.float64],
        observed: NDArray[np.float64],
    ) -> Bounds:
        """Around the smallest and largest values of training, all of shape (d,)."""
        asked = (observed >= _FEWEST) & np.isfinite(low + high + deviation) & (deviation > 0)
        away = np.where(asked, deviation, 1.0)
        return cls(
            np.where(asked, low - _SILENT * away, -np.inf),
            np.where(asked, high + _SILENT * away, np.inf),
            (_ALARM - _SILENT) * away,
        )

    def each(self, rows: NDArray[np.floating]) -> NDArray[np.float64]:
        """What every signal says at every row, (n, d), in times of the alarm level.

        Examples
        --------
        >>> bounds = Bounds.around(*np.array([[-3.0], [3.0], [1.0], [50.0]]))
        >>> bounds.each(np.array([[3.0], [7.0], [11.0], [-13.0], [1e9]])).ravel()
        array([ 0. ,  0. ,  1. ,  1.5, 10. ])
        """
        gone = np.maximum(rows - self.ceiling, self.floor - rows)
        gone /= self.step
        found: NDArray[np.float64] = np.clip(gone, 0.0, _MOST, out=gone)
        return found

    def of(
        self, rows: NDArray[np.floating], segments: NDArray[np.integer] | None
    ) -> NDArray[np.float64]:
        """What the signal that says most has said for three rows, (n,).

        Parameters
        ----------
        rows : ndarray of shape (n, d)
            Scaled, without the limit of what the network sees.
        segments : ndarray of int, shape (n,), or None
            Three rows of one segment.
        """
        n = len(rows)
        found = np.zeros(n)
        ages = segment_ages(n, segments)
        for first in range(0, n, _ROWS_AT_ONCE):
            begin = max(first - BOUND_ROWS + 1, 0)
            part = rows[begin : first + _ROWS_AT_ONCE]
            if not ((part < self.floor) | (part > self.ceiling)).any():
                continue
            least = said = self.each(part)
            for back in range(1, BOUND_ROWS):
                least = np.minimum(least[1:], said[: len(said) - back])
            # The first rows of all have too few before them.
            ends = np.arange(begin + BOUND_ROWS - 1, begin + len(part))
            held = ages[ends] >= BOUND_ROWS - 1
            found[ends[held]] = least.max(1)[held]
        return found


class Held:
    """:meth:`Bounds.of` a stream, row by row.

    Parameters
    ----------
    bounds : Bounds

    Attributes
    ----------
    rows : ndarray of shape (3, d)
        What the signals said at the last rows of a segment, the newest last.
    """

    def __init__(self, bounds: Bounds) -> None:
        self._bounds = bounds
        self.rows = np.zeros((BOUND_ROWS, len(bounds.step)))

    def push(self, row: NDArray[np.floating], *, anew: bool) -> float:
        """Take in a row; ``anew`` where it follows a gap."""
        if anew:
            self.rows[:] = 0.0
        self.rows[:-1] = self.rows[1:]
        self.rows[-1] = self._bounds.each(row)
        return float(self.rows.min(0).max())
