"""Giving missing cells a value, never from beyond a gap.

Cells are already scaled here, so 0 is a variable's usual level: the value of last resort.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

__all__ = ["Memory", "hold", "interpolate", "settled_rows"]


@dataclass
class Memory:
    """The last value each variable had in the current segment, changed as rows pass.

    Attributes
    ----------
    value : ndarray of float32, shape (d,)
        NaN where there was none yet.
    tick : ndarray of float64, shape (d,)
        When that was.
    missed : ndarray of int64, shape (d,)
        How many rows have been missing since (since the segment began, where value is NaN).
    """

    value: NDArray[np.float32]
    tick: NDArray[np.float64]
    missed: NDArray[np.int64]

    @classmethod
    def empty(cls, width: int) -> Memory:
        """Begin with nothing known.

        Examples
        --------
        >>> Memory.empty(2).value
        array([nan, nan], dtype=float32)
        """
        return cls(np.full(width, np.nan, np.float32), np.zeros(width), np.zeros(width, np.int64))

    def pass_rows(
        self,
        rows: NDArray[np.float32],
        missing: NDArray[np.bool_],
        ticks: NDArray[Any],
        breaks: NDArray[np.bool_],
    ) -> None:
        """Take note of rows; ``breaks`` marks those that begin a segment.

        Examples
        --------
        >>> memory = Memory.empty(1)
        >>> rows = np.array([[3.0], [0.0]], np.float32)
        >>> missing, begins = np.array([[False], [True]]), np.array([True, False])
        >>> memory.pass_rows(rows, missing, np.arange(2), begins)
        >>> memory.value, memory.missed
        (array([3.], dtype=float32), array([1]))
        """
        if not len(rows):
            return
        begins = np.flatnonzero(breaks)
        if len(begins):
            begin = int(begins[-1])
            rows, missing, ticks = rows[begin:], missing[begin:], ticks[begin:]
            self.value[:], self.missed[:] = np.nan, 0
        since = np.argmax(~missing[::-1], axis=0)  # rows since the last value, where there is one
        seen = ~missing[len(missing) - 1 - since, np.arange(missing.shape[1])]
        at = len(rows) - 1 - since
        self.value[seen] = rows[at[seen], np.flatnonzero(seen)]
        self.tick[seen] = ticks[at[seen]]
        self.missed = np.where(seen, since, self.missed + len(rows)).astype(np.int64)


def hold(
    rows: NDArray[np.float32],
    missing: NDArray[np.bool_],
    breaks: NDArray[np.bool_],
    memory: Memory,
    *,
    limit: int | None,
) -> None:
    """Fill missing cells in place with the segment's last value, for at most ``limit`` rows.

    Cells without one (the segment has had no value yet, or the limit is passed) become 0.

    Parameters
    ----------
    rows : ndarray of float32, shape (n, d)
        Scaled rows; changed.
    missing : ndarray of bool, shape (n, d)
    breaks : ndarray of bool, shape (n,)
        Rows that begin a segment.
    memory : Memory
        As it was before these rows; not changed.
    limit : int or None

    Examples
    --------
    >>> rows = np.array([[np.nan], [2.0], [np.nan], [np.nan]], np.float32)
    >>> start = np.array([True, False, False, False])
    >>> hold(rows, np.isnan(rows), start, Memory.empty(1), limit=1)
    >>> rows[:, 0]
    array([0., 2., 2., 0.], dtype=float32)
    """
    holed = np.flatnonzero(missing.any(axis=0))
    if not len(holed):
        return
    count = np.arange(len(rows))
    begin = np.maximum.accumulate(np.where(breaks, count, -1))  # -1: continues from before
    for at in holed:
        gone = missing[:, at]
        last = np.maximum.accumulate(np.where(gone, -1, count))
        # Before the first value here, what was before these rows counts, unless a segment began.
        inside = last >= np.maximum(begin, 0)
        carried = ~inside & (begin < 0)
        held = np.where(inside, rows[last, at], np.where(carried, memory.value[at], np.nan))
        if limit is not None:
            age = np.where(inside, count - last, count + 1 + memory.missed[at])
            held[age > limit] = np.nan
        rows[gone, at] = np.nan_to_num(held[gone], nan=0.0)


def interpolate(
    rows: NDArray[np.float32],
    missing: NDArray[np.bool_],
    ticks: NDArray[Any],
    breaks: NDArray[np.bool_],
    memory: Memory,
    *,
    limit: int | None,
) -> None:
    """Fill missing cells in place on the line between the values around them, in time.

    At a segment's beginning and end the nearest value is taken. A run of more than ``limit``
    missing cells becomes 0. Parameters as for :func:`hold`, with the rows' times.

    Examples
    --------
    >>> rows = np.array([[1.0], [np.nan], [3.0], [np.nan]], np.float32)
    >>> start = np.array([True, False, False, False])
    >>> interpolate(rows, np.isnan(rows), np.arange(4), start, Memory.empty(1), limit=None)
    >>> rows[:, 0]
    array([1., 2., 3., 3.], dtype=float32)
    """
    holed = np.flatnonzero(missing.any(axis=0))
    if not len(holed):
        return
    total = len(rows)
    count = np.arange(total)
    begin = np.maximum.accumulate(np.where(breaks, count, -1))
    end = _next(np.r_[breaks[1:], True], total) + 1  # one past the segment's last row here
    time = ticks.astype(np.float64)
    for at in holed:
        gone = np.flatnonzero(missing[:, at])
        before = np.maximum.accumulate(np.where(missing[:, at], -1, count))[gone]
        after = _next(~missing[:, at], total)[gone]
        first, stop = begin[gone], end[gone]
        has_before, has_after = before >= np.maximum(first, 0), after < stop
        carried = ~has_before & (first < 0)
        known = carried & ~np.isnan(memory.value[at])
        left = np.where(has_before, rows[before, at], np.where(known, memory.value[at], np.nan))
        left_time = np.where(has_before, time[before], memory.tick[at])
        nearest = np.minimum(after, total - 1)
        right = np.where(has_after, rows[nearest, at], np.nan)
        width = np.where(has_after, time[nearest] - left_time, 1.0)
        share = (time[gone] - left_time) / np.where(width > 0, width, 1.0)
        line = left + share * (right - left)
        line = np.where(np.isnan(right), left, np.where(np.isnan(left), right, line))
        if limit is not None:
            opened = np.where(has_before, before + 1, np.maximum(first, 0))
            length = np.minimum(after, stop) - opened + np.where(carried, memory.missed[at], 0)
            line[length > limit] = np.nan
        rows[gone, at] = np.nan_to_num(line, nan=0.0)


def settled_rows(
    missing: NDArray[np.bool_], breaks: NDArray[np.bool_], memory: Memory, *, limit: int
) -> int:
    """Count the first rows whose interpolation later rows cannot change any more.

    Examples
    --------
    >>> gone = np.array([[False], [False], [True]])
    >>> settled_rows(gone, np.array([True, False, False]), Memory.empty(1), limit=5)
    2
    """
    total = len(missing)
    if not total:
        return 0
    begins = np.flatnonzero(breaks)
    begin = int(begins[-1]) if len(begins) else 0
    tail = missing[begin:][::-1]
    run = np.where(tail.all(axis=0), len(tail), np.argmax(~tail, axis=0))
    carried = (run == total) & (len(begins) == 0)
    length = run + np.where(carried, memory.missed, 0)
    waiting = run[(run > 0) & (length <= limit)]
    return total - int(waiting.max(initial=0))


def _next(marks: NDArray[np.bool_], total: int) -> NDArray[np.intp]:
    """For each row, the first marked row at or after it; ``total`` where there is none."""
    at = np.where(marks, np.arange(total), total)
    return np.minimum.accumulate(at[::-1])[::-1]
