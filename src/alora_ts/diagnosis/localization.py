"""ALoRa-Loc and its relatives: from squared errors to the variables that caused them (Eq. 13).

All forms share one function. With e_j the squared error of variable j and C_ij the weight with
which input i enters reconstruction j:

==================  ==============================================================================
``"paper"``         LAS_i = Σ_j C_ij e_j (Eq. 13)
``"paper-top-k"``   the same over the k largest C_ij of row i
``"error"``         LAS* of Algorithm 2: e_i itself
``"absolute"``      Σ_j |C_ij| e_j
``"normalised"``    Σ_j |C_ij| / Σ_k |C_ik| · e_j
``"authors"``       what the authors' program computes: |C|, the k largest of each row kept, rows
                    normalised, then Σ_j e_j C_ji (the transpose)
``"blend"``         the mean of "error" and "absolute", each divided by its sum
==================  ==============================================================================

Given one matrix for each row every form uses it in place of C. With Σ_q |W_t[q]| of
:func:`alora_ts.network.window_contributions` that is the form built on the attention of the
moment.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

from alora_ts.errors import AloraError, nearest

__all__ = ["LOCALIZATIONS", "localize"]

Array = NDArray[np.float64]


def localize(
    error: NDArray[np.floating],
    contributions: NDArray[np.floating],
    *,
    form: str = "paper",
    top: int = 2,
) -> Array:
    """Localization score of each variable at each row.

    Parameters
    ----------
    error : ndarray of shape (N, d)
        Squared errors.
    contributions : ndarray of shape (d, d) or (N, d, d)
        C (Eq. 12), or one such matrix for each row.
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
    >>> error = np.array([[1.0, 0.0]])
    >>> c = np.array([[0.5, 0.1], [0.9, 0.2]])
    >>> localize(error, c)
    array([[0.5, 0.9]])
    >>> localize(error, c, form="error")
    array([[1., 0.]])
    """
    if form not in LOCALIZATIONS:
        raise AloraError(f"unknown localization {form!r}{nearest(form, LOCALIZATIONS)}")
    e = np.asarray(error, dtype=np.float64)
    c = np.asarray(contributions, dtype=np.float64)
    return LOCALIZATIONS[form](e, c, top)


def _paper(e: Array, c: Array, _: int) -> Array:
    return _spread(e, c)


def _paper_top(e: Array, c: Array, top: int) -> Array:
    return _spread(e, np.where(_largest(c, top), c, 0.0))


def _error(e: Array, _c: Array, _: int) -> Array:
    return e.copy()


def _absolute(e: Array, c: Array, _: int) -> Array:
    return _spread(e, np.abs(c))


def _normalised(e: Array, c: Array, _: int) -> Array:
    return _spread(e, _to_one(np.abs(c)))


def _authors(e: Array, c: Array, top: int) -> Array:
    size = np.abs(c)
    kept = _to_one(np.where(_largest(size, top), size, 0.0))
    return _spread(e, np.swapaxes(kept, -1, -2))


def _blend(e: Array, c: Array, top: int) -> Array:
    return (_to_one(e) + _to_one(_absolute(e, c, top))) / 2


LOCALIZATIONS: dict[str, Callable[[Array, Array, int], Array]] = {
    "paper": _paper,
    "paper-top-k": _paper_top,
    "error": _error,
    "absolute": _absolute,
    "normalised": _normalised,
    "authors": _authors,
    "blend": _blend,
}
"""The forms by name; see the module's description."""


def _spread(e: Array, weights: Array) -> Array:
    """Σ_j weights_ij e_j for each row, (N, d)."""
    result: Array = e @ weights.T if weights.ndim == 2 else np.einsum("nj,nij->ni", e, weights)
    return result


def _to_one(matrix: Array) -> Array:
    """Divide by the sum along the last axis; where that is zero, leave zeros."""
    total = np.add.reduce(matrix, -1, keepdims=True)
    result: Array = matrix / np.where(total > 0, total, np.inf)
    return result


def _largest(matrix: Array, top: int) -> NDArray[np.bool_]:
    """Mark the ``top`` largest entries of each row; ties go to the lower index."""
    order = np.argsort(-matrix, axis=-1, kind="stable")[..., :top]
    marked = np.zeros(matrix.shape, dtype=bool)
    np.put_along_axis(marked, order, True, axis=-1)
    return marked
