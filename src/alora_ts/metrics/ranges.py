"""Range-based precision and recall: how much of each range is covered, and in how many pieces."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike, NDArray

from alora_ts.errors import AloraError, nearest
from alora_ts.metrics.events import runs
from alora_ts.metrics.inputs import as_binary, as_events, same_length
from alora_ts.metrics.neighbours import neighbours_when_removed
from alora_ts.metrics.results import PrecisionRecall

__all__ = ["range_based", "range_steps", "tsb_range", "tsb_range_f1"]

TSB_ALPHA = 0.2
"""The weight that TSB-AD gives to touching an event at all."""


def range_based(
    label: ArrayLike,
    alarm: ArrayLike,
    *,
    alpha: float = 0.0,
    bias: str = "flat",
    cardinality: str = "reciprocal",
) -> PrecisionRecall:
    """Range-based precision and recall of a series of alarms.

    Recall asks of each event which part of it is alarmed, precision of each episode of alarm which
    part of it is anomalous; both then take the mean over ranges.

    Parameters
    ----------
    label, alarm : array_like of shape (n,)
        0 or 1 per row.
    alpha : float
        How much touching an event at all counts in recall, from 0 to 1; the rest is for the part
        that is covered. Precision has no such reward.
    bias : {"flat", "front", "middle", "back"}
        Which rows of an event count more in recall. Precision is always flat: a false alarm is
        equally false wherever it stands in its episode.
    cardinality : {"reciprocal", "one"}
        Whether a range covered in x pieces is worth 1/x of its cover, or all of it.

    Returns
    -------
    PrecisionRecall
        Both 0 without any alarm.

    Raises
    ------
    AloraError
        When an option is unknown or alpha is outside 0 … 1.
    DataError
        When the arrays are unusable or the label marks no event.

    Notes
    -----
    Tatbul, Lee, Zdonik, Alam and Gottschlich, "Precision and recall for time series", NeurIPS 2018.

    Examples
    --------
    >>> range_based([0, 1, 1, 1, 1, 0], [0, 1, 0, 1, 0, 0])
    PrecisionRecall(precision=1.0, recall=0.25)
    """
    if not 0 <= alpha <= 1:
        raise AloraError(f"alpha must lie between 0 and 1, but it is {alpha}")
    for name, value, known in (
        ("bias", bias, ("flat", "front", "middle", "back")),
        ("cardinality", cardinality, ("reciprocal", "one")),
    ):
        if value not in known:
            raise AloraError(f"unknown {name} {value!r}{nearest(value, known)}")
    truth = as_events(label)
    alarms = as_binary(alarm, "alarm")
    same_length(truth, alarms, ("label", "alarm"))
    if not alarms.any():
        return PrecisionRecall(0.0, 0.0)
    return PrecisionRecall(
        precision=_reward(alarms, truth, 0.0, "flat", cardinality),
        recall=_reward(truth, alarms, alpha, bias, cardinality),
    )


def tsb_range(label: ArrayLike, alarm: ArrayLike) -> PrecisionRecall:
    """Range-based precision and recall as TSB-AD sets them.

    Flat bias, reciprocal cardinality, alpha 0.2 in recall.

    Examples
    --------
    >>> tsb_range([0, 1, 1, 1, 1, 0], [0, 1, 0, 1, 0, 0])
    PrecisionRecall(precision=1.0, recall=0.4)
    """
    return range_based(label, alarm, alpha=TSB_ALPHA)


def tsb_range_f1(label: ArrayLike, alarm: ArrayLike) -> float:
    """The range F1 of TSB-AD, the RF1 of our tables.

    Parameters
    ----------
    label, alarm : array_like of shape (n,)
        0 or 1 per row.

    Returns
    -------
    float

    Raises
    ------
    DataError
        When the arrays are unusable or the label marks no event.

    Notes
    -----
    Liu and Paparrizos, "The elephant in the room: towards a reliable time-series anomaly detection
    benchmark", NeurIPS 2024. Alarms that never stop are one range here; TSB-AD's program sees none
    in them and gives 0.

    Examples
    --------
    >>> round(tsb_range_f1([0, 1, 1, 1, 1, 0], [0, 1, 0, 1, 0, 0]), 4)
    0.5714
    """
    return tsb_range(label, alarm).f1


def range_steps(
    label: NDArray[np.bool_], order: NDArray[np.int64]
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """:func:`tsb_range` after each row of ``order`` has been alarmed.

    Examples
    --------
    >>> label = np.array([False, True, True])
    >>> precision, recall = range_steps(label, np.array([2, 0, 1]))
    >>> [round(p, 3) for p in precision.tolist()], recall.round(3).tolist()
    ([1.0, 0.5, 0.667], [0.6, 0.6, 1.0])
    """
    return _precision_steps(label, order), _recall_steps(label, order)


def _reward(
    of: NDArray[np.bool_], by: NDArray[np.bool_], alpha: float, bias: str, cardinality: str
) -> float:
    """What the ranges of ``of`` get for being covered by ``by``, mean over ranges."""
    starts, ends = runs(of)
    rows = np.flatnonzero(of)
    member = np.repeat(np.arange(starts.size), ends - starts)
    length = (ends - starts)[member]
    position = rows - starts[member] + 1
    weight = {
        "flat": np.ones_like(position),
        "front": length - position + 1,
        "middle": np.minimum(position, length - position + 1),
        "back": position,
    }[bias].astype(np.float64)
    cover = np.bincount(member, weight * by[rows]) / np.bincount(member, weight)
    pieces = np.searchsorted(starts, runs(of & by)[0], side="right") - 1
    count = np.bincount(pieces, minlength=starts.size)
    factor = 1.0 / np.maximum(count, 1) if cardinality == "reciprocal" else np.ones(starts.size)
    return float(np.mean(alpha * (count > 0) + (1.0 - alpha) * factor * cover))


def _precision_steps(label: NDArray[np.bool_], order: NDArray[np.int64]) -> NDArray[np.float64]:
    """A new alarm joins the episodes left and right of it into one; only these three change."""
    n = label.size
    # The rows without alarm are the ones still present: an episode reaches from one to the next.
    before, after = neighbours_when_removed(order, n)
    # In order of rows, not of steps, so that neighbouring rows read neighbouring memory.
    first, row, stop = before + 1, np.arange(n), after
    anomalous = np.concatenate([[0], np.cumsum(label)])
    begins = label.copy()
    begins[1:] &= ~label[:-1]
    begun = np.concatenate([[0], np.cumsum(begins)])
    inside = np.append(label & ~begins, False)  # a range that starts here cuts an event

    def worth(first: NDArray[np.int64], stop: NDArray[np.int64]) -> NDArray[np.float64]:
        pieces = begun[stop] - begun[first] + inside[first]
        length = np.maximum(stop - first, 1)
        return np.where(
            stop > first, (anomalous[stop] - anomalous[first]) / (length * np.maximum(pieces, 1)), 0
        )

    change = worth(first, stop) - worth(first, row) - worth(row + 1, stop)
    episodes = 1 - (row > first).astype(np.int64) - (stop > row + 1)
    # Long sums of small changes: the extra digits of long double keep the last ones right.
    total = np.cumsum(change[order].astype(np.longdouble)) / np.cumsum(episodes[order])
    return np.clip(total.astype(np.float64), 0.0, 1.0)


def _recall_steps(label: NDArray[np.bool_], order: NDArray[np.int64]) -> NDArray[np.float64]:
    """An event's value depends on how many of its rows are alarmed and in how many pieces."""
    n = label.size
    when = np.empty(n, dtype=np.int64)
    when[order] = np.arange(n)
    starts, ends = runs(label)
    event = np.cumsum(np.bincount(starts, minlength=n)) - 1
    waiting = np.concatenate([[n], np.where(label, when, n), [n]])  # never alarmed: outside
    joins = (waiting[:-2] < when).astype(np.int64) + (waiting[2:] < when)

    steps = np.flatnonzero(label[order])
    rows = order[steps]
    by_event = np.argsort(event[rows], kind="stable")
    rows, steps = rows[by_event], steps[by_event]
    at = event[rows]
    base = np.concatenate([[0], np.cumsum(ends - starts)])[:-1]
    covered = np.arange(rows.size) - base[at] + 1
    pieces = np.cumsum(1 - joins[rows])
    pieces -= (pieces[base] - 1)[at]
    value = TSB_ALPHA + (1.0 - TSB_ALPHA) * covered / ((ends - starts)[at] * pieces)
    change = np.diff(value, prepend=0.0)
    change[base] = value[base]
    total = np.cumsum(np.bincount(steps, change, minlength=n).astype(np.longdouble))
    return np.clip((total / starts.size).astype(np.float64), 0.0, 1.0)
