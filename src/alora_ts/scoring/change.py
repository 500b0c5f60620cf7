"""Tells a change of the system from a long incident, and what scores are like since.

An incident was a change when it makes up two fifths of the rows remembered (and lasted 1,000 rows,
where 10,000 are) and ended only because it counts as usual by now: the rows that ended it would
alarm by what was usual when it began. Scores
of the new state do not only lie higher, they also spread wider, so both are measured by the rows
since the change began: their level as they come, their spread once, so that no later incident
widens it. The system has gone back when a hundred rows in a row are unusually low
for the new state.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from alora_ts.scoring.median import RunningMedian

__all__ = ["Change"]

_LASTED = 0.1
_FILLS = 0.4
_MOST = 100.0
"""How much wider than normal rows those of a new state may spread and still be followed."""

_LOW = 0.1
_BACK = 100
_TINY = 1e-12


class Change:
    """A change of the system, if there was one.

    Parameters
    ----------
    normal : sequence of float
        Evenly spaced quantiles of the raw scores of normal rows.
    memory : int
        How many rows are remembered.
    level : float
        The raw score that alarms.

    Attributes
    ----------
    spread : float or None
        How many times wider than those of normal rows scores spread since a change; None without
        one.

    Examples
    --------
    >>> change = Change((1.0, 2.0, 3.0), memory=50, level=10.0)
    >>> change.was(20, remembered=50, ending=30.0), change.was(9, remembered=50, ending=30.0)
    (True, False)
    >>> change.declare([36.0, 40.0, 44.0, 48.0, 52.0])
    >>> change.spread
    8.0
    """

    def __init__(self, normal: Sequence[float], *, memory: int, level: float) -> None:
        known = np.linspace(0, 1, len(normal))
        middle, high = np.interp([0.5, 0.75], known, normal)
        self._usual = max(float(high - middle), _TINY)
        self._memory = memory
        self._level = level
        self._low = 0
        self.spread: float | None = None

    def was(self, lasted: int, remembered: int, ending: float) -> bool:
        """Whether an incident was a change.

        Parameters
        ----------
        lasted : int
            Its rows.
        remembered : int
            All rows that are remembered by now.
        ending : float
            Score of the rows that ended it, by what was usual when it began.
        """
        enough = max(_LASTED * self._memory, _FILLS * remembered)
        return lasted >= enough and ending > self._level

    def declare(self, since: Sequence[float], *, spread: float | None = None) -> None:
        """Scores ``since`` the change began tell its spread, where it is not known."""
        self._low = 0
        if spread is None:
            middle, high = np.quantile(since, [0.5, 0.75])
            spread = min(max(float(high - middle) / self._usual, 1.0), _MOST)
        self.spread = spread

    def over(self, scores: RunningMedian, score: float) -> bool:
        """Take in a row's score; whether the system has gone back."""
        if self.spread is None:
            return False
        self._low = self._low + 1 if score < scores.quantile(_LOW) else 0
        return self._low >= _BACK
