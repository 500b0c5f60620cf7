"""What the network says of each row: the value it expects and the rank of its attention."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
import torch
from numpy.typing import NDArray

from alora_ts.data.windows import plan_windows
from alora_ts.fast.engine import Engine
from alora_ts.progress import Report

__all__ = ["Evidence", "gather_evidence", "walk"]


@dataclass(frozen=True)
class Evidence:
    """Of some rows, in scaled units.

    Attributes
    ----------
    rows : ndarray of int, shape (n,)
        Which rows.
    expected : ndarray of shape (n, d)
        ŷ_t, from the window that ends at t.
    rank : ndarray of shape (n,)
        Rank of that window's last attention matrix (Eq. 10).
    warm_up : ndarray of bool, shape (n,)
        Rows without a full window behind them: what is said of them comes from the first window
        of their segment.
    """

    rows: NDArray[np.intp]
    expected: NDArray[np.float32]
    rank: NDArray[np.int16]
    warm_up: NDArray[np.bool_]


def walk(
    engine: Engine,
    values: NDArray[np.float32],
    segments: NDArray[np.integer] | None,
    *,
    window: int,
    rank_level: float,
    report: Report,
) -> Iterator[Evidence]:
    """Run the network over every row, a chunk at a time (stride 1, the window ends at the row).

    Parameters
    ----------
    engine : Engine
    values : ndarray of shape (N, d)
        Prepared rows.
    segments : ndarray of int, shape (N,), or None
        Windows never cross from one segment into the next.
    window : int
        T.
    rank_level : float
        h1.
    report : callable
        Receives the progress.

    Yields
    ------
    Evidence
        Together they hold every row once; within a segment in order of time, but the first rows
        of a segment, which wait for its first window, come right after it.
    """
    plan = plan_windows(len(values), window, segments)
    # A window is its segment's first where rows before its end depend on it.
    dependants = np.bincount(plan.of_row, minlength=len(plan.ends)) - 1
    for chunk in engine.chunks(values, plan, report, rank_level=rank_level):
        rank = chunk.rank
        assert rank is not None
        ends = plan.ends[chunk.windows]
        yield Evidence(ends, chunk.expected, rank, plan.warm_up[ends])
        for at in np.flatnonzero(dependants[chunk.windows]):
            first = chunk.windows.start + at
            whole = engine.whole_window(torch.from_numpy(plan.gather(values, np.array([first]))))
            early = np.arange(plan.ends[first] - dependants[first], plan.ends[first])
            expected = whole[0, -1 - len(early) : -1].numpy()
            yield Evidence(
                early, expected, np.full(len(early), rank[at]), np.ones(len(early), dtype=bool)
            )


def gather_evidence(
    engine: Engine,
    values: NDArray[np.float32],
    segments: NDArray[np.integer] | None,
    *,
    window: int,
    rank_level: float,
    report: Report,
) -> Evidence:
    """The evidence of all rows, in their order. Parameters as for :func:`walk`."""
    n = len(values)
    expected = np.empty_like(values)
    rank = np.empty(n, dtype=np.int16)
    warm_up = np.empty(n, dtype=bool)
    for part in walk(engine, values, segments, window=window, rank_level=rank_level, report=report):
        expected[part.rows], rank[part.rows] = part.expected, part.rank
        warm_up[part.rows] = part.warm_up
    return Evidence(np.arange(n), expected, rank, warm_up)
