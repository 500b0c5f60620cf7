"""Follows the slow drift of a score's level, so that alarms keep the rate that was asked for.

A system in use is rarely quite the system of the training data: after a release, a season, a
repair, every score is a little higher, and a fixed threshold alarms at many times the rate it was
set for. An anomaly lifts the scores of its own rows; drift lifts all of them, the lowest included.
So the level that is followed is the median score of the last rows: an incident must fill half of
them before it moves. The threshold rises with the level, by a factor of ten at most: what
lifts half of all rows further is not drift. It never falls below its calibrated value.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from alora_ts.scoring.median import RunningMedian

__all__ = ["Level", "summarise"]

_SUMMARY = 101
_TINY = 1e-12
_MOST = 10.0


def summarise(scores: NDArray[np.floating]) -> tuple[float, ...]:
    """Evenly spaced quantiles of normal scores, for :class:`Level` to begin with.

    Examples
    --------
    >>> summarise(np.arange(201.0))[:3]
    (0.0, 2.0, 4.0)
    """
    return tuple(np.quantile(scores, np.linspace(0, 1, _SUMMARY)).tolist())


class Level:
    """How much higher scores have been lately than on normal data.

    Parameters
    ----------
    normal : sequence of float
        Quantiles of the scores of normal rows, as :func:`summarise` gives them. They stand for
        the rows before the first.
    memory : int
        How many rows are looked back on; 0 follows nothing.

    Examples
    --------
    >>> level = Level(summarise(np.linspace(1, 2, 50)), memory=10)
    >>> factors = level.follow(np.full(30, 3.0), np.zeros(30, dtype=bool))
    >>> round(float(factors[-1]), 2)  # half of the normal rows lie below 1.55
    1.94
    """

    def __init__(self, normal: Sequence[float], *, memory: int) -> None:
        self._normal = normal
        self._memory = memory
        self.restart()

    def restart(self) -> None:
        """Forget the rows seen."""
        # Nothing is ever taken off: this one multiplies.
        self.last_shift = 0.0
        self.last_spread: float | None = None
        self.shifts = np.empty(0)
        self._scores = RunningMedian(self._normal, memory=self._memory, before=self._memory)
        self._usual = max(self._scores.now, _TINY)

    @property
    def factor(self) -> float:
        """The factor by which the threshold is raised: from 1 to 10."""
        if self._memory == 0:
            return 1.0
        return min(max(1.0, self._scores.now / self._usual), _MOST)

    def step(self, raw: float, early: bool = False, novelty: float = 0.0) -> float:  # noqa: ARG002
        """:attr:`factor` before a row, and take the row in; models as old have no novelty."""
        factor = self.factor
        if not early:
            self.push(raw)
        return factor

    def recall(self, spread: float | None) -> None:
        """Models as old know no changes of the system."""

    def push(self, score: float) -> None:
        """Take one more row's raw score in and let the oldest go."""
        self._scores.push(score)

    def follow(
        self,
        scores: NDArray[np.floating],
        warm_up: NDArray[np.bool_],
        novelty: NDArray[np.floating] | None = None,  # noqa: ARG002
    ) -> NDArray[np.float64]:
        """The factor of each row, as it was before the row came, (N,).

        Warm-up rows get a factor too, but do not enter the memory.
        """
        factors = np.ones(len(scores))
        self.shifts = np.zeros(len(scores))
        if self._memory == 0:
            return factors
        for at, (score, early) in enumerate(zip(scores.tolist(), warm_up.tolist(), strict=True)):
            factors[at] = self.factor
            if not early:
                self.push(score)
        return factors
