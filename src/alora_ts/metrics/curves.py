"""Every distinct threshold of a score, evaluated exactly, for any of the metrics."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from numpy.typing import ArrayLike, NDArray

from alora_ts.errors import AloraError, nearest
from alora_ts.metrics.affiliation import affiliation, affiliation_steps
from alora_ts.metrics.inputs import as_events, as_scores, same_length
from alora_ts.metrics.point import (
    acknowledged,
    event_based,
    event_steps,
    point,
    point_adjusted,
    point_adjusted_steps,
    point_steps,
)
from alora_ts.metrics.ranges import range_steps, tsb_range
from alora_ts.metrics.results import BestF1, Curve, PrecisionRecall, f1_of

__all__ = ["METRICS", "at_threshold", "best_f1", "curve"]

Steps = Callable[
    [NDArray[np.bool_], NDArray[np.int64]], tuple[NDArray[np.float64], NDArray[np.float64]]
]
Once = Callable[[NDArray[np.bool_], NDArray[np.bool_]], PrecisionRecall]


def _adjusted(label: NDArray[np.bool_], alarm: NDArray[np.bool_]) -> PrecisionRecall:
    return point_adjusted(label, alarm, i_know_it_misleads=True)


METRICS: dict[str, tuple[Steps, Once]] = {
    "affiliation": (affiliation_steps, affiliation),
    "range": (range_steps, tsb_range),
    "event": (event_steps, event_based),
    "point": (point_steps, point),
    "point-adjusted": (point_adjusted_steps, _adjusted),
}
"""Per metric: all steps of an order at once, and one set of alarms."""


def curve(
    label: ArrayLike,
    score: ArrayLike,
    metric: str = "affiliation",
    *,
    i_know_it_misleads: bool = False,
) -> Curve:
    """Precision, recall and F1 at every distinct threshold of a score.

    Parameters
    ----------
    label : array_like of shape (n,)
        0 or 1 per row, with at least one event.
    score : array_like of shape (n,)
        Finite; higher is more anomalous.
    metric : {"affiliation", "range", "point", "point-adjusted", "event"}
        What to measure. "range" is :func:`~alora_ts.metrics.tsb_range_f1`.
    i_know_it_misleads : bool
        Must be True for "point-adjusted"; see :func:`~alora_ts.metrics.point_adjusted`.

    Returns
    -------
    Curve
        One element per distinct score, highest threshold first; no threshold is left out.

    Raises
    ------
    AloraError
        When the metric is unknown, or misleading and not acknowledged.
    DataError
        When the arrays are unusable or the label marks no event.

    Examples
    --------
    >>> found = curve([0, 1, 1, 0], [0.1, 0.9, 0.4, 0.4], metric="point")
    >>> found.threshold.tolist()[:2], found.recall.tolist()
    ([0.4, 0.1], [0.5, 1.0, 1.0])
    """
    truth, values = _checked(label, score, metric, i_know_it_misleads)
    return _curve(truth, values, metric)


def best_f1(
    label: ArrayLike,
    score: ArrayLike,
    metric: str = "affiliation",
    *,
    i_know_it_misleads: bool = False,
) -> BestF1:
    """The best F1 over all distinct thresholds of a score, exactly.

    This threshold is chosen with the labels, which nobody has in operation: report it as an
    oracle's, and beside it what a random score reaches (see :func:`~alora_ts.metrics.evaluate`).

    Parameters
    ----------
    label, score, metric, i_know_it_misleads
        As for :func:`curve`.

    Returns
    -------
    BestF1
        The highest of the best thresholds, evaluated from scratch.

    Raises
    ------
    AloraError
        When the metric is unknown, or misleading and not acknowledged.
    DataError
        When the arrays are unusable or the label marks no event.

    Examples
    --------
    >>> best = best_f1([0, 0, 1, 1, 0, 0], [0.1, 0.2, 0.9, 0.8, 0.3, 0.1])
    >>> best.f1, best.threshold
    (1.0, 0.3)
    """
    truth, values = _checked(label, score, metric, i_know_it_misleads)
    found = _curve(truth, values, metric)
    threshold = float(found.threshold[int(np.argmax(found.f1))])
    once = METRICS[metric][1](truth, values > threshold)
    return BestF1(once.f1, once.precision, once.recall, threshold, metric)


def at_threshold(
    label: ArrayLike,
    score: ArrayLike,
    threshold: float,
    metric: str = "affiliation",
    *,
    i_know_it_misleads: bool = False,
) -> PrecisionRecall:
    """Precision and recall of the alarms ``score > threshold``.

    Examples
    --------
    >>> at_threshold([0, 1, 1, 0], [0.1, 0.9, 0.4, 0.4], 0.3, metric="point")
    PrecisionRecall(precision=0.6666666666666666, recall=1.0)
    """
    truth, values = _checked(label, score, metric, i_know_it_misleads)
    return METRICS[metric][1](truth, values > threshold)


def _checked(
    label: ArrayLike, score: ArrayLike, metric: str, i_know_it_misleads: bool
) -> tuple[NDArray[np.bool_], NDArray[np.float64]]:
    if metric not in METRICS:
        raise AloraError(f"unknown metric {metric!r}{nearest(metric, METRICS)}")
    if metric == "point-adjusted":
        acknowledged(i_know_it_misleads)
    truth = as_events(label)
    values = as_scores(score)
    same_length(truth, values, ("label", "score"))
    return truth, values


def _curve(label: NDArray[np.bool_], score: NDArray[np.float64], metric: str) -> Curve:
    # Ties may come in any order (a stable sort takes three times as long): rows with equal scores
    # are alarmed together, so only the last of each group is a threshold.
    order = np.argsort(-score)
    ranked = score[order]
    last = np.flatnonzero(np.append(ranked[1:] != ranked[:-1], True))
    lowest = np.nextafter(ranked[-1], -np.inf)
    threshold = np.append(ranked[last[:-1] + 1], lowest)
    precision, recall = (values[last] for values in METRICS[metric][0](label, order))
    return Curve(threshold, precision, recall, f1_of(precision, recall), metric)
