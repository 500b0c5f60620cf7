"""Which neighbours a position had at the moment it was inserted into (or taken from) a row."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

__all__ = ["neighbours_when_removed"]


def neighbours_when_removed(
    order: NDArray[np.int64], n: int
) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Remove positions one after another; return the nearest ones still present at each removal.

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
        For each removed position the nearest ones left and right, −1 and n where there was none.
        For positions that are never removed the values mean nothing.

    Examples
    --------
    >>> before, after = neighbours_when_removed(np.array([1, 2]), 4)
    >>> before[1:3].tolist(), after[1:3].tolist()
    ([0, 0], [2, 3])
    """
    # The nearest one present is the nearest one removed later. A pass from left to right keeps a
    # stack of positions removed ever earlier; each newcomer is the answer to those it outlasts.
    # The pass is sequential by nature, and Python's lists step through it faster than arrays.
    when = np.full(n + 1, n, dtype=np.int64)
    when[order] = np.arange(order.size)
    when[-1] = n + 1  # found at index −1: the post at the bottom of the stack
    times = when.tolist()
    before: list[int] = []
    after = [n] * n
    stack = [-1]
    top = -1
    for position in range(n):
        time = times[position]
        while times[top] < time:
            after[top] = position
            stack.pop()
            top = stack[-1]
        before.append(top)
        stack.append(position)
        top = position
    return np.array(before, dtype=np.int64), np.array(after, dtype=np.int64)
