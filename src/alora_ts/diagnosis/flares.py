"""Another incident within a lasting one: what a pump does while the plant runs on a new set-point.

An incident that lasts would hide all that happens meanwhile. So where a score rises to three times
the highest of the last 500 alarming rows, another incident begins there. It is over once more rows
than may lie between alarms are back below that mark; then the one before goes on.
"""

from __future__ import annotations

from collections import deque

import numpy as np
from numpy.typing import NDArray

__all__ = ["Flares"]

_SETTLED = 500
_TIMES = 3.0


class Flares:
    """Says at which alarming rows of a lasting incident another begins, or the first goes on.

    Parameters
    ----------
    merge : int
        Rows below the mark that do not end what stands out.

    Examples
    --------
    >>> flares = Flares(merge=2)
    >>> score = np.full(600, 2.0)
    >>> score[520:530] = 9.0
    >>> np.flatnonzero(flares.take(score))
    array([520, 533])
    """

    def __init__(self, merge: int) -> None:
        self._merge = merge
        self.restart()

    def restart(self) -> None:
        """Begin with another incident, after quiet rows."""
        self._settled: deque[float] = deque(maxlen=_SETTLED)
        self._mark: float | None = None
        self._below = 0

    def take(self, score: NDArray[np.floating]) -> NDArray[np.bool_]:
        """Take in the next alarming rows.

        Parameters
        ----------
        score : ndarray of shape (n,)

        Returns
        -------
        ndarray of bool, shape (n,)
        """
        return np.fromiter((self._begins(one) for one in score.tolist()), bool, len(score))

    def _begins(self, score: float) -> bool:
        if self._mark is None:
            if len(self._settled) == _SETTLED and score > _TIMES * (high := max(self._settled)):
                self._mark, self._below = high, 0
                return True
            self._settled.append(score)
            return False
        if self._below > self._merge:
            self._mark = None
            self._settled.append(score)
            return True
        self._below = 0 if score > self._mark else self._below + 1
        return False
