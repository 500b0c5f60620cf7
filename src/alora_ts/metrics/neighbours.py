"""Which neighbours a position had at the moment it was inserted into (or taken from) a row."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

__all__ = ["neighbours_when_removed"]


def neighbours_when_removed(
    order: NDArray[np.int64], n: int
) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Remove positions one after another; tell the nearest ones still present at each removal.

    Read backwards it answers insertion: when positions are inserted in the opposite order, these
    are the neighbours that each finds.

    Parameters
    ----------
    order : ndarray of int64
        Distinct positions among 0 … n − 1, in order of removal; the others are never removed.
    n : int
        How many positions there are.

    Returns
    -------
    before, after : ndarray of int64, shape (n,)
        The nearest positions left and right, −1 and n where there was none.

    Examples
    --------
    >>> before, after = neighbours_when_removed(np.array([1, 2]), 4)
    >>> before.tolist(), after.tolist()
    ([-1, 0, 0, 0], [3, 2, 3, 4])
    """
    # A linked list is sequential by nature; Python's lists step through it faster than arrays.
    # A removed position keeps its links, which is the answer.
    before = list(range(-1, n - 1))
    after = list(range(1, n + 1))
    last = n - 1
    for position in order.tolist():
        left = before[position]
        right = after[position]
        if left >= 0:
            after[left] = right
        if right <= last:
            before[right] = left
    return np.array(before, dtype=np.int64), np.array(after, dtype=np.int64)
