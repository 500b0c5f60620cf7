"""Alarm levels in incidents: peaks of normal scores, one a cluster, and the tail they follow.

A person counts incidents, not rows. Rows above a level that lie close together are one incident,
so what a level costs is told by the highest score of each cluster. The logarithms of the highest
peaks fall off about exponentially, also where scores differ by orders of magnitude, and that
tail is followed to rates which the normal rows are too few to show.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from alora_ts.errors import AloraError

__all__ = ["Tail", "find_peaks", "fit_tail"]

_HIGHEST = 20
_USUAL_SLOPE = 0.9
"""What the slope is like in other systems; it stands in for peaks that are missing."""

_LEAST_SLOPE = math.log(1.1)
_SUPPORTED = 10.0
"""How many times as many rows as were looked at a rate may be extrapolated to."""

_TINY = 1e-12
_NINETY = 1.645


def find_peaks(
    scores: NDArray[np.floating], blocks: NDArray[np.integer] | None, *, gap: int
) -> NDArray[np.float64]:
    """The peaks of scores that stand for an incident each, highest first.

    The highest score is a peak and takes with it all scores within ``gap`` rows, then the highest
    of those that are left, and so on.

    Parameters
    ----------
    scores : ndarray of shape (n,)
    blocks : ndarray of int, shape (n,), or None
        Scores of different blocks are no neighbours.
    gap : int

    Examples
    --------
    >>> find_peaks(np.array([1.0, 5.0, 4.0, 0.0, 3.0]), None, gap=1)
    array([5., 3.])
    """
    n = len(scores)
    block = np.zeros(n, dtype=np.int64) if blocks is None else np.asarray(blocks)
    begins = np.flatnonzero(np.r_[True, block[1:] != block[:-1]]) if n else np.empty(0, np.intp)
    ends = np.r_[begins[1:], n]
    of_row = np.repeat(np.arange(len(begins)), ends - begins)
    taken = np.zeros(n, dtype=bool)
    found = []
    for at in np.argsort(-np.asarray(scores, dtype=np.float64), kind="stable").tolist():
        if taken[at]:
            continue
        found.append(float(scores[at]))
        own = of_row[at]
        taken[max(at - gap, begins[own]) : min(at + gap + 1, ends[own])] = True
    return np.array(found)


@dataclass(frozen=True)
class Tail:
    """How often normal rows show a peak above a level.

    Attributes
    ----------
    start, slope : float
        Above exp(start), the logarithm of a peak exceeds start by an exponential amount with this
        mean.
    peaks : int
        How many peaks lie above exp(start).
    rows : int
        The normal rows they were found in.
    """

    start: float
    slope: float
    peaks: int
    rows: int

    def level(self, each: float) -> float:
        """The level that a peak exceeds once in so many rows."""
        expected = self.rows / each
        beyond = max(math.log(self.peaks / expected), 0.0) if expected > 0 else 0.0
        return math.exp(self.start + self.slope * beyond)

    def return_rows(self, level: float) -> float:
        """Rows from one peak above a level to the next, at most ten times the rows looked at."""
        beyond = (math.log(max(level, _TINY)) - self.start) / self.slope
        each = self.rows / self.peaks * math.exp(min(max(beyond, 0.0), 50.0))
        return min(each, self.longest)

    @property
    def longest(self) -> float:
        """The longest return period these rows support."""
        return _SUPPORTED * self.rows

    def interval(self, each: float) -> tuple[float, float]:
        """Rows from one peak to the next that the level for ``each`` may really have (90 %).

        The mean of ``peaks`` exponential amounts is known to one part in their square root.
        """
        beyond = max(math.log(self.peaks * each / self.rows), 0.0)
        unsure = _NINETY / math.sqrt(self.peaks)
        # Of the slope, which counts the further it is followed, and of the number of peaks.
        factor = math.exp(math.hypot(beyond * unsure, unsure))
        return each / factor, each * factor


def fit_tail(
    scores: NDArray[np.floating], blocks: NDArray[np.integer] | None = None, *, gap: int
) -> tuple[Tail, int]:
    """Fit the tail of the peaks of normal scores.

    Parameters
    ----------
    scores : ndarray of shape (n,)
        Raw scores of normal rows that the detector was not fitted on.
    blocks : ndarray of int, shape (n,), or None
        See :func:`find_peaks`.
    gap : int
        Rows that incidents are apart at least.

    Returns
    -------
    tail : Tail
    peaks : int
        How many peaks there are in all.

    Notes
    -----
    The slope is the mean excess of the 20 highest log peaks, Hill's estimate. More peaks and a
    second parameter for the shape were measured and were no better. Where there are fewer than 40
    peaks only half of them count, and each that is missing to 20 counts as one of usual size: what
    a hundred rows show of their own tail says nothing about its further course (measured in
    docs/quality-alarms.md).

    Examples
    --------
    >>> scores = np.exp(np.random.default_rng(0).exponential(size=20_000))
    >>> tail, _ = fit_tail(scores, gap=0)
    >>> bool(7 < np.log(tail.level(2000.0)) < 8.3)  # the true value is ln(2,000) = 7.6
    True
    """
    if len(scores) == 0 or not np.isfinite(scores).all():
        raise AloraError("an alarm level needs at least one normal score, and only finite ones")
    high = np.log(np.maximum(find_peaks(scores, blocks, gap=gap), _TINY))
    count = max(min(_HIGHEST, len(high) // 2), 1)
    start = float(high[min(count, len(high) - 1)])
    excess = float((high[:count] - start).sum()) + (_HIGHEST - count) * _USUAL_SLOPE
    # Peaks may all be alike.
    slope = max(excess / _HIGHEST, _LEAST_SLOPE)
    return Tail(start, slope, count, len(scores)), len(high)
