"""Volumes under the ROC and precision-recall surfaces: areas averaged over tolerances in time.

Notes
-----
Paparrizos et al., "Volume under the surface", VLDB 2022, with the conventions of TSB-AD. A window
w lets an event reach h = w // 2 rows beyond either end; a row at distance d from it counts as
√(1 − d / w) of an anomalous one, and as a whole one when two events reach it: since d ≤ w / 2, two
such weights always sum to more than 1. So nothing but the distances to the nearest and the
second nearest event matters, and those are counted once for all windows.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray

from alora_ts.errors import AloraError
from alora_ts.metrics.auc import both_classes
from alora_ts.metrics.events import runs

__all__ = ["Areas", "range_auc", "vus"]


@dataclass(frozen=True)
class Areas:
    """An area (or a volume) under the ROC and under the precision-recall curve.

    Attributes
    ----------
    roc, pr : float
        1 is perfect. A random score reaches more than the 0.5 of a plain ROC, and more the wider
        the window; compare with :func:`~alora_ts.metrics.evaluate`.
    window : int
        The widest tolerance, in rows.
    """

    roc: float
    pr: float
    window: int


def vus(label: ArrayLike, score: ArrayLike, window: int = 100, *, thresholds: int = 250) -> Areas:
    """VUS-ROC and VUS-PR: the mean of :func:`range_auc` over all windows from 0 to ``window``.

    Parameters
    ----------
    label : array_like of shape (n,)
        0 or 1 per row; both must occur.
    score : array_like of shape (n,)
        Finite; higher is more anomalous.
    window : int
        The widest tolerance, in rows.
    thresholds : int
        At how many ranks of the score, evenly spaced, the curves are read; 250 is TSB-AD's.

    Returns
    -------
    Areas

    Raises
    ------
    AloraError
        When the window is negative or there are fewer than two thresholds.
    DataError
        When the arrays are unusable or only one class occurs.

    Examples
    --------
    >>> found = vus([0, 0, 0, 1, 1, 0, 0, 0], [1, 2, 3, 4, 6, 5, 2, 1], window=2)
    >>> round(found.roc, 4), round(found.pr, 4)
    (0.9377, 0.869)
    """
    pairs = list(_areas(label, score, window, thresholds))
    roc, pr = np.mean(pairs, axis=0).tolist()
    return Areas(roc, pr, window)


def range_auc(
    label: ArrayLike, score: ArrayLike, window: int = 100, *, thresholds: int = 250
) -> Areas:
    """Range-AUC-ROC and Range-AUC-PR: one slice, at ``window``, of the surface of :func:`vus`.

    Parameters
    ----------
    label, score, window, thresholds
        As for :func:`vus`.

    Returns
    -------
    Areas

    Raises
    ------
    AloraError, DataError
        As for :func:`vus`.

    Examples
    --------
    >>> range_auc([0, 0, 1, 1, 0, 0], [0.1, 0.2, 0.9, 0.8, 0.3, 0.1], window=0).roc
    1.0
    """
    *_, (roc, pr) = _areas(label, score, window, thresholds)
    return Areas(roc, pr, window)


def _areas(
    label: ArrayLike, score: ArrayLike, window: int, thresholds: int
) -> Iterator[tuple[float, float]]:
    """Both areas at the windows 0, 1, …, ``window``."""
    if window < 0:
        raise AloraError(f"window must not be negative, but it is {window}")
    if thresholds < 2:
        raise AloraError(f"thresholds must be at least 2, but it is {thresholds}")
    truth, values = both_classes(label, score)
    n = truth.size
    levels = -np.sort(-values)[np.linspace(0, n - 1, thresholds).astype(np.int64)]
    rank = np.searchsorted(-levels, -values)  # the first threshold that alarms each row
    alarmed = np.cumsum(np.bincount(rank, minlength=thresholds))
    hits = np.cumsum(np.bincount(rank[truth], minlength=thresholds))
    positives = int(truth.sum())
    beyond = _BeyondEvents(truth, rank, window // 2, thresholds)
    for w in range(window + 1):
        if w % 2 == 0:
            beyond.reach(w // 2)
            touched = _share_touched(truth, rank, w // 2, thresholds)
        extra = beyond.weight(w)
        true = hits + extra
        # TSB-AD's count of positives: midway between the events and what they grew to.
        expected = positives + extra / 2
        tpr = np.minimum(true / expected, 1.0) * touched
        fpr = (alarmed - true) / (n - expected)
        precision = true / alarmed
        left = np.concatenate([[0.0], tpr])
        width = np.diff(fpr, prepend=0.0, append=1.0)
        roc = width @ (left + np.concatenate([tpr, [1.0]])) / 2
        yield float(roc), float(np.diff(left) @ precision)


class _BeyondEvents:
    """How much of the alarms beyond the events counts as true, for a reach that only grows."""

    def __init__(
        self, label: NDArray[np.bool_], rank: NDArray[np.int64], furthest: int, thresholds: int
    ) -> None:
        nearest, second = _two_distances(label, furthest)
        rows = np.flatnonzero((nearest > 0) & (nearest <= furthest))
        self._distance = nearest[rows]
        self._rank = rank[rows]
        self._single = np.zeros((furthest + 1, thresholds))
        self._double = np.zeros(thresholds)
        self._entering = _slices(self._distance, furthest)
        self._leaving = _slices(second[rows], furthest)

    def reach(self, h: int) -> None:
        """Let events reach ``h`` rows; called with 0, 1, 2, … in turn."""
        rows = self._entering[h]
        np.add.at(self._single, (self._distance[rows], self._rank[rows]), 1.0)
        rows = self._leaving[h]
        np.subtract.at(self._single, (self._distance[rows], self._rank[rows]), 1.0)
        np.add.at(self._double, self._rank[rows], 1.0)

    def weight(self, w: int) -> NDArray[np.float64]:
        """The true part of the alarms at each threshold for the window ``w``."""
        h = w // 2
        fading = np.sqrt(1.0 - np.arange(1, h + 1) / max(w, 1))
        return np.cumsum(fading @ self._single[1 : h + 1] + self._double)


def _slices(distance: NDArray[np.int64], furthest: int) -> list[NDArray[np.int64]]:
    """The rows at each distance 0 … ``furthest``."""
    order = np.argsort(distance, kind="stable")
    bounds = np.searchsorted(distance[order], np.arange(furthest + 2))
    return [order[bounds[d] : bounds[d + 1]] for d in range(furthest + 1)]


def _two_distances(
    label: NDArray[np.bool_], furthest: int
) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Distances of each row to the nearest and second nearest event; 0 and large inside events."""
    starts, ends = runs(label)
    none = label.size + furthest + 1
    rows = np.arange(label.size)
    gap = np.cumsum(np.bincount(ends, minlength=label.size + 1)[:-1])  # events that have ended
    last = np.concatenate([[-none, -none], ends - 1])  # the ends before gap g: g + 1, then g
    first = np.concatenate([starts, [2 * none, 2 * none]])
    left, left2 = rows - last[gap + 1], rows - last[gap]
    right, right2 = first[gap] - rows, first[gap + 1] - rows
    nearest = np.minimum(left, right)
    second = np.minimum(np.maximum(left, right), np.minimum(left2, right2))
    return np.where(label, 0, nearest), np.where(label, none, second)


def _share_touched(
    label: NDArray[np.bool_], rank: NDArray[np.int64], h: int, thresholds: int
) -> NDArray[np.float64]:
    """The share of the events, grown by ``h`` and joined where they meet, that hold an alarm."""
    starts, ends = runs(label)
    apart = starts[1:] - ends[:-1] + 1 > 2 * h
    first = np.maximum(starts[np.concatenate([[True], apart])] - h, 0)
    stop = np.minimum(ends[np.concatenate([apart, [True]])] + h, label.size)
    bounds = np.stack([first, stop], axis=1).ravel()
    # The last stop may be the end of the data, where reduceat needs one more element.
    earliest = np.minimum.reduceat(np.append(rank, thresholds), bounds)[::2]
    touched = np.cumsum(np.bincount(earliest, minlength=thresholds))
    share: NDArray[np.float64] = touched / first.size
    return share
