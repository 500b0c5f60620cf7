"""The median of the last values of a series, kept as they come."""

from __future__ import annotations

from bisect import bisect_left, insort
from collections import deque
from collections.abc import Iterable, Sequence

import numpy as np

__all__ = ["RunningMedian"]


class RunningMedian:
    """Keeps the last values in order.

    Parameters
    ----------
    normal : sequence of float
        Evenly spaced quantiles of normal values.
    memory : int
        How many values are kept.
    before : int
        How many stand for the values before the first: quantiles of the normal ones.

    Examples
    --------
    >>> median = RunningMedian((1.0, 2.0, 3.0), memory=50, before=10)
    >>> for _ in range(60):
    ...     median.push(7.0)
    >>> median.usual, median.now
    (2.0, 7.0)
    """

    def __init__(self, normal: Sequence[float], *, memory: int, before: int) -> None:
        count = min(before, memory)
        known = np.linspace(0, 1, len(normal))
        filled = np.interp(np.linspace(0, 1, count + 2)[1:-1], known, normal)
        self._memory = memory
        self._sorted: list[float] = filled.tolist()
        # The values that stand for the past leave in an order that keeps their distribution.
        self._recent = deque(filled[np.random.default_rng(0).permutation(count)].tolist())
        self.usual = float(np.interp(0.5, known, normal))

    def __len__(self) -> int:
        return len(self._recent)

    def renew(self, values: Iterable[float]) -> None:
        """Forget all values; these, oldest first and ``memory`` at most, are kept instead."""
        self._recent = deque(values)
        self._sorted = sorted(self._recent)

    def quantile(self, share: float) -> float:
        """The value that so many of those kept do not exceed; the usual one where none are."""
        if not self._sorted:
            return self.usual
        return self._sorted[min(int(share * len(self._sorted)), len(self._sorted) - 1)]

    @property
    def now(self) -> float:
        """The upper median of the values kept; the usual one where none are."""
        return self.quantile(0.5)

    def push(self, value: float) -> None:
        """Take a value in and let the oldest go."""
        if not self._memory:
            return
        if len(self._sorted) >= self._memory:
            oldest = self._recent.popleft()
            del self._sorted[bisect_left(self._sorted, oldest)]
        insort(self._sorted, value)
        self._recent.append(value)
