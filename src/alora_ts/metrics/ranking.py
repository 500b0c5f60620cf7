"""Ranking variables by score, fair to ties, and the tables it is done on."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike, NDArray

from alora_ts.errors import DataError

__all__ = ["affected_rows", "chance", "checked_tables", "gains", "hits"]


def checked_tables(
    truth: ArrayLike, scores: ArrayLike
) -> tuple[NDArray[np.bool_], NDArray[np.float64]]:
    """Check which variables are affected (0 or 1) against finite scores of the same shape.

    Examples
    --------
    >>> checked_tables([[0, 1]], [[0.1, float("inf")]])
    Traceback (most recent call last):
    ...
    alora_ts.errors.DataError: scores must be finite, but row 0, variable 1 holds inf; ...
    """
    affected = np.asarray(truth)
    values = np.asarray(scores)
    for name, table in (("truth", affected), ("scores", values)):
        if table.dtype.kind not in "biuf":
            raise DataError(f"{name} must be numbers, but its type is {table.dtype}")
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
    values = values.astype(np.float64)
    wrong = np.argwhere(~np.isfinite(values))
    if wrong.size:
        row, column = wrong[0]
        raise DataError(
            f"scores must be finite, but row {row}, variable {column} holds {values[row, column]}; "
            f"fix the method that made them"
        )
    return affected, values


def affected_rows(
    truth: ArrayLike, scores: ArrayLike
) -> tuple[NDArray[np.bool_], NDArray[np.float64]]:
    """The rows in which a variable is affected."""
    affected, values = checked_tables(truth, scores)
    rows = affected.any(axis=1)
    if not rows.any():
        raise DataError("truth marks no affected variable in any row; there is nothing to localize")
    return affected[rows], values[rows]


def looked_at(truth: NDArray[np.bool_], percent: int) -> NDArray[np.int64]:
    """How many per row: whole numbers only, since 0.1 + 0.2 style rounding would move a ceiling."""
    if percent < 1:
        raise DataError(f"percent must be at least 1, but it is {percent}; use 100 or 150")
    k: NDArray[np.int64] = -(-truth.sum(axis=1, dtype=np.int64) * percent // 100)
    return np.minimum(k, truth.shape[1])


def expected_at_ranks(truth: NDArray[np.bool_], scores: NDArray[np.float64]) -> NDArray[np.float64]:
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


def hits(
    truth: NDArray[np.bool_], scores: NDArray[np.float64], *, percent: int
) -> NDArray[np.float64]:
    """Per row, the expected share of the affected variables among the first k ranks.

    Examples
    --------
    >>> hits(np.array([[True, False]]), np.array([[0.5, 0.5]]), percent=100)
    array([0.5])
    """
    k = looked_at(truth, percent)
    found = np.cumsum(expected_at_ranks(truth, scores), axis=1)
    shares: NDArray[np.float64] = found[np.arange(k.size), k - 1] / truth.sum(axis=1)
    return shares


def gains(
    truth: NDArray[np.bool_], scores: NDArray[np.float64], *, percent: int
) -> NDArray[np.float64]:
    """Per row, the expected NDCG of the first k ranks.

    Examples
    --------
    >>> gains(np.array([[True, False]]), np.array([[0.5, 0.1]]), percent=100)
    array([1.])
    """
    k = looked_at(truth, percent)
    discount = 1.0 / np.log2(np.arange(truth.shape[1]) + 2.0)
    gained = np.cumsum(expected_at_ranks(truth, scores) * discount, axis=1)
    ideal = np.cumsum(discount)[truth.sum(axis=1) - 1]
    shares: NDArray[np.float64] = gained[np.arange(k.size), k - 1] / ideal
    return shares


def chance(truth: NDArray[np.bool_], *, percent: int, gain: bool) -> float:
    """What scores in random order reach, mean over rows: of :func:`gains` or of :func:`hits`.

    Examples
    --------
    >>> chance(np.array([[True, False, False, False]]), percent=100, gain=False)
    0.25
    """
    # All-equal scores are one tie, whose expectation over orders is what random scores reach.
    # Only the number of affected variables matters, so each distinct number is worked out once.
    counts, weights = np.unique(truth.sum(axis=1), return_counts=True)
    d = truth.shape[1]
    one_each = np.arange(d) < counts[:, None]
    values = (gains if gain else hits)(one_each, np.zeros((counts.size, d)), percent=percent)
    return float(values @ weights / weights.sum())
