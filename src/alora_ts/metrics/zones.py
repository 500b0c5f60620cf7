"""The geometry of the affiliation metric: zones, cells, and the closed forms of its integrals.

Time is continuous: row ``t`` is the interval [t, t + 1). Event ``z`` is J = [start, end), its zone
E = [low, high) reaches midway to the neighbouring events (or to the border of the data). A row
that a border halves becomes two cells, one in each zone.

Notes
-----
Huet, Navarro and Rossi, "Local evaluation of time series anomaly detection algorithms", KDD 2022.
With X uniform on E, a moment x of an alarm is worth P(dist(X, J) ≥ dist(x, J)), a moment y of an
event P(dist(X, y) ≥ dist(y, alarms in E)). Both are piecewise linear, so their integrals are
differences of the quadratics below.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from alora_ts.metrics.events import runs

__all__ = ["Cells", "Zones", "cut_into_cells", "event_worth_of_gap", "zones_of"]

Floats = NDArray[np.float64]


@dataclass(frozen=True)
class Zones:
    """One event and its zone per element; all arrays have shape (m,)."""

    start: Floats
    end: Floats
    low: Floats
    high: Floats

    def take(self, index: NDArray[np.int64]) -> Zones:
        """The zones at ``index``, repeated as it says."""
        return Zones(self.start[index], self.end[index], self.low[index], self.high[index])


@dataclass(frozen=True)
class Cells:
    """Rows cut at the borders of the zones, in order of time; all arrays have shape (c,)."""

    row: NDArray[np.int64]
    zone: NDArray[np.int64]
    low: Floats
    high: Floats
    worth: Floats
    """The integral over the cell of what a moment of alarm is worth (for precision)."""
    inside: Floats
    """The length of the cell that lies in the event (for recall): 0 or its whole length."""


def zones_of(label: NDArray[np.bool_]) -> Zones:
    """The events of a label and their zones.

    Examples
    --------
    >>> zones = zones_of(np.array([0, 1, 0, 0, 0, 1, 0], dtype=bool))
    >>> zones.low.tolist(), zones.high.tolist()
    ([0.0, 3.5], [3.5, 7.0])
    """
    starts, ends = (edge.astype(np.float64) for edge in runs(label))
    borders = (ends[:-1] + starts[1:]) / 2
    low = np.concatenate([[0.0], borders])
    high = np.concatenate([borders, [float(label.size)]])
    return Zones(starts, ends, low, high)


def cut_into_cells(zones: Zones, n: int) -> Cells:
    """Cut ``n`` rows at the borders of the zones.

    Examples
    --------
    >>> cells = cut_into_cells(zones_of(np.array([1, 0, 1], dtype=bool)), 3)
    >>> cells.row.tolist(), cells.zone.tolist(), cells.low.tolist()
    ([0, 1, 1, 2], [0, 0, 1, 1], [0.0, 1.0, 1.5, 2.0])
    """
    borders = zones.high[:-1]
    halves = borders[borders != np.floor(borders)]
    edges = np.sort(np.concatenate([np.arange(n + 1, dtype=np.float64), halves]))
    low, high = edges[:-1], edges[1:]
    zone = np.searchsorted(borders, low, side="right")
    at = zones.take(zone)
    inside = np.where((low >= at.start) & (low < at.end), high - low, 0.0)
    return Cells(
        row=low.astype(np.int64),
        zone=zone,
        low=low,
        high=high,
        worth=np.where(inside > 0, inside, _alarm_worth(at, low, high)),
        inside=inside,
    )


def _alarm_worth(at: Zones, low: Floats, high: Floats) -> Floats:
    """The integral of P(dist(X, J) ≥ dist(x, J)) over x in [low, high), which lies outside J."""
    before = low < at.start
    near = np.where(before, at.start - high, low - at.end)  # distances from J
    far = near + (high - low)
    total = np.zeros_like(low)
    for room in (at.start - at.low, at.high - at.end):
        # On either side of J the part further away than d has the length (room - d)+.
        total += np.maximum(room - near, 0.0) ** 2 - np.maximum(room - far, 0.0) ** 2
    return total / (2.0 * (at.high - at.low))


def event_worth_of_gap(
    at: Zones,
    left: Floats,
    right: Floats,
    has_left: NDArray[np.bool_],
    has_right: NDArray[np.bool_],
) -> Floats:
    """The integral of P(|X − y| ≥ dist(y, alarms)) over the part of J in an alarm-free gap.

    Parameters
    ----------
    at : Zones
        The zone of each gap.
    left, right : ndarray
        Where the alarm on the left ends and the alarm on the right begins.
    has_left, has_right : ndarray of bool
        Whether there is such an alarm inside the zone; without any the gap is worth 0.

    Returns
    -------
    ndarray
        One value per gap.

    Examples
    --------
    >>> at = zones_of(np.array([0, 1, 1, 0], dtype=bool))
    >>> yes, no = np.array([True]), np.array([False])
    >>> event_worth_of_gap(at, np.array([1.0]), np.array([4.0]), yes, no)
    array([1.0625])
    """
    # Moments before the middle are nearest to the alarm on the left, the others to the right.
    middle = np.where(
        has_left & has_right, (left + right) / 2, np.where(has_left, at.end, at.start)
    )
    size = at.high - at.low

    begin = np.maximum(left, at.start)
    stop = np.maximum(np.minimum(middle, at.end), begin)
    room = at.high - left
    from_left = _up_to(stop - left, room, size) - _up_to(begin - left, room, size)

    stop = np.minimum(right, at.end)
    begin = np.minimum(np.maximum(middle, at.start), stop)
    room = right - at.low
    from_right = _up_to(right - begin, room, size) - _up_to(right - stop, room, size)

    return np.where(has_left, from_left, 0.0) + np.where(has_right, from_right, 0.0)


def _up_to(distance: Floats, room: Floats, size: Floats) -> Floats:
    """The integral, over distances 0 to ``distance`` from an alarm, of P(|X − y| ≥ distance).

    The interval of moments nearer to y than the alarm grows twice as fast as the distance until
    it meets the border of the zone, ``room`` away from the alarm; then it stays.
    """
    free = np.minimum(distance, room / 2)
    return free - free**2 / size + (1.0 - room / size) * (distance - free)
