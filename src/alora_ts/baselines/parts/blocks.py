"""Down-sampling by the median of consecutive rows."""

from __future__ import annotations

import numpy as np

from alora_ts.baselines.inputs import Rows
from alora_ts.data.windows import segment_starts

__all__ = ["median_blocks"]


def median_blocks(rows: Rows, size: int) -> Rows:
    """Replace each ``size`` consecutive rows of a segment by their median.

    Parameters
    ----------
    rows : Rows
        The rows.
    size : int
        Rows of a block; the last block of a segment may be shorter.

    Returns
    -------
    Rows
        Its ``answers`` give the block of each row.

    Examples
    --------
    >>> from alora_ts.baselines.inputs import InputReader, Scaling
    >>> rows = InputReader(Scaling(bounds=(0, 6))).fit(np.array([0.0, 1, 5, 6]))
    >>> blocks = median_blocks(rows, 3)
    >>> blocks.values[:, 0].round(3), blocks.answers
    (array([1., 6.], dtype=float32), array([0, 0, 0, 1]))
    """
    if size == 1:
        return Rows(rows.values, rows.segments, rows.timestamps, np.arange(len(rows)))
    starts = segment_starts(len(rows), rows.segments)
    lengths = np.diff(np.r_[starts, len(rows)])
    age = np.arange(len(rows)) - np.repeat(starts, lengths)
    firsts = np.flatnonzero(age % size == 0)
    stops = np.r_[firsts[1:], len(rows)]
    values = np.empty((len(firsts), rows.values.shape[1]), np.float32)
    whole = np.flatnonzero(stops - firsts == size)
    members = firsts[whole, None] + np.arange(size)
    values[whole] = np.median(rows.values[members], axis=1)
    for short in np.flatnonzero(stops - firsts < size):
        values[short] = np.median(rows.values[firsts[short] : stops[short]], axis=0)
    return Rows(
        values,
        rows.segments[firsts],
        None if rows.timestamps is None else rows.timestamps[firsts],
        np.repeat(np.arange(len(firsts)), stops - firsts),
    )
