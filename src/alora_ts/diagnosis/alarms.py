"""Which rows alarm: the one rule that tables, streams, backtests, fleets and the service share.

A calibrated score above the *opening level* begins an alarm; it lasts until a score is not above
the *closing level*. Warm-up rows never alarm, and no alarm reaches across a gap or the border of
a segment.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

__all__ = ["LEVELS", "Alarms", "Levels"]


@dataclass(frozen=True)
class Levels:
    """The scores at which an alarm begins and ends.

    Attributes
    ----------
    opening : float
        A score above it begins an alarm.
    closing : float
        A score that is not above it ends one; at most ``opening``.
    """

    opening: float = 1.0
    closing: float = 1.0


LEVELS = Levels()
"""Those in use. Scores are calibrated so that the opening level is 1."""


class Alarms:
    """Says of each row whether it alarms, as rows come.

    Parameters
    ----------
    levels : Levels

    Attributes
    ----------
    active : bool
        Whether the last row alarmed.

    Examples
    --------
    >>> alarms = Alarms(Levels(opening=1.0, closing=0.5))
    >>> [alarms.push(score) for score in (0.8, 1.2, 0.8, 0.4, 0.8)]
    [False, True, True, False, False]
    >>> Alarms().take(np.array([3.0, 3.0]), np.array([True, False]))
    array([False,  True])
    """

    def __init__(self, levels: Levels = LEVELS) -> None:
        self._levels = levels
        self.active = False

    def push(self, score: float, *, warm_up: bool = False) -> bool:
        """Take in the next row. A gap needs no word: warm-up rows follow it."""
        level = self._levels.closing if self.active else self._levels.opening
        self.active = not warm_up and score > level
        return self.active

    def take(
        self,
        score: NDArray[np.floating],
        warm_up: NDArray[np.bool_] | None = None,
        borders: NDArray[np.bool_] | None = None,
    ) -> NDArray[np.bool_]:
        """Take in the next rows at once; gives what :meth:`push` would, one by one.

        Parameters
        ----------
        score : ndarray of shape (n,)
        warm_up : ndarray of bool, shape (n,), optional
            None: no row is.
        borders : ndarray of bool, shape (n,), optional
            Rows that begin a segment.

        Returns
        -------
        ndarray of bool, shape (n,)
        """
        opens = score > self._levels.opening
        stays = score > self._levels.closing
        if warm_up is not None:
            opens, stays = opens & ~warm_up, stays & ~warm_up
        if borders is not None:
            stays = stays & ~borders
        # Each row is as the last one that decided; between the levels none does.
        undecided = stays & ~opens
        if undecided.any():
            decided = np.where(undecided, -1, np.arange(len(opens)))
            last = np.maximum.accumulate(decided)
            opens = np.where(last < 0, self.active, opens[last])
        if len(opens):
            self.active = bool(opens[-1])
        return opens
