"""Did the scores name the right variables? Hit rate, NDCG and the interpretation score.

Notes
-----
The paper's appendix "Evaluation metrics". Where g variables are truly affected, the k = ⌈g · P%⌉
variables with the highest scores are looked at (k at most d). Equal scores have no order, so every
value is the expectation over all orders of the ties: scores that are all equal get exactly the
chance level.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray

from alora_ts.errors import DataError
from alora_ts.metrics.events import runs
from alora_ts.metrics.ranking import affected_rows, chance, checked_tables, gains, hits

__all__ = ["Localization", "by_segment", "hit_rate", "ips", "localization", "ndcg"]

Segments = list[tuple[int, int]]


@dataclass(frozen=True)
class Localization:
    """Localization at one percentage, with the level that random scores reach beside each value.

    Attributes
    ----------
    percent : int
        P: how many variables are looked at, in percent of how many are affected.
    hit_rate, hit_rate_chance : float
        Share of the affected variables that are found, mean over rows.
    ndcg, ndcg_chance : float
        The same with higher ranks counting more, mean over rows.
    ips, ips_chance : float
        Hit rate per segment, mean over segments.
    segment_ndcg, segment_ndcg_chance : float
        NDCG per segment, mean over segments.
    rows, segments : int
        How many were averaged.
    """

    percent: int
    hit_rate: float
    hit_rate_chance: float
    ndcg: float
    ndcg_chance: float
    ips: float
    ips_chance: float
    segment_ndcg: float
    segment_ndcg_chance: float
    rows: int
    segments: int


def hit_rate(truth: ArrayLike, scores: ArrayLike, percent: int = 100) -> float:
    """The share of the affected variables among the k highest scores, mean over affected rows.

    Parameters
    ----------
    truth : array_like of bool, shape (n, d)
        Which variables are affected; rows without any are left out.
    scores : array_like of shape (n, d)
        Per row and variable; higher is more suspicious.
    percent : int
        k is this percentage of the number of affected variables, rounded up, at most d.

    Returns
    -------
    float
        Between 0 and 1; a random score reaches k / d.

    Raises
    ------
    DataError
        When shapes differ, scores are not finite, or no variable is affected anywhere.

    Examples
    --------
    >>> hit_rate([[1, 1, 0, 0]], [[0.9, 0.1, 0.5, 0.2]])
    0.5
    >>> hit_rate([[1, 0, 0, 0]], [[0.5, 0.5, 0.1, 0.1]])  # a tie for the first rank
    0.5
    """
    return float(hits(*affected_rows(truth, scores), percent=percent).mean())


def ndcg(truth: ArrayLike, scores: ArrayLike, percent: int = 100) -> float:
    """Normalized discounted cumulative gain of the k highest scores, mean over affected rows.

    Parameters
    ----------
    truth, scores, percent
        As for :func:`hit_rate`.

    Returns
    -------
    float
        Between 0 and 1.

    Raises
    ------
    DataError
        When shapes differ, scores are not finite, or no variable is affected anywhere.

    Examples
    --------
    >>> round(ndcg([[1, 1, 0, 0]], [[0.9, 0.1, 0.5, 0.2]]), 4)
    0.6131
    """
    return float(gains(*affected_rows(truth, scores), percent=percent).mean())


def ips(
    truth: ArrayLike,
    scores: ArrayLike,
    segments: Segments | None = None,
    percent: int = 100,
) -> float:
    """Interpretation score: the hit rate of whole segments, each with the same weight.

    A segment's score of a variable is its highest within the segment; a variable is affected when
    it is so in any row of the segment.

    Parameters
    ----------
    truth, scores, percent
        As for :func:`hit_rate`.
    segments : list of (start, end), optional
        Rows ``start`` to ``end - 1`` of each segment; by default the runs of affected rows.

    Returns
    -------
    float
        Between 0 and 1; a random score reaches the mean of k / d.

    Raises
    ------
    DataError
        As for :func:`hit_rate`, and when a segment is outside the data or has no affected row.

    Examples
    --------
    >>> ips([[0, 0], [1, 0], [1, 0]], [[9.0, 9.0], [0.1, 0.5], [0.7, 0.2]])
    1.0
    """
    return hit_rate(*by_segment(truth, scores, segments), percent=percent)


def by_segment(
    truth: ArrayLike, scores: ArrayLike, segments: Segments | None = None
) -> tuple[NDArray[np.bool_], NDArray[np.float64]]:
    """One row per segment: which variables are affected in it, and their highest scores.

    Parameters
    ----------
    truth, scores, segments
        As for :func:`ips`.

    Returns
    -------
    truth : ndarray of bool, shape (s, d)
    scores : ndarray of shape (s, d)

    Raises
    ------
    DataError
        As for :func:`ips`.

    Examples
    --------
    >>> affected, highest = by_segment([[1, 0], [0, 1]], [[0.1, 0.5], [0.7, 0.2]])
    >>> affected.tolist(), highest.tolist()
    ([[True, True]], [[0.7, 0.5]])
    """
    affected, values = checked_tables(truth, scores)
    if segments is None:
        starts, ends = runs(np.asarray(affected.any(axis=1)))
        segments = list(zip(starts.tolist(), ends.tolist(), strict=True))
    for start, end in segments:
        if not 0 <= start < end <= len(affected):
            raise DataError(
                f"segment ({start}, {end}) is not inside the {len(affected)} rows; give half-open "
                f"ranges (start, end)"
            )
        if not affected[start:end].any():
            raise DataError(
                f"segment ({start}, {end}) has no affected variable in truth; leave it out"
            )
    if not segments:
        raise DataError("there is no segment to localize: truth marks no affected variable")
    return (
        np.stack([affected[start:end].any(axis=0) for start, end in segments]),
        np.stack([values[start:end].max(axis=0) for start, end in segments]),
    )


def localization(
    truth: ArrayLike,
    scores: ArrayLike,
    segments: Segments | None = None,
    percent: int = 100,
) -> Localization:
    """All localization metrics at one percentage, each beside its chance level.

    Parameters
    ----------
    truth, scores, segments, percent
        As for :func:`ips`.

    Returns
    -------
    Localization

    Raises
    ------
    DataError
        As for :func:`ips`.

    Notes
    -----
    The chance levels are exact. When the variables of a row are ordered at random, each of the
    first k ranks holds one of the g affected with probability g / d. The maxima over the rows of
    a segment are then in random order too.

    Examples
    --------
    >>> found = localization([[1, 0, 0, 0]], [[0.9, 0.1, 0.5, 0.2]])
    >>> found.hit_rate, found.hit_rate_chance
    (1.0, 0.25)
    """
    rows = affected_rows(truth, scores)
    whole = by_segment(truth, scores, segments)
    return Localization(
        percent=percent,
        hit_rate=float(hits(*rows, percent=percent).mean()),
        hit_rate_chance=chance(rows[0], percent=percent, gain=False),
        ndcg=float(gains(*rows, percent=percent).mean()),
        ndcg_chance=chance(rows[0], percent=percent, gain=True),
        ips=float(hits(*whole, percent=percent).mean()),
        ips_chance=chance(whole[0], percent=percent, gain=False),
        segment_ndcg=float(gains(*whole, percent=percent).mean()),
        segment_ndcg_chance=chance(whole[0], percent=percent, gain=True),
        rows=len(rows[0]),
        segments=len(whole[0]),
    )
