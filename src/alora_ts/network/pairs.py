"""Which pairs of series the embedding looks at (section "LightMTS-Embed").

The pairs are ranked by the absolute rank correlation on the training data and the first K are
kept; all pairs are kept when there are no more than K.
"""

from __future__ import annotations

import math
from typing import Literal

import numpy as np
from numpy.typing import NDArray

__all__ = ["Correlation", "choose_pairs", "correlations"]

Correlation = Literal["spearman", "pearson"]

MINIMUM_WIDTH = 16
"""Fewest embedded series a network is built with; see :func:`choose_pairs`."""

_ROWS_AT_A_TIME = 8192


def choose_pairs(
    values: NDArray[np.floating], *, limit: int | None, correlation: Correlation
) -> NDArray[np.int64]:
    """Choose the pairs of series that each feed one embedded series.

    Parameters
    ----------
    values : ndarray of shape (N, d)
        Training rows.
    limit : int or None
        K, the most pairs to keep; None keeps all d (d - 1) / 2.
    correlation : {"spearman", "pearson"}
        What "strongly related" means. The sign does not matter, and where a correlation is
        undefined (a constant series) it counts as 0.

    Returns
    -------
    ndarray of shape (D, 2)
        Pairs (i, j), strongest first; equal strength in order of (i, j), so the choice is
        deterministic.

    Notes
    -----
    With few variables there are too few pairs to carry an attention layer (d = 1 has none, d = 2
    one, d = 3 three). The list of pairs, or the single series as a pair with itself, is then
    repeated until at least 16 embedded series exist: several kernels per pair, each with weights
    of its own.

    Examples
    --------
    >>> t = np.arange(50.0)
    >>> choose_pairs(np.column_stack([t, -(t**3), t % 7, t % 5]), limit=2, correlation="spearman")
    array([[0, 1],
           [0, 3]])
    >>> choose_pairs(np.zeros((5, 1)), limit=None, correlation="spearman").shape
    (16, 2)
    """
    d = values.shape[1]
    if d == 1:
        pairs = np.zeros((1, 2), dtype=np.int64)
    else:
        first, second = np.triu_indices(d, k=1)
        strength = np.abs(correlations(values, kind=correlation))[first, second]
        # Rounding must not decide between equal correlations: compare 9 digits, then index.
        order = np.argsort(-np.round(strength, 9), kind="stable")
        pairs = np.column_stack([first, second])[order].astype(np.int64)
    wanted = MINIMUM_WIDTH if limit is None else min(MINIMUM_WIDTH, limit)
    copies = math.ceil(wanted / len(pairs))
    return np.tile(pairs, (copies, 1)) if copies > 1 else pairs[:limit]


def correlations(values: NDArray[np.floating], *, kind: Correlation) -> NDArray[np.float64]:
    """Correlation matrix of the columns, with 0 where it is undefined.

    Parameters
    ----------
    values : ndarray of shape (N, d)
        Rows of finite numbers.
    kind : {"spearman", "pearson"}
        Spearman is Pearson on average ranks (ties share the mean of their ranks).

    Returns
    -------
    ndarray of shape (d, d)

    Examples
    --------
    >>> t = np.arange(9.0)
    >>> correlations(np.column_stack([t, t**3, np.ones(9)]), kind="spearman").round(6)
    array([[1., 1., 0.],
           [1., 1., 0.],
           [0., 0., 0.]])
    """
    n, d = values.shape
    # Ranks up to 16 million are exact in float32; half the memory of float64 for wide tables.
    narrow = np.float32 if n < 2**24 else np.float64
    centred = np.empty((n, d), dtype=narrow if kind == "spearman" else np.float64)
    length = np.zeros(d)
    for column in range(d):
        series = values[:, column]
        series = _average_ranks(series) if kind == "spearman" else series.astype(np.float64)
        constant = series.min() == series.max()
        series = series - series.mean()
        centred[:, column] = series
        length[column] = 0.0 if constant else math.sqrt(float(series @ series))
    product = np.zeros((d, d))
    for start in range(0, n, _ROWS_AT_A_TIME):
        rows = centred[start : start + _ROWS_AT_A_TIME].astype(np.float64)
        product += rows.T @ rows
    scale = np.outer(length, length)
    return np.divide(product, scale, out=np.zeros_like(product), where=scale > 0)


def _average_ranks(series: NDArray[np.floating]) -> NDArray[np.float64]:
    order = np.argsort(series, kind="stable")
    ordered = series[order]
    starts = np.flatnonzero(np.r_[True, ordered[1:] != ordered[:-1]])
    sizes = np.diff(np.r_[starts, series.size])
    ranks = np.empty(series.size)
    ranks[order] = np.repeat(starts + (sizes - 1) / 2, sizes)
    return ranks
