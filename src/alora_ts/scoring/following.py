"""Follows what is usual now, so that a system in use keeps the false incidents asked for.

A system in use is rarely quite the system of the training rows. Four things are followed,
from rows gone by only and within bounds:

* **A lasting shift.** A variable that sits elsewhere since a release or a season adds a constant
  to a sum of squared errors. What the median of the last rows lies above the normal median is
  taken off every score: an incident must fill half of those rows before it counts as usual.
  Nothing is taken off where the median is normal or lower.
* **What is new.** The novelty of a row (:mod:`alora_ts.scoring.novelty`) raises its score. It is
  followed in the same way, for itself: what its median lies above the normal one is taken off
  first.
* **A change of the system.** An incident so long that what is usual rose during it was a change
  (:mod:`alora_ts.scoring.change`). From its end on, rows are measured by those since it began, by
  their level and by how widely they spread, until the system goes back.
* **A storm.** Where a budget allows one incident in B rows, a new one has to be worse than the
  fifth worst of the last 7.5 B rows (clusters of rows above the level; up to ten times the level).
  In normal times there are hardly ever five; in a storm only what stands out alarms. The others
  are held between 0.9 and 1, in their order: above all that is normal, below all that alarms.

Old models follow the median by a factor instead (:mod:`alora_ts.scoring.drift`).
"""

from __future__ import annotations

from collections import deque
from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from alora_ts.scoring.change import Change
from alora_ts.scoring.median import RunningMedian
from alora_ts.scoring.novelty import weigh
from alora_ts.scoring.pauses import longest_pause

__all__ = ["STORM_BUDGETS", "Following"]

STORM_BUDGETS = 7.5
"""How many budgets of rows a storm looks back on."""

_STORM = 5

_HELD = 0.9

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
        Rows above the level with at most so many others between them are one cluster; more where
        many of them alarm (:func:`~alora_ts.scoring.pauses.longest_pause`).
    novelty : sequence of float or None
        Evenly spaced quantiles of the novelty of normal rows; None where rows have none.

    Attributes
    ----------
    last_shift : float
        What was taken off the last row, in times of the level.
    last_spread : float or None
        How many times wider than normal the scores spread by which the last row was measured,
        since a change of the system; None without one.
    shifts : ndarray of shape (N,)
        ``last_shift`` of each row last given to :meth:`follow`.

    Examples
    --------
    >>> usual = Following((1.0, 2.0, 3.0), memory=50, level=10.0, each=None, gap=5)
    >>> parts = usual.follow(np.full(200, 30.0), np.zeros(200, dtype=bool))
    >>> (30.0 / (10.0 * parts[[0, -1]])).round(2)  # first an alarm, then usual
    array([3. , 0.2])
    """

    def __init__(
        self,
        normal: Sequence[float],
        *,
        memory: int,
        level: float,
        each: float | None,
        gap: int,
        novelty: Sequence[float] | None = None,
    ) -> None:
        self._normal = normal
        self._new = novelty
        self._memory = memory
        self._level = level
        self._span = None if each is None else STORM_BUDGETS * each
        self._gap = gap
        self.restart()

    def restart(self) -> None:
        """Forget the rows seen."""
        self._begin()
        self._rows = 0
        self._last = -(10**12)
        self._alarming = 0
        self._peak = 0.0
        self._clusters: deque[tuple[int, float]] = deque()
        self._storm = 1.0
        self.last_shift = 0.0
        self.last_spread: float | None = None
        self.shifts = np.empty(0)

    def recall(self, spread: float | None) -> None:
        """The last row's ``last_spread``, where the rows before it were not all seen."""
        if spread is not None and self.last_spread is None:
            self._declare([], spread=spread)
        elif spread is None and self.last_spread is not None:
            self._begin()

    def _begin(self) -> None:
        """Begin with normal rows."""
        self._scores = RunningMedian(self._normal, memory=self._memory, before=_BEFORE)
        self._novelties = RunningMedian(self._new or (0.0,), memory=self._memory, before=_BEFORE)
        # Raw score and novelty, for the day on which they are measured anew.
        self._recent: deque[tuple[float, float]] = deque(maxlen=self._memory)
        self._change = Change(self._normal, memory=self._memory, level=self._level)

    @property
    def shift(self) -> float:
        """What is taken off a raw score now: from 0 to ten times the level."""
        lasting = self._scores.now - self._scores.usual
        return min(max(lasting, 0.0), _MOST * self._level * (self._change.spread or 1.0))

    def step(self, raw: float, early: bool = False, novelty: float = 0.0) -> float:
        """By how much a row's score stands below raw / level, and take the row in.

        Warm-up rows (``early``) are judged like the others and remembered by no one.
        """
        if not early:
            self._look_back()
        seen = self._seen(raw, novelty)
        shift = self.shift
        self.last_shift, self.last_spread = shift / self._level, self._change.spread
        own = max(seen - shift, _LEAST_PART * seen) / (self._change.spread or 1.0)
        if not early:
            self._storm_of(own / self._level)
            self._scores.push(seen)
            self._novelties.push(novelty)
            self._recent.append((raw, novelty))
            if self._change.over(self._scores, seen):
                self._begin()
        score = self._held(own / self._level)
        return raw / (self._level * score) if score > _TINY else 1.0

    def _held(self, score: float) -> float:
        """A score of this row; where it does not outdo a storm, no more than 1."""
        if self._storm == 1.0 or not _HELD < score <= self._storm:
            return score
        return _HELD + (1 - _HELD) * (score - _HELD) / (self._storm - _HELD)

    def _seen(self, raw: float, novelty: float) -> float:
        """A raw score with what is new in its row."""
        if self._new is None:
            return raw
        lasting = max(self._novelties.now - self._novelties.usual, 0.0)
        return raw * weigh(novelty - lasting)

    def follow(
        self,
        scores: NDArray[np.floating],
        warm_up: NDArray[np.bool_],
        novelty: NDArray[np.floating] | None = None,
    ) -> NDArray[np.float64]:
        """:meth:`step` of each row, (N,)."""
        parts = np.empty(len(scores))
        self.shifts = np.empty(len(scores))
        new = np.zeros(len(scores)) if novelty is None else novelty
        rows = zip(scores.tolist(), warm_up.tolist(), new.tolist(), strict=True)
        for at, (raw, early, one) in enumerate(rows):
            parts[at] = self.step(raw, early, one)
            self.shifts[at] = self.last_shift
        return parts

    @property
    def _pause(self) -> int:
        """Rows that are not above the level and do not end the last cluster."""
        return longest_pause(self._gap, self._alarming)

    def _look_back(self) -> None:
        """Where a cluster pauses or has come to its end, see whether it was a change."""
        if not self._memory or self._rows - self._last != self._gap + 1:
            return
        since = list(self._recent)[self._first - self._rows :]
        if not since:  # the system went back with the cluster's last row
            return
        ending = [self._seen(*one) for one in since[-max(self._gap, 1) :]]
        lasted = self._last + 1 - self._first
        ended = sum(ending) / len(ending) - self._shift_then
        if self._change.was(lasted, len(self._scores), ended):
            self._declare(since)

    def _declare(
        self, since: Sequence[tuple[float, float]], *, spread: float | None = None
    ) -> None:
        """Measure rows by those ``since`` a change began: raw scores and novelties."""
        self._novelties.renew(novelty for _, novelty in since)
        seen = [self._seen(*one) for one in since]
        self._scores.renew(seen)
        self._change.declare(seen, spread=spread)

    def _storm_of(self, score: float) -> None:
        """Note a row in its cluster; a cluster that begins learns how bad the last ones were."""
        at = self._rows
        self._rows += 1
        if score <= 1:
            return
        if at - self._last > self._pause + 1:
            self._first, self._shift_then, self._alarming = at, self.shift, 0
            if self._span is not None:
                if self._peak > 0:
                    self._clusters.append((self._last, self._peak))
                while self._clusters and self._clusters[0][0] < at - self._span:
                    self._clusters.popleft()
                worst = sorted((peak for _, peak in self._clusters), reverse=True)
                self._storm = min(worst[_STORM - 1], _MOST) if len(worst) >= _STORM else 1.0
            self._peak = score
        else:
            self._peak = max(self._peak, score)
        self._last = at
        self._alarming += self._held(score) > 1
