"""When each signal left normal, and which did so first."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

__all__ = ["Arrival", "arrivals"]

_OUTSIDE = 3.0
_INSIDE = 1.5
"""Deviations at which a signal is surely away, and below which it is still normal."""


@dataclass(frozen=True)
class Arrival:
    """The moment at which an incident reached a signal.

    Attributes
    ----------
    variable : str
    direction : {"above", "below"}
        On which side of normal it was then.
    time : object
        The first row that was surely away from normal.
    earliest : object or None
        The first row after it was last seen normal: the moment lies between the two. None where
        it was away already in the first row known.
    """

    variable: str
    direction: Literal["above", "below"]
    time: Any
    earliest: Any


def arrivals(
    deviation: NDArray[np.floating],
    times: NDArray[Any],
    variables: Iterable[tuple[int, str]],
) -> tuple[Arrival, ...]:
    """When some signals left normal, in order of time.

    Parameters
    ----------
    deviation : ndarray of shape (n, d)
        In deviations, signed; rows in order of time.
    times : ndarray of shape (n,)
    variables : iterable of (int, str)
        Columns and names of the signals to look at.

    Returns
    -------
    tuple of Arrival
        Signals that never left normal for two rows running (or in the last) are left out. Of two
        at the same row the larger deviation comes first.

    Examples
    --------
    >>> course = np.array([[0.1, 0.2], [2.0, 0.3], [4.0, -0.2], [5.0, -6.0], [5.0, -6.0]])
    >>> [(one.variable, one.direction, int(one.time), int(one.earliest))
    ...  for one in arrivals(course, np.arange(10, 15), [(0, "pump"), (1, "level")])]
    [('pump', 'above', 12, 11), ('level', 'below', 13, 13)]
    """
    found = []
    for at, name in variables:
        course = deviation[:, at]
        away = np.abs(course) > _OUTSIDE
        lasting = away & np.r_[away[1:], True] if len(away) > 1 else away
        rows = np.flatnonzero(lasting)
        if not len(rows):
            continue
        first = int(rows[0])
        calm = np.flatnonzero(np.abs(course[:first]) < _INSIDE)
        arrival = Arrival(
            variable=name,
            direction="above" if course[first] > 0 else "below",
            time=times[first],
            earliest=times[calm[-1] + 1] if len(calm) else None,
        )
        found.append((first, -abs(float(course[first])), arrival))
    found.sort(key=lambda one: one[:2])
    return tuple(arrival for *_, arrival in found)
