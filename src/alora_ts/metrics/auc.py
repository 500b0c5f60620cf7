"""Areas under the point-wise ROC and precision-recall curves."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike, NDArray

from alora_ts.errors import DataError
from alora_ts.metrics.inputs import as_events, as_scores, same_length

__all__ = ["auc_pr", "auc_roc", "both_classes"]


def auc_roc(label: ArrayLike, score: ArrayLike) -> float:
    """The probability that an anomalous row scores higher than a normal one, ties counting half.

    Parameters
    ----------
    label : array_like of shape (n,)
        0 or 1 per row; both must occur.
    score : array_like of shape (n,)
        Finite; higher is more anomalous.

    Returns
    -------
    float
        0.5 for a random score, 1 for a perfect one.

    Raises
    ------
    DataError
        When the arrays are unusable or only one class occurs.

    Examples
    --------
    >>> auc_roc([0, 0, 1, 1], [0.1, 0.4, 0.35, 0.8])
    0.75
    """
    hits, misses = _counts_per_threshold(*both_classes(label, score))
    tpr = np.concatenate([[0.0], hits / hits[-1]])
    fpr = np.concatenate([[0.0], misses / misses[-1]])
    return float(np.sum(np.diff(fpr) * (tpr[1:] + tpr[:-1]) / 2))


def auc_pr(label: ArrayLike, score: ArrayLike) -> float:
    """Average precision: the area under the point-wise precision-recall curve, step by step.

    Parameters
    ----------
    label : array_like of shape (n,)
        0 or 1 per row; both must occur.
    score : array_like of shape (n,)
        Finite; higher is more anomalous.

    Returns
    -------
    float
        About the share of anomalous rows for a random score, 1 for a perfect one.

    Raises
    ------
    DataError
        When the arrays are unusable or only one class occurs.

    Examples
    --------
    >>> round(auc_pr([0, 0, 1, 1], [0.1, 0.4, 0.35, 0.8]), 6)
    0.833333
    """
    hits, misses = _counts_per_threshold(*both_classes(label, score))
    recall = np.concatenate([[0.0], hits / hits[-1]])
    return float(np.sum(np.diff(recall) * hits / (hits + misses)))


def both_classes(
    label: ArrayLike, score: ArrayLike
) -> tuple[NDArray[np.bool_], NDArray[np.float64]]:
    """Check a label that has both classes and its score.

    Examples
    --------
    >>> both_classes([1, 1], [0.0, 1.0])
    Traceback (most recent call last):
    ...
    alora_ts.errors.DataError: label has no normal row (all 2 rows are 1); ...
    """
    truth = as_events(label)
    values = as_scores(score)
    same_length(truth, values, ("label", "score"))
    if truth.all():
        raise DataError(
            f"label has no normal row (all {truth.size} rows are 1); the area under a curve needs "
            f"both classes"
        )
    return truth, values


def _counts_per_threshold(
    label: NDArray[np.bool_], score: NDArray[np.float64]
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """True and false positives at every distinct threshold, highest first."""
    order = np.argsort(-score)
    ranked = score[order]
    last = np.flatnonzero(np.append(ranked[1:] != ranked[:-1], True))
    hits = np.cumsum(label[order])[last].astype(np.float64)
    return hits, last + 1 - hits
