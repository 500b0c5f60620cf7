"""A row's score as the mean over the windows that hold it, as window methods score a series."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from alora_ts.scoring.rules import causal_mean

__all__ = ["covering_mean"]


def covering_mean(
    score: NDArray[np.float64], window: int, segments: NDArray[np.integer] | None
) -> NDArray[np.float64]:
    """Give each row the mean score of all windows that hold it.

    A window has the score of its last row. So this looks ahead: it is for series that are there
    as a whole, such as TSB-AD's, where methods that score windows are judged in this way. No alarm
    is raised by it.

    Parameters
    ----------
    score : ndarray of shape (N,)
    window : int
        Rows of a window; 1 leaves the scores as they are.
    segments : ndarray of int, shape (N,), or None
        No window reaches from one segment into the next.

    Returns
    -------
    ndarray of shape (N,)

    Examples
    --------
    >>> covering_mean(np.array([0.0, 0.0, 6.0, 0.0]), 3, None)
    array([2., 2., 3., 0.])
    """
    if window == 1:
        return score
    backwards = None if segments is None else segments[::-1]
    found: NDArray[np.float64] = causal_mean(score[::-1], window, backwards)[::-1]
    return np.ascontiguousarray(found)
