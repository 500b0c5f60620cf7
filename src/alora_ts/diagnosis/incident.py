"""Incidents: stretches of alarm with a peak, a severity and the variables to look at."""

from __future__ import annotations

import itertools
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from alora_ts.data.windows import segment_starts

__all__ = ["Culprit", "Incident", "Origin", "find_incidents"]

Direction = Literal["above", "below"]
Severity = Literal["low", "medium", "high"]

_MEDIUM, _HIGH = 3.0, 10.0


@dataclass(frozen=True)
class Culprit:
    """One variable's part in an incident.

    Attributes
    ----------
    variable : str
    share : float
        Its part of the localization score; the shares of all variables sum to 1, of which only
        the largest are listed.
    direction : {"above", "below"}
        On which side of its expected value it was over the alarming rows.
    value, expected : float
        Both where it deviated most to that side, in the variable's own unit.
    """

    variable: str
    share: float
    direction: Direction
    value: float
    expected: float


@dataclass(frozen=True)
class Origin:
    """The variable in which an incident most likely began.

    Attributes
    ----------
    variable : str
    share : float
        Its part of the origin scores of all variables: near 1 where it stands out alone, near
        1 / d where no variable does.
    """

    variable: str
    share: float


@dataclass(frozen=True)
class Incident:
    """A stretch of rows that belong to one alarm.

    Attributes
    ----------
    start, end : int
        First row and row after the last.
    start_time, end_time : object
        Timestamps of the first and last row (row numbers where there are none).
    peak : int
        Row of the highest score.
    score : float
        The highest score: how many times the alarm level.
    severity : {"low", "medium", "high"}
        Below 3 times the alarm level, below 10 times, and above.
    culprits : tuple of Culprit
        Who deviates, largest share first.
    origin : Origin or None
        Where it most likely began, which need not be what deviates most; None where the model
        cannot tell (it was saved before this was learned).
    """

    start: int
    end: int
    start_time: Any
    end_time: Any
    peak: int
    score: float
    severity: Severity
    culprits: tuple[Culprit, ...]
    origin: Origin | None = None

    @property
    def rows(self) -> int:
        """How many rows the incident lasts."""
        return self.end - self.start


def severity_of(score: float) -> Severity:
    """Put a calibrated score into words.

    Examples
    --------
    >>> severity_of(1.2), severity_of(4.0), severity_of(50.0)
    ('low', 'medium', 'high')
    """
    if score < _MEDIUM:
        return "low"
    return "medium" if score < _HIGH else "high"


def find_incidents(
    score: NDArray[np.floating],
    *,
    merge: int,
    minimum: int,
    segments: NDArray[np.integer] | None = None,
) -> list[tuple[int, int]]:
    """Turn alarming rows (score > 1) into stretches.

    Parameters
    ----------
    score : ndarray of shape (N,)
        Calibrated.
    merge : int
        Stretches with at most so many quiet rows between them are one.
    minimum : int
        Stretches with fewer rows, after merging, are dropped.
    segments : ndarray of int, shape (N,), or None
        Stretches of different segments are never merged.

    Returns
    -------
    list of (int, int)
        Half-open row ranges, in order.

    Examples
    --------
    >>> find_incidents(np.array([0, 2, 0, 3, 0, 0, 0, 5.0]), merge=1, minimum=1)
    [(1, 4), (7, 8)]
    >>> find_incidents(np.array([0, 2, 0, 3, 0, 0, 0, 5.0]), merge=1, minimum=2)
    [(1, 4)]
    """
    n = len(score)
    starts = segment_starts(n, segments).tolist()
    found: list[tuple[int, int]] = []
    for begin, end in itertools.pairwise([*starts, n]):
        alarm = np.r_[False, score[begin:end] > 1, False]
        edges = np.flatnonzero(alarm[1:] != alarm[:-1]) + begin
        stretches: list[tuple[int, int]] = []
        for start, stop in edges.reshape(-1, 2).tolist():
            if stretches and start - stretches[-1][1] <= merge:
                stretches[-1] = (stretches[-1][0], stop)
            else:
                stretches.append((start, stop))
        found += [(start, stop) for start, stop in stretches if stop - start >= minimum]
    return found
