"""Did the scores name the right variables? Hit rate, NDCG and the interpretation score.

Notes
-----
The paper's appendix "Evaluation metrics". With G the set of truly affected variables, the
k = ⌈size of G · P%⌉ variables with the highest scores are looked at (k at most d). Equal scores have
no order, so every value is the expectation over all orders of the ties: scores that are all equal
get exactly the chance level.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray

from alora_ts.errors import DataError
from alora_ts.metrics.events import runs

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
    return float(_hits(*_affected(truth, scores), percent=percent).mean())


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
    return float(_gains(*_affected(truth, scores), percent=percent).mean())


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
    affected, values = _checked(truth, scores)
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
    first k ranks holds an affected one with probability (size of G) / d. The maxima over the rows of a
    segment are then in random order too.

    Examples
    --------
    >>> found = localization([[1, 0, 0, 0]], [[0.9, 0.1, 0.5, 0.2]])
    >>> found.hit_rate, found.hit_rate_chance
    (1.0, 0.25)
    """
    rows = _affected(truth, scores)
    whole = by_segment(truth, scores, segments)
    return Localization(
        percent=percent,
        hit_rate=float(_hits(*rows, percent=percent).mean()),
        hit_rate_chance=_chance(rows[0], percent=percent, gain=False),
        ndcg=float(_gains(*rows, percent=percent).mean()),
        ndcg_chance=_chance(rows[0], percent=percent, gain=True),
        ips=float(_hits(*whole, percent=percent).mean()),
        ips_chance=_chance(whole[0], percent=percent, gain=False),
        segment_ndcg=float(_gains(*whole, percent=percent).mean()),
        segment_ndcg_chance=_chance(whole[0], percent=percent, gain=True),
        rows=len(rows[0]),
        segments=len(whole[0]),
    )


def _chance(truth: NDArray[np.bool_], *, percent: int, gain: bool) -> float:
    # All-equal scores are one tie, whose expectation over orders is what random scores reach.
    # Only the number of affected variables matters, so each distinct number is worked out once.
    counts, weights = np.unique(truth.sum(axis=1), return_counts=True)
    d = truth.shape[1]
    one_each = np.arange(d) < counts[:, None]
    values = (_gains if gain else _hits)(one_each, np.zeros((counts.size, d)), percent=percent)
    return float(values @ weights / weights.sum())


def _checked(truth: ArrayLike, scores: ArrayLike) -> tuple[NDArray[np.bool_], NDArray[np.float64]]:
    affected = np.asarray(truth)
    values = np.asarray(scores, dtype=np.float64)
    if affected.ndim != 2 or affected.shape != values.shape or affected.size == 0:
        raise DataError(
            f"truth and scores must be tables of the same shape (rows, variables) with at least "
            f"one row, but truth has shape {affected.shape} and scores {values.shape}"
        )
    if affected.dtype != np.bool_:
        wrong = np.argwhere((affected != 0) & (affected != 1))
        if wrong.size:
            row, column = wrong[0]
            raise DataError(
                f"truth must hold only 0 and 1, but row {row}, variable {column} holds "
                f"{affected[row, column].item()!r}"
            )
        affected = affected == 1
    wrong = np.argwhere(~np.isfinite(values))
    if wrong.size:
        row, column = wrong[0]
        raise DataError(
            f"scores must be finite, but row {row}, variable {column} holds {values[row, column]}; "
            f"mend the method that made them"
        )
    return affected, values


def _affected(truth: ArrayLike, scores: ArrayLike) -> tuple[NDArray[np.bool_], NDArray[np.float64]]:
    """The rows in which a variable is affected."""
    affected, values = _checked(truth, scores)
    rows = affected.any(axis=1)
    if not rows.any():
        raise DataError("truth marks no affected variable in any row; there is nothing to localize")
    return affected[rows], values[rows]


def _looked_at(truth: NDArray[np.bool_], percent: int) -> NDArray[np.int64]:
    """How many per row: whole numbers only, since 0.1 + 0.2 style rounding would move a ceiling."""
    if percent < 1:
        raise DataError(f"percent must be at least 1, but it is {percent}; use 100 or 150")
    k: NDArray[np.int64] = -(-truth.sum(axis=1, dtype=np.int64) * percent // 100)
    return np.minimum(k, truth.shape[1])


def _expected_at_ranks(
    truth: NDArray[np.bool_], scores: NDArray[np.float64]
) -> NDArray[np.float64]:
    """Per row and rank, the probability over tie orders that this rank holds an affected one."""
    order = np.argsort(-scores, axis=1, kind="stable")
    ranked = np.take_along_axis(scores, order, axis=1)
    hit = np.take_along_axis(truth, order, axis=1)
    n, d = hit.shape
    first = np.ones((n, d), dtype=bool)
    first[:, 1:] = ranked[:, 1:] != ranked[:, :-1]
    group = np.cumsum(first.ravel()) - 1  # every row begins a group
    share = np.bincount(group, hit.ravel()) / np.bincount(group)
    expected: NDArray[np.float64] = share[group].reshape(n, d)
    return expected


def _hits(
    truth: NDArray[np.bool_], scores: NDArray[np.float64], *, percent: int
) -> NDArray[np.float64]:
    k = _looked_at(truth, percent)
    found = np.cumsum(_expected_at_ranks(truth, scores), axis=1)
    hits: NDArray[np.float64] = found[np.arange(k.size), k - 1] / truth.sum(axis=1)
    return hits


def _gains(
    truth: NDArray[np.bool_], scores: NDArray[np.float64], *, percent: int
) -> NDArray[np.float64]:
    k = _looked_at(truth, percent)
    discount = 1.0 / np.log2(np.arange(truth.shape[1]) + 2.0)
    gained = np.cumsum(_expected_at_ranks(truth, scores) * discount, axis=1)
    ideal = np.cumsum(discount)[truth.sum(axis=1) - 1]
    gains: NDArray[np.float64] = gained[np.arange(k.size), k - 1] / ideal
    return gains
