"""The affiliation metric: how near alarms are to events, compared with a random point in time."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray

from alora_ts.metrics.inputs import as_binary, as_events, same_length
from alora_ts.metrics.neighbours import neighbours_when_removed
from alora_ts.metrics.results import PrecisionRecall
from alora_ts.metrics.zones import Cells, Zones, cut_into_cells, event_worth_of_gap, zones_of

__all__ = ["Affiliation", "affiliation", "affiliation_steps"]


@dataclass(frozen=True)
class Affiliation(PrecisionRecall):
    """Affiliation precision and recall, and what each event contributes.

    Attributes
    ----------
    precision : float
        Mean of ``event_precision`` over the zones that contain an alarm; 0 without any alarm.
    recall : float
        Mean of ``event_recall``.
    event_precision : ndarray of shape (m,)
        Per event; NaN where its zone contains no alarm, since nothing can be said of none.
    event_recall : ndarray of shape (m,)
        Per event; 0 where its zone contains no alarm.
    """

    event_precision: NDArray[np.float64]
    event_recall: NDArray[np.float64]


def affiliation(label: ArrayLike, alarm: ArrayLike) -> Affiliation:
    """Affiliation precision and recall of a series of alarms.

    Every event owns the part of time nearest to it. In each zone precision asks how near the
    alarms are to the event and recall how near the event is to the alarms, both as the
    probability that a random point of the zone would be further away.

    Parameters
    ----------
    label, alarm : array_like of shape (n,)
        0 or 1 per row.

    Returns
    -------
    Affiliation

    Raises
    ------
    DataError
        When the arrays are unusable or the label marks no event.

    Notes
    -----
    Huet, Navarro and Rossi, KDD 2022. A random moment scores 0.5 on average, and many random
    moments catch every event: the best threshold of a *random score* reaches an F1 of about 0.68.
    Compare with :func:`~alora_ts.metrics.evaluate`, which puts that number beside yours.

    Examples
    --------
    >>> result = affiliation([0, 0, 0, 1, 1, 0, 0, 0], [0, 0, 0, 0, 1, 1, 0, 0])
    >>> round(result.precision, 4), round(result.recall, 4), round(result.f1, 4)
    (0.8125, 0.9375, 0.8705)
    """
    truth = as_events(label)
    alarms = as_binary(alarm, "alarm")
    same_length(truth, alarms, ("label", "alarm"))
    zones = zones_of(truth)
    cells = cut_into_cells(zones, truth.size)
    on = np.flatnonzero(alarms[cells.row])
    zone = cells.zone[on]
    m = zones.start.size

    covered = np.bincount(zone, cells.high[on] - cells.low[on], minlength=m)
    worth = np.bincount(zone, cells.worth[on], minlength=m)
    has_alarm = covered > 0
    event_precision = np.full(m, np.nan)
    event_precision[has_alarm] = worth[has_alarm] / covered[has_alarm]

    first = np.ones(on.size, dtype=bool)
    first[1:] = zone[1:] != zone[:-1]
    last = np.roll(first, -1)
    earlier = np.roll(cells.high[on], 1)
    # Each alarm cell answers for the gap before it, the last of a zone for the one after it too.
    gaps = event_worth_of_gap(
        zones.take(zone), earlier, cells.low[on], ~first, np.ones(on.size, dtype=bool)
    )
    tails = event_worth_of_gap(
        zones.take(zone[last]),
        cells.high[on][last],
        cells.high[on][last],
        np.ones(int(last.sum()), dtype=bool),
        np.zeros(int(last.sum()), dtype=bool),
    )
    reached = np.bincount(zone, cells.inside[on] + gaps, minlength=m)
    reached += np.bincount(zone[last], tails, minlength=m)
    event_recall = reached / (zones.end - zones.start)
    return Affiliation(
        precision=float(event_precision[has_alarm].mean()) if has_alarm.any() else 0.0,
        recall=float(event_recall.mean()),
        event_precision=event_precision,
        event_recall=event_recall,
    )


def affiliation_steps(
    label: NDArray[np.bool_], order: NDArray[np.int64]
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Precision and recall after each row of ``order`` has been alarmed, in O(n log n).

    Parameters
    ----------
    label : ndarray of bool, shape (n,)
        With at least one event.
    order : ndarray of int64, shape (n,)
        The rows, highest score first.

    Returns
    -------
    precision, recall : ndarray of shape (n,)
        Element ``i`` is for the alarms ``order[:i + 1]``.

    Examples
    --------
    >>> precision, recall = affiliation_steps(np.array([False, True]), np.array([1, 0]))
    >>> precision.tolist(), recall.tolist()
    ([1.0, 0.625], [1.0, 1.0])
    """
    zones = zones_of(label)
    cells = cut_into_cells(zones, label.size)
    # Cells in the order in which they are alarmed; halves of one row follow each other.
    first = np.searchsorted(cells.row, np.arange(label.size))
    pieces = np.bincount(cells.row)[order]
    step = np.repeat(np.arange(label.size), pieces)
    sequence = first[order[step]]
    sequence[1:] += step[1:] == step[:-1]
    precision = _precision_steps(cells, sequence, step, zones.start.size)
    recall = _recall_steps(zones, cells, sequence, step)
    return precision, recall


def _precision_steps(
    cells: Cells, sequence: NDArray[np.int64], step: NDArray[np.int64], m: int
) -> NDArray[np.float64]:
    """Each cell changes its own zone's ratio only: sum the changes over time."""
    # Small integers are sorted by counting, which is much faster.
    zone = cells.zone.astype(np.min_scalar_type(m))
    by_zone = np.argsort(zone[sequence], kind="stable")
    chosen = sequence[by_zone]
    worth = cells.worth[chosen]
    covered = (cells.high - cells.low)[chosen]
    bounds = np.searchsorted(cells.zone[chosen], np.arange(m + 1))
    # Sums restart in each zone, not as differences of one long sum, to keep every digit.
    for low, high in zip(bounds[:-1].tolist(), bounds[1:].tolist(), strict=True):
        np.cumsum(worth[low:high], out=worth[low:high])
        np.cumsum(covered[low:high], out=covered[low:high])
    ratio = worth / covered
    change = np.diff(ratio, prepend=0.0)
    change[bounds[:-1]] = ratio[bounds[:-1]]
    opened = np.zeros(chosen.size)
    opened[bounds[:-1]] = 1.0
    n = int(step[-1]) + 1
    # Long sums of small changes: the extra digits of long double keep the last ones right.
    total = np.cumsum(np.bincount(step[by_zone], change, minlength=n).astype(np.longdouble))
    zones_with_alarm = np.cumsum(np.bincount(step[by_zone], opened, minlength=n))
    return np.clip((total / zones_with_alarm).astype(np.float64), 0.0, 1.0)


def _recall_steps(
    zones: Zones, cells: Cells, sequence: NDArray[np.int64], step: NDArray[np.int64]
) -> NDArray[np.float64]:
    """A new alarm splits one gap; both halves have closed forms."""
    m = zones.start.size
    # A post that is never removed stands before each zone and after the last, so that neighbours
    # in other zones do not count.
    node = np.arange(cells.row.size) + cells.zone + 1
    count = cells.row.size + m + 1
    before, after = neighbours_when_removed(node[sequence[::-1]], count)
    is_cell = np.zeros(count, dtype=bool)
    is_cell[node] = True
    low = np.zeros(count)
    high = np.zeros(count)
    low[node], high[node] = cells.low, cells.high
    left, right = before[node], after[node]
    # Far from the event most gaps do not reach into it, and splitting them changes nothing.
    begin = np.where(is_cell[left], high[left], -np.inf)
    stop = np.where(is_cell[right], low[right], np.inf)
    near = np.flatnonzero((begin < zones.end[cells.zone]) & (stop > zones.start[cells.zone]))
    left, right = left[near], right[near]
    has_left, has_right = is_cell[left], is_cell[right]

    at = zones.take(cells.zone[near])
    always = np.ones(near.size, dtype=bool)
    change = cells.inside[near]
    change += event_worth_of_gap(at, high[left], cells.low[near], has_left, always)
    change += event_worth_of_gap(at, cells.high[near], low[right], always, has_right)
    change -= event_worth_of_gap(at, high[left], low[right], has_left, has_right)
    gain = np.zeros(node.size)
    gain[near] = change / ((at.end - at.start) * m)
    total = np.cumsum(np.bincount(step, gain[sequence]).astype(np.longdouble))
    return np.clip(total.astype(np.float64), 0.0, 1.0)
