"""What the network says of each row: the value it expects and the rank of its attention."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import torch
from numpy.typing import NDArray

from alora_ts.data.windows import WindowPlan, plan_windows, segment_starts
from alora_ts.progress import Report
from alora_ts.scoring.engine import Engine
from alora_ts.scoring.spectrum import count_rank

__all__ = ["Evidence", "gather_evidence"]


@dataclass(frozen=True)
class Evidence:
    """Per row, in scaled units.

    Attributes
    ----------
    expected : ndarray of shape (N, d)
        ŷ_t, from the window that ends at t.
    rank : ndarray of shape (N,)
        Rank of that window's last attention matrix (Eq. 10).
    warm_up : ndarray of bool, shape (N,)
        Rows without a full window behind them: their values come from the first window of their
        segment.
    """

    expected: NDArray[np.float32]
    rank: NDArray[np.int16]
    warm_up: NDArray[np.bool_]


def gather_evidence(
    engine: Engine,
    values: NDArray[np.float32],
    segments: NDArray[np.integer] | None,
    *,
    window: int,
    rank_level: float,
    report: Report,
) -> Evidence:
    """Run the network over every row (stride 1, the window ends at the row).

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

    Returns
    -------
    Evidence
    """
    plan = plan_windows(len(values), window, segments)
    expected = np.empty_like(values)
    rank = np.empty(len(plan.ends), dtype=np.int16)
    for chunk in engine.chunks(values, plan, report):
        expected[plan.ends[chunk.windows]] = chunk.expected
        rank[chunk.windows] = count_rank(chunk.attention, rank_level)
    _fill_warm_up(engine, values, segments, plan, expected)
    return Evidence(expected, rank[plan.of_row], plan.warm_up)


def _fill_warm_up(
    engine: Engine,
    values: NDArray[np.float32],
    segments: NDArray[np.integer] | None,
    plan: WindowPlan,
    expected: NDArray[np.float32],
) -> None:
    """Give the first rows of each segment what their segment's first window says of them."""
    position = plan.position()
    for start in segment_starts(len(values), segments):
        first = plan.of_row[start]
        whole = engine.whole_window(torch.from_numpy(plan.gather(values, np.array([first]))))
        rows = np.arange(start, plan.ends[first])
        expected[rows] = whole[0].numpy()[position[rows]]
