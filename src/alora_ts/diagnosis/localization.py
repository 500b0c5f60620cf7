"""ALoRa-Loc and its relatives: from residuals to the variables that caused them (Eq. 13).

All forms share one function. With r_j the residual of variable j, e_j its square, and C_ij the
weight with which input i enters reconstruction j:

==================  ==============================================================================
``"paper"``         LAS_i = Σ_j C_ij e_j (Eq. 13)
``"paper-top-k"``   the same over the k largest C_ij of row i
``"error"``         LAS* of Algorithm 2: e_i itself
``"absolute"``      Σ_j |C_ij| e_j
``"normalised"``    Σ_j |C_ij| / Σ_k |C_ik| · e_j
``"authors"``       what the authors' program computes: |C|, the k largest of each row kept, rows
                    normalised, then Σ_j e_j C_ji (the transpose)
``"blend"``         the mean of "error" and "absolute", each divided by its sum
``"projection"``    (r · g_i)² / ‖g_i‖² with g_i = u_i − C_i·, how the residual would look if input
                    i alone had deviated: what of the residual a fault of i can explain
==================  ==============================================================================

Given matrices for each row, such as W_t of :func:`alora_ts.network.window_contributions` summed
over the steps of interest, every form uses those in place of the one C.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

from alora_ts.errors import AloraError, nearest

__all__ = ["LOCALIZATIONS", "localize"]

Array = NDArray[np.float64]


def localize(
    residual: NDArray[np.floating],
    contributions: NDArray[np.floating],
    *,
    form: str = "paper",
    top: int = 2,
) -> Array:
    """Localization score of each variable at each row.

    Parameters
    ----------
    residual : ndarray of shape (N, d)
        Observed minus expected, in units in which the variables can be compared.
    contributions : ndarray of shape (d, d) or (N, d, d)
        C (Eq. 12) in the same units, or one such matrix for each row.
    form : str
        One of :data:`LOCALIZATIONS`; see the module's description.
    top : int
        k of the forms that keep the k largest.

    Returns
    -------
    ndarray of shape (N, d)
        Higher is more suspicious. May be negative where C is signed.

    Examples
    --------
    >>> residual = np.array([[1.0, 0.0]])
    >>> c = np.array([[0.5, 0.1], [0.9, 0.2]])
    >>> localize(residual, c)
    array([[0.5, 0.9]])
    >>> localize(residual, c, form="error")
    array([[1., 0.]])
    """
    if form not in LOCALIZATIONS:
        raise AloraError(f"unknown localization {form!r}{nearest(form, LOCALIZATIONS)}")
    r = np.asarray(residual, dtype=np.float64)
    c = np.asarray(contributions, dtype=np.float64)
    return LOCALIZATIONS[form](r, c, top)


def _paper(r: Array, c: Array, _: int) -> Array:
    return _spread(r**2, c)


def _paper_top(r: Array, c: Array, top: int) -> Array:
    return _spread(r**2, np.where(_largest(c, top), c, 0.0))


def _error(r: Array, _c: Array, _: int) -> Array:
    return r**2


def _absolute(r: Array, c: Array, _: int) -> Array:
    return _spread(r**2, np.abs(c))


def _normalised(r: Array, c: Array, _: int) -> Array:
    return _spread(r**2, _to_one(np.abs(c)))


def _authors(r: Array, c: Array, top: int) -> Array:
    size = np.abs(c)
    kept = _to_one(np.where(_largest(size, top), size, 0.0))
    return _spread(r**2, np.swapaxes(kept, -1, -2))


def _blend(r: Array, c: Array, top: int) -> Array:
    return (_to_one(r**2) + _to_one(_absolute(r, c, top))) / 2


def _projection(r: Array, c: Array, _: int) -> Array:
    direction = np.eye(c.shape[-1]) - c
    length = np.sqrt(np.square(direction).sum(-1, keepdims=True))
    # A variable that the network copies entirely leaves no residual and explains none.
    unit = np.divide(direction, length, out=np.zeros_like(direction), where=length > 1e-9)
    return np.square(_spread(r, unit))


LOCALIZATIONS: dict[str, Callable[[Array, Array, int], Array]] = {
    "paper": _paper,
    "paper-top-k": _paper_top,
    "error": _error,
    "absolute": _absolute,
    "normalised": _normalised,
    "authors": _authors,
    "blend": _blend,
    "projection": _projection,
}
"""The forms by name; see the module's description."""


def _spread(e: Array, weights: Array) -> Array:
    """Σ_j weights_ij e_j for each row, (N, d)."""
    result: Array = e @ weights.T if weights.ndim == 2 else np.einsum("nj,nij->ni", e, weights)
    return result


def _to_one(matrix: Array) -> Array:
    """Divide by the sum along the last axis; where that is zero, leave zeros."""
    total = matrix.sum(-1, keepdims=True)
    result: Array = np.zeros_like(matrix)
    np.divide(matrix, total, out=result, where=total > 0)
    return result


def _largest(matrix: Array, top: int) -> NDArray[np.bool_]:
    """Mark the ``top`` largest entries of each row; ties go to the lower index."""
    order = np.argsort(-matrix, axis=-1, kind="stable")[..., :top]
    marked = np.zeros(matrix.shape, dtype=bool)
    np.put_along_axis(marked, order, True, axis=-1)
    return marked
