"""Metrics that count rows: point by point, point-adjusted, and rows against events."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike, NDArray

from alora_ts.errors import AloraError
from alora_ts.metrics.events import runs
from alora_ts.metrics.inputs import as_binary, as_events, same_length
from alora_ts.metrics.results import PrecisionRecall

__all__ = [
    "acknowledged",
    "event_based",
    "event_steps",
    "point",
    "point_adjusted",
    "point_adjusted_steps",
    "point_steps",
]

Steps = tuple[NDArray[np.float64], NDArray[np.float64]]


def point(label: ArrayLike, alarm: ArrayLike) -> PrecisionRecall:
    """Precision and recall row by row.

    It treats neighbouring rows as unrelated: an alarm one row late is as wrong as one a day late,
    and one long event outweighs many short ones.

    Parameters
    ----------
    label, alarm : array_like of shape (n,)
        0 or 1 per row.

    Returns
    -------
    PrecisionRecall
        Both 0 without any alarm.

    Raises
    ------
    DataError
        When the arrays are unusable or the label marks no event.

    Examples
    --------
    >>> point([0, 1, 1, 0], [0, 1, 0, 0])
    PrecisionRecall(precision=1.0, recall=0.5)
    """
    truth, alarms = _checked(label, alarm)
    return _ratios(int((truth & alarms).sum()), int(alarms.sum()), int(truth.sum()))


def point_adjusted(
    label: ArrayLike, alarm: ArrayLike, *, i_know_it_misleads: bool = False
) -> PrecisionRecall:
    """Point precision and recall after every touched event counts as wholly found.

    **Do not choose a detector by this number.** One lucky row inside a long event turns the whole
    event into true positives, so a score drawn at random, which touches every long event sooner or
    later, reaches values near 1 and often beats detectors that work. It exists to compare with
    published tables that report nothing else; therefore it must be asked for explicitly.

    Parameters
    ----------
    label, alarm : array_like of shape (n,)
        0 or 1 per row.
    i_know_it_misleads : bool
        Must be True.

    Returns
    -------
    PrecisionRecall

    Raises
    ------
    AloraError
        Without the acknowledgement.
    DataError
        When the arrays are unusable or the label marks no event.

    Examples
    --------
    >>> point_adjusted([0, 1, 1, 1, 1, 0], [0, 0, 0, 1, 0, 0], i_know_it_misleads=True)
    PrecisionRecall(precision=1.0, recall=1.0)
    """
    acknowledged(i_know_it_misleads)
    truth, alarms = _checked(label, alarm)
    starts, ends = runs(truth)
    touched = _touched(alarms, starts, ends)
    found = int((ends - starts)[touched].sum())
    return _ratios(found, found + int((alarms & ~truth).sum()), int(truth.sum()))


def event_based(label: ArrayLike, alarm: ArrayLike) -> PrecisionRecall:
    """Recall over events, precision over rows.

    An event counts as found when one of its rows is alarmed. Precision stays the share of alarmed
    rows that are anomalous, because counting *episodes* of alarm would let one endless alarm pass
    for perfect.

    Parameters
    ----------
    label, alarm : array_like of shape (n,)
        0 or 1 per row.

    Returns
    -------
    PrecisionRecall
        Both 0 without any alarm.

    Raises
    ------
    DataError
        When the arrays are unusable or the label marks no event.

    Notes
    -----
    The composite F-score of Garg et al., "An evaluation of anomaly detection and diagnosis in
    multivariate time series", 2022.

    Examples
    --------
    >>> event_based([0, 1, 1, 1, 1, 0], [0, 0, 0, 1, 0, 1])
    PrecisionRecall(precision=0.5, recall=1.0)
    """
    truth, alarms = _checked(label, alarm)
    starts, ends = runs(truth)
    rows = _ratios(int((truth & alarms).sum()), int(alarms.sum()), int(truth.sum()))
    return PrecisionRecall(rows.precision, float(_touched(alarms, starts, ends).mean()))


def point_steps(label: NDArray[np.bool_], order: NDArray[np.int64]) -> Steps:
    """:func:`point` after each row of ``order`` has been alarmed.

    Examples
    --------
    >>> precision, recall = point_steps(np.array([False, True]), np.array([1, 0]))
    >>> precision.tolist(), recall.tolist()
    ([1.0, 0.5], [1.0, 1.0])
    """
    hits = np.cumsum(label[order])
    return hits / np.arange(1, label.size + 1), hits / hits[-1]


def point_adjusted_steps(label: NDArray[np.bool_], order: NDArray[np.int64]) -> Steps:
    """:func:`point_adjusted` after each row of ``order`` has been alarmed.

    Examples
    --------
    >>> label = np.array([False, True, True])
    >>> precision, recall = point_adjusted_steps(label, np.array([2, 0, 1]))
    >>> precision.tolist(), recall.tolist()
    ([1.0, 0.6666666666666666, 0.6666666666666666], [1.0, 1.0, 1.0])
    """
    first, length = _first_touch(label, order)
    found = np.cumsum(np.bincount(first, length, minlength=label.size))
    wrong = np.cumsum(~label[order])
    return found / (found + wrong), found / label.sum()


def event_steps(label: NDArray[np.bool_], order: NDArray[np.int64]) -> Steps:
    """:func:`event_based` after each row of ``order`` has been alarmed.

    Examples
    --------
    >>> label = np.array([False, True, True])
    >>> precision, recall = event_steps(label, np.array([2, 0, 1]))
    >>> precision.tolist(), recall.tolist()
    ([1.0, 0.5, 0.6666666666666666], [1.0, 1.0, 1.0])
    """
    first, _ = _first_touch(label, order)
    touched = np.cumsum(np.bincount(first, minlength=label.size))
    return point_steps(label, order)[0], touched / first.size


def acknowledged(i_know_it_misleads: bool) -> None:
    """Refuse point adjustment to whoever has not said that they know what it does.

    Examples
    --------
    >>> acknowledged(False)
    Traceback (most recent call last):
    ...
    alora_ts.errors.AloraError: point adjustment counts a whole event as found ...
    """
    if i_know_it_misleads is not True:
        raise AloraError(
            "point adjustment counts a whole event as found when one of its rows is alarmed, so "
            "random scores reach values near 1; use metric='affiliation', or pass "
            "i_know_it_misleads=True to compare with published tables"
        )


def _checked(label: ArrayLike, alarm: ArrayLike) -> tuple[NDArray[np.bool_], NDArray[np.bool_]]:
    truth = as_events(label)
    alarms = as_binary(alarm, "alarm")
    same_length(truth, alarms, ("label", "alarm"))
    return truth, alarms


def _ratios(hits: int, alarmed: int, positives: int) -> PrecisionRecall:
    return PrecisionRecall(hits / alarmed if alarmed else 0.0, hits / positives)


def _touched(
    alarms: NDArray[np.bool_], starts: NDArray[np.int64], ends: NDArray[np.int64]
) -> NDArray[np.bool_]:
    counted = np.concatenate([[0], np.cumsum(alarms)])
    touched: NDArray[np.bool_] = counted[ends] > counted[starts]
    return touched


def _first_touch(
    label: NDArray[np.bool_], order: NDArray[np.int64]
) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """At which step each event gets its first alarm, and how long the event is."""
    when = np.empty(label.size, dtype=np.int64)
    when[order] = np.arange(label.size)
    starts, ends = runs(label)
    # Between events the label is 0, so the rows of an event end where the next one's begin.
    first = np.minimum.reduceat(np.where(label, when, label.size), starts)
    return first, ends - starts
