"""Extremes of short stretches, so that a month of rows is drawn without reading it.

A stretch ("bucket") of a source holds about 256 rows. For the score, each variable and each
expectation it keeps the lowest and the highest value with their times, once for the whole bucket
(coarse) and once for each sixteenth of it (fine): what a min-max down-sampling would pick.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

__all__ = ["COARSE", "FINE", "PARTS", "summarise", "unfold"]

COARSE, FINE = 1, 2
PARTS = 16


def summarise(
    times: NDArray[np.int64], lines: NDArray[np.float64], *, start: int, width: int, parts: int
) -> bytes:
    """Extremes of every line in each of ``parts`` equal stretches of [start, start + width).

    Parameters
    ----------
    times : ndarray of int64, shape (N,)
    lines : ndarray of shape (N, k)
        NaN is missing.

    Returns
    -------
    bytes
        (parts, k, 4) numbers: time and value of the lowest, time and value of the highest; NaN
        where a stretch has none. Times count from ``start``.
    """
    kept = np.full((parts, lines.shape[1], 4), np.nan)
    part_of = np.minimum((times - start) * parts // width, parts - 1)
    columns = np.arange(lines.shape[1])
    for part in np.unique(part_of).tolist():
        rows = part_of == part
        offset = (times[rows] - start).astype(np.float64)
        values = lines[rows]
        missing = np.isnan(values)
        low = np.where(missing, np.inf, values).argmin(0)
        high = np.where(missing, -np.inf, values).argmax(0)
        present = ~missing.all(0)
        stretch = np.stack(
            [offset[low], values[low, columns], offset[high], values[high, columns]], axis=1
        )
        kept[part, present] = stretch[present]
    return kept.astype("<f8").tobytes()


def unfold(
    starts: Sequence[int], blobs: Sequence[bytes], *, parts: int, lines: Sequence[int]
) -> list[tuple[NDArray[np.int64], NDArray[np.float64]]]:
    """Times and values of some lines from summaries in order of time.

    Parameters
    ----------
    starts : sequence of int
    blobs : sequence of bytes
        As :func:`summarise` made them; those made before a source had a line are shorter.
    parts : int
    lines : sequence of int
        Which lines.

    Returns
    -------
    list of (ndarray of int64, ndarray of float64)
        For each line, in order of time.
    """
    found: list[tuple[NDArray[np.int64], NDArray[np.float64]]] = []
    sizes = np.array(list(map(len, blobs)))
    groups = []
    for size in np.unique(sizes).tolist():
        chosen = np.flatnonzero(sizes == size).tolist()
        whole = np.frombuffer(b"".join([blobs[at] for at in chosen]), "<f8")
        groups.append(
            (
                np.array([starts[at] for at in chosen], dtype=np.int64),
                whole.reshape(len(chosen), parts, -1, 4),
            )
        )
    for line in lines:
        times, values = [np.zeros(0, np.int64)], [np.zeros(0)]
        for begin, whole in groups:
            if line >= whole.shape[2]:
                continue
            stretch = whole[:, :, line].reshape(len(begin), -1, 2)
            present = ~np.isnan(stretch[..., 0])
            moments = begin[:, None] + np.nan_to_num(stretch[..., 0]).astype(np.int64)
            times.append(moments[present])
            values.append(stretch[..., 1][present])
        # The lowest often is the highest too (one row), and then stands there twice.
        moments, first = np.unique(np.concatenate(times), return_index=True)
        found.append((moments, np.concatenate(values)[first]))
    return found
