"""NPSR's score: point errors that spread through rows which look nominal."""

from __future__ import annotations

from typing import Literal

import numpy as np
from numpy.typing import NDArray

__all__ = ["Gate", "gates", "induced_score", "nominality"]

Gate = Literal["soft", "hard", "open"]
_TINY = np.finfo(np.float64).tiny


def nominality(
    point_error: NDArray[np.float64], sequence_error: NDArray[np.float64]
) -> NDArray[np.float64]:
    """N_t = mean (e_seq − e_pt)² / mean e_seq² over the variables.

    Parameters
    ----------
    point_error, sequence_error : ndarray of shape (N, d)

    Returns
    -------
    ndarray of shape (N,)

    Examples
    --------
    >>> nominality(np.array([[1.0, 0.0]]), np.array([[2.0, 0.0]]))
    array([0.25])
    """
    apart = np.square(sequence_error - point_error).mean(axis=1)
    scores: NDArray[np.float64] = apart / np.maximum(np.square(sequence_error).mean(axis=1), _TINY)
    return scores


def gates(nominal: NDArray[np.float64], limit: float, kind: Gate) -> NDArray[np.float64]:
    """How much of a neighbour's error passes a row, in [0, 1].

    Examples
    --------
    >>> gates(np.array([0.0, 0.5, 3.0]), 1.0, "soft"), gates(np.array([0.5, 3.0]), 1.0, "hard")
    (array([1. , 0.5, 0. ]), array([1., 0.]))
    """
    if kind == "open":
        return np.ones_like(nominal)
    soft = np.maximum(0.0, 1.0 - nominal / max(limit, _TINY))
    return soft if kind == "soft" else (soft > 0).astype(np.float64)


def induced_score(
    errors: NDArray[np.float64], gate: NDArray[np.float64], reach: int
) -> NDArray[np.float64]:
    """Add to each row what its neighbours' errors induce through the gates between.

    Â_t = A_t + (2d / L_t) (Σ_k A_{t−k} Π_{j=t−k+1..t} g_j + Σ_k A_{t+k} Π_{j=t..t+k−1} g_j) for
    k = 1 … d, with L_t the rows of [t − d, t + d] that exist.

    Parameters
    ----------
    errors, gate : ndarray of shape (N,)
        A and g.
    reach : int
        d.

    Returns
    -------
    ndarray of shape (N,)

    Examples
    --------
    >>> induced_score(np.array([1.0, 2.0, 4.0]), np.ones(3), 1)  # edges: factor 2/2, middle 2/3
    array([3.        , 5.33333333, 6.        ])
    """
    count = len(errors)
    total = np.zeros(count)
    # Products grow by one gate a step, so that each k costs one pass over the rows.
    left, right = np.ones(count), np.ones(count)
    for k in range(1, min(reach, count - 1) + 1):
        left[k:] *= gate[1 : count - k + 1]
        right[: count - k] *= gate[k - 1 : count - 1]
        total[k:] += errors[: count - k] * left[k:]
        total[: count - k] += errors[k:] * right[: count - k]
    rows = np.arange(count)
    there = np.minimum(rows + reach, count - 1) - np.maximum(rows - reach, 0) + 1
    scores: NDArray[np.float64] = errors + 2 * reach / there * total
    return scores
