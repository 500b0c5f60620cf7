"""Means over blocks of the clock, and the truth that goes with them.

The paper averages SWaT and HAI over one minute. It does not say how labels are averaged: here a
block is anomalous when any of its rows is.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from alora_ts.datasets.dataset import Segment

__all__ = ["Stretch", "block_means", "split_at_gaps"]


@dataclass(frozen=True, eq=False)
class Stretch:
    """Rows of train or test with their clock and truth.

    Attributes
    ----------
    values : ndarray of shape (rows, d), float32
    timestamps : ndarray of shape (rows,), datetime64[us]
    segments : ndarray of shape (rows,), int64
    label : ndarray of shape (rows,), bool
    interpretation : tuple of Segment
    """

    values: NDArray[np.float32]
    timestamps: NDArray[np.datetime64]
    segments: NDArray[np.int64]
    label: NDArray[np.bool_]
    interpretation: tuple[Segment, ...]


def split_at_gaps(
    timestamps: NDArray[np.datetime64],
    segments: NDArray[np.int64],
    *,
    longest: np.timedelta64,
) -> NDArray[np.int64]:
    """Renumber segments so that none spans a pause longer than ``longest``.

    Examples
    --------
    >>> clock = np.array(["2020-01-01T00:00:00", "2020-01-01T00:00:01", "2020-01-01T00:05:00"],
    ...                  dtype="datetime64[us]")
    >>> split_at_gaps(clock, np.zeros(3, np.int64), longest=np.timedelta64(60, "s"))
    array([0, 0, 1])
    """
    border = (np.diff(timestamps) > longest) | (np.diff(segments) != 0)
    return np.concatenate(([0], np.cumsum(border))).astype(np.int64)[: len(segments)]


def block_means(rows: Stretch, *, seconds: int) -> Stretch:
    """Average rows over blocks of the clock; a block never mixes two segments.

    Parameters
    ----------
    rows : Stretch
        In order of time within each segment.
    seconds : int
        Length of a block; blocks begin at whole multiples of it. One that holds fewer rows (at a
        border, or where rows are missing) is the mean of those it has.

    Returns
    -------
    Stretch
        Its timestamps are the beginnings of the blocks. A block is labelled when any of its rows
        is, and an interpretation covers each block that it touches.

    Examples
    --------
    >>> clock = np.arange(4).astype("datetime64[s]").astype("datetime64[us]")
    >>> rows = Stretch(np.array([[1], [3], [5], [9]], np.float32), clock, np.zeros(4, np.int64),
    ...                np.array([False, False, False, True]), (Segment(3, 4, (0,)),))
    >>> means = block_means(rows, seconds=2)
    >>> means.values.ravel().tolist(), means.label.tolist(), means.interpretation
    ([2.0, 7.0], [False, True], (Segment(start=1, end=2, variables=(0,)),))
    """
    block = rows.timestamps.astype("datetime64[s]").astype(np.int64) // seconds
    border = (np.diff(block) != 0) | (np.diff(rows.segments) != 0)
    first = np.concatenate(([0], np.flatnonzero(border) + 1))
    number = np.concatenate(([0], np.cumsum(border)))
    count = np.diff(np.append(first, len(block)))
    # In double precision, or long plateaus of large readings lose digits.
    total = np.add.reduceat(rows.values.astype(np.float64), first, axis=0)
    return Stretch(
        values=(total / count[:, None]).astype(np.float32),
        timestamps=(block[first] * seconds).astype("datetime64[s]").astype("datetime64[us]"),
        segments=rows.segments[first],
        label=np.logical_or.reduceat(rows.label, first),
        interpretation=tuple(
            Segment(int(number[s.start]), int(number[s.end - 1]) + 1, s.variables)
            for s in rows.interpretation
        ),
    )
