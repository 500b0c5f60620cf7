"""Follows what is usual now, so that a system in use keeps the false incidents asked for.

A system in use is rarely quite the system of the training rows. Two things are followed, both
from rows gone by only, and both within bounds:

* **A lasting shift.** A variable that sits elsewhere since a release or a season adds a constant
  to a sum of squared errors. What the median of the last rows lies above the normal median is
  taken off every score: an incident must fill half of those rows before it counts as usual.
  Nothing is taken off where the median is normal or lower.
* **A storm.** Where a budget allows one incident in B rows, a new one has to be worse than the
  fifth worst of the last 5 B rows (clusters of rows above the level; up to ten times the level).
  In normal times there are hardly ever five; in a storm only what stands out alarms.

Old models follow the median by a factor instead (:mod:`alora_ts.scoring.drift`).
"""

from __future__ import annotations

from bisect import bisect_left, insort
from collections import deque
from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

__all__ = ["STORM", "Following"]

STORM = 5
"""How many incidents in as many budgets make a storm."""

_BEFORE = 100
_MOST = 10.0
_LEAST_PART = 0.01
_TINY = 1e-12


class Following:
    """How much of a raw score is what is usual now.

    Parameters
    ----------
    normal : sequence of float
        Evenly spaced quantiles of the raw scores of normal rows. A hundred of them stand for the
        rows before the first, so that a system which has changed since training is known soon.
    memory : int
        How many rows the median looks back on; 0 takes nothing off.
    level : float
        The raw score that alarms.
    each : float or None
        Rows from one false incident to the next that are allowed; None knows no storms.
    gap : int
        Rows above the level with at most so many others between them are one cluster.

    Attributes
    ----------
    last_shift : float
        What was taken off the last row, in times of the level.
    shifts : ndarray of shape (N,)
        The same of each row last given to :meth:`follow`.

    Examples
    --------
    >>> usual = Following((1.0, 2.0, 3.0), memory=50, level=10.0, each=None, gap=5)
    >>> parts = usual.follow(np.full(200, 30.0), np.zeros(200, dtype=bool))
    >>> (30.0 / (10.0 * parts[[0, -1]])).round(2)  # first an alarm, then usual
    array([3. , 0.2])
    """

    def __init__(
        self, normal: Sequence[float], *, memory: int, level: float, each: float | None, gap: int
    ) -> None:
        self._normal = normal
        self._memory = memory
        self._level = level
        self._span = None if each is None else STORM * each
        self._gap = gap
        self.restart()

    def restart(self) -> None:
        """Forget the rows seen."""
        before = min(_BEFORE, self._memory)
        known = np.linspace(0, 1, len(self._normal))
        filled = np.interp(np.linspace(0, 1, before + 2)[1:-1], known, self._normal)
        self._sorted: list[float] = filled.tolist()
        # The rows that stand for the past leave in an order that keeps their distribution.
        self._recent = deque(filled[np.random.default_rng(0).permutation(before)].tolist())
        self._usual = float(np.interp(0.5, known, self._normal))
        self._rows = 0
        self._last = -(10**12)
        self._peak = 0.0
        self._clusters: deque[tuple[int, float]] = deque()
        self._storm = 1.0
        self.last_shift = 0.0
        self.shifts = np.empty(0)

    @property
    def shift(self) -> float:
        """What is taken off a raw score now: from 0 to ten times the level."""
        if not self._memory:
            return 0.0
        median = self._sorted[len(self._sorted) // 2]
        return min(max(median - self._usual, 0.0), _MOST * self._level)

    def step(self, raw: float, early: bool = False) -> float:
        """By how much a row's score stands below raw / level, and take the row in.

        Warm-up rows (``early``) are judged like the others and remembered by no one.
        """
        shift = self.shift
        self.last_shift = shift / self._level
        own = max(raw - shift, _LEAST_PART * raw)
        if not early:
            self._storm_of(own / self._level)
            self._remember(raw)
        return self._storm * (raw / own if own > _TINY else 1.0)

    def follow(
        self, scores: NDArray[np.floating], warm_up: NDArray[np.bool_]
    ) -> NDArray[np.float64]:
        """:meth:`step` of each row, (N,)."""
        parts = np.empty(len(scores))
        self.shifts = np.empty(len(scores))
        rows = zip(scores.tolist(), warm_up.tolist(), strict=True)
        for at, (raw, early) in enumerate(rows):
            parts[at] = self.step(raw, early)
            self.shifts[at] = self.last_shift
        return parts

    def _storm_of(self, score: float) -> None:
        """Note a row in its cluster; a cluster that begins learns how bad the last ones were."""
        at = self._rows
        self._rows += 1
        if self._span is None or score <= 1:
            return
        if at - self._last > self._gap + 1:
            if self._peak > 0:
                self._clusters.append((self._last, self._peak))
            while self._clusters and self._clusters[0][0] < at - self._span:
                self._clusters.popleft()
            worst = sorted((peak for _, peak in self._clusters), reverse=True)
            self._storm = min(worst[STORM - 1], _MOST) if len(worst) >= STORM else 1.0
            self._peak = score
        else:
            self._peak = max(self._peak, score)
        self._last = at

    def _remember(self, raw: float) -> None:
        if not self._memory:
            return
        if len(self._sorted) >= self._memory:
            oldest = self._recent.popleft()
            del self._sorted[bisect_left(self._sorted, oldest)]
        insort(self._sorted, raw)
        self._recent.append(raw)
