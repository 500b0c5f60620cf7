"""Windows as views, and which window scores which row."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from alora_ts.errors import DataError

__all__ = [
    "WindowPlan",
    "plan_windows",
    "segment_ages",
    "segment_starts",
    "window_ends",
    "window_view",
    "windows_apart",
]


def segment_starts(n_rows: int, segments: NDArray[np.integer[Any]] | None) -> NDArray[np.intp]:
    """Return the rows at which a segment begins.

    Parameters
    ----------
    n_rows : int
        How many rows there are.
    segments : ndarray of int, shape (n_rows,), or None
        The segment of each row; None for a single one. A segment is a run of equal numbers.

    Examples
    --------
    >>> segment_starts(5, np.array([0, 0, 1, 1, 1]))
    array([0, 2])
    """
    if n_rows == 0:
        return np.empty(0, np.intp)
    if segments is None:
        return np.zeros(1, np.intp)
    return np.flatnonzero(np.r_[True, segments[1:] != segments[:-1]])


def segment_ages(n_rows: int, segments: NDArray[np.integer[Any]] | None) -> NDArray[np.intp]:
    """How many rows of its segment come before each row, (n_rows,).

    Examples
    --------
    >>> segment_ages(5, np.array([0, 0, 1, 1, 1]))
    array([0, 1, 0, 1, 2])
    """
    starts = segment_starts(n_rows, segments)
    return np.arange(n_rows) - np.repeat(starts, np.diff(np.r_[starts, n_rows]))


def window_ends(
    n_rows: int, window: int, segments: NDArray[np.integer[Any]] | None = None
) -> NDArray[np.intp]:
    """Return the rows t whose window [t − window + 1, t] lies in one segment.

    Examples
    --------
    >>> window_ends(7, 3, np.array([0, 0, 0, 1, 1, 1, 1]))
    array([2, 5, 6])
    """
    starts = segment_starts(n_rows, segments)
    whole = np.zeros(n_rows, bool)
    for start, stop in zip(starts, np.r_[starts[1:], n_rows].astype(np.intp), strict=False):
        whole[start + window - 1 : stop] = True
    return np.flatnonzero(whole)


def windows_apart(
    ends: NDArray[np.intp], window: int, rows: NDArray[np.bool_]
) -> NDArray[np.bool_]:
    """Which windows, given by the row they end at, hold none of the rows marked.

    Examples
    --------
    >>> windows_apart(np.array([2, 3, 5]), 3, np.array([False, True] + 4 * [False]))
    array([False, False,  True])
    """
    before = np.concatenate([[0], np.cumsum(rows)])
    apart: NDArray[np.bool_] = before[ends + 1] == before[ends + 1 - window]
    return apart


def window_view(values: NDArray[Any], window: int) -> NDArray[Any]:
    """View every window of consecutive rows, without a copy.

    Parameters
    ----------
    values : ndarray of shape (N, d)
        The rows.
    window : int
        The window's length T.

    Returns
    -------
    ndarray of shape (N − T + 1, T, d)
        A read-only view; item i is ``values[i : i + T]``.

    Raises
    ------
    DataError
        When there are fewer rows than one window has.

    Examples
    --------
    >>> window_view(np.arange(4).reshape(4, 1), 3)[1, :, 0]
    array([1, 2, 3])
    """
    if len(values) < window:
        raise DataError(
            f"{len(values)} rows are fewer than one window of {window}; give more rows or choose "
            "a smaller window"
        )
    return np.lib.stride_tricks.sliding_window_view(values, window, axis=0).transpose(0, 2, 1)


@dataclass(frozen=True)
class WindowPlan:
    """The windows to compute, and which of them scores each row.

    Attributes
    ----------
    window : int
        T.
    ends : ndarray of intp, shape (W,)
        The last row of each window, increasing.
    starts : ndarray of intp, shape (W,)
        The first row of each window: ``ends − T + 1``, or the segment's first row where the
        segment is shorter than a window.
    of_row : ndarray of intp, shape (N,)
        For each row the window (an index into ``ends``) that scores it: the one that ends at the
        row, or the segment's first for its first T − 1 rows.
    warm_up : ndarray of bool, shape (N,)
        The rows whose window does not end at them, or had to be padded.
    """

    window: int
    ends: NDArray[np.intp]
    starts: NDArray[np.intp]
    of_row: NDArray[np.intp]
    warm_up: NDArray[np.bool_]

    def position(self) -> NDArray[np.intp]:
        """Return the place of each row in the window that scores it, from 0 to T − 1.

        Examples
        --------
        >>> plan_windows(5, 3).position()
        array([0, 1, 2, 2, 2])
        """
        rows = np.arange(len(self.of_row))
        return self.window - 1 - (self.ends[self.of_row] - rows)

    def gather(self, values: NDArray[Any], chosen: slice | NDArray[np.intp]) -> NDArray[Any]:
        """Copy some of the windows; a short segment's is padded at its left with its first row.

        Parameters
        ----------
        values : ndarray of shape (N, d)
            The rows the plan was made for.
        chosen : slice or ndarray of int
            Which windows, as an index into ``ends``.

        Returns
        -------
        ndarray of shape (len(chosen), T, d)

        Examples
        --------
        >>> plan_windows(2, 4).gather(np.array([[1.0], [2.0]]), slice(None))[0, :, 0]
        array([1., 1., 1., 2.])
        """
        ends, starts = self.ends[chosen], self.starts[chosen]
        rows = ends[:, None] + np.arange(1 - self.window, 1)  # (B, T)
        windows: NDArray[Any] = values[np.maximum(rows, starts[:, None])]
        return windows


def plan_windows(
    n_rows: int, window: int, segments: NDArray[np.integer[Any]] | None = None
) -> WindowPlan:
    """Plan the windows so that every row gets a score.

    The first T − 1 rows of a segment are scored from its first window, and all rows of a segment
    shorter than T from one window that repeats the segment's first row at its left.

    Examples
    --------
    >>> plan = plan_windows(6, 3, np.array([0, 0, 0, 0, 1, 1]))
    >>> plan.ends, plan.starts
    (array([2, 3, 5]), array([0, 1, 4]))
    >>> plan.of_row, plan.warm_up
    (array([0, 0, 0, 1, 2, 2]), array([ True,  True, False, False,  True,  True]))
    """
    starts = segment_starts(n_rows, segments)
    lengths = np.diff(np.r_[starts, n_rows])
    first_row = np.repeat(starts, lengths)
    age = np.arange(n_rows) - first_row
    # The last row of a segment ends a window even where the segment is shorter than one.
    is_end = age >= window - 1
    short_ends = (starts + lengths - 1)[lengths < window]
    is_end[short_ends] = True
    ends = np.flatnonzero(is_end)
    # Counting the ends up to a row gives its window; rows before the segment's first end count
    # one too few, so each takes the next end at or after it.
    of_row = np.cumsum(is_end, dtype=np.intp) - is_end
    warm_up = age < window - 1
    return WindowPlan(
        window=window,
        ends=ends,
        starts=np.maximum(ends - window + 1, first_row[ends]),
        of_row=of_row,
        warm_up=warm_up,
    )
