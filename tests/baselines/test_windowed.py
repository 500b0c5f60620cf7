from __future__ import annotations

import numpy as np
import torch
from hypothesis import given
from hypothesis import strategies as st

from alora_ts.baselines.inputs import Rows
from alora_ts.baselines.windowed import (
    Windows,
    plan_padded,
    plan_strided,
    score_ends,
    score_positions,
)
from alora_ts.progress import Step
from tests.baselines import naive_windows as naive

lengths = st.lists(st.integers(1, 12), min_size=1, max_size=4)


def numbered(run_lengths: list[int]) -> Rows:
    segments = np.repeat(np.arange(len(run_lengths)), run_lengths).astype(np.int32)
    values = np.arange(len(segments), dtype=np.float32)[:, None]
    return Rows(values, segments, None, np.arange(len(segments)))


@given(lengths, st.integers(1, 6), st.integers(1, 7))
def test_strided_windows_agree_with_loops(runs: list[int], window: int, stride: int) -> None:
    rows = numbered(runs)
    windows, of_row = naive.strided(rows.segments.tolist(), window, stride)
    plan = plan_strided(rows, window, stride)
    gathered = plan.gather(rows.values, slice(None))[..., 0]
    np.testing.assert_array_equal(gathered, windows)
    np.testing.assert_array_equal(plan.of_row, of_row)
    if stride <= window:
        at_place = gathered[plan.of_row, plan.position()]
        np.testing.assert_array_equal(at_place, rows.values[:, 0])


@given(lengths, st.integers(1, 6))
def test_padded_windows_agree_with_loops(runs: list[int], window: int) -> None:
    rows = numbered(runs)
    gathered = plan_padded(rows, window).gather(rows.values, slice(None))[..., 0]
    np.testing.assert_array_equal(gathered, naive.padded(rows.segments.tolist(), window))


@given(lengths, st.integers(1, 6), st.integers(1, 5))
def test_scores_come_back_to_their_rows(runs: list[int], window: int, batch: int) -> None:
    rows = numbered(runs)
    steps: list[Step] = []
    tiles = Windows(rows, plan_strided(rows, window, window))
    same = score_positions(tiles, lambda values: values, batch_size=batch, report=steps.append)
    np.testing.assert_array_equal(same, rows.values)
    assert steps[-1].done == steps[-1].total == len(tiles)
    plan = plan_strided(rows, window)
    last = score_ends(
        Windows(rows, plan), lambda values: values[:, -1, 0], batch_size=batch, report=steps.append
    )
    np.testing.assert_array_equal(last, plan.ends[plan.of_row])
    padded = Windows(rows, plan_padded(rows, window))
    first = score_ends(padded, lambda values: values[:, -1], batch_size=batch, report=steps.append)
    np.testing.assert_array_equal(first, rows.values)


def test_subsets_and_batches_are_the_same_windows() -> None:
    rows = numbered([9])
    windows = Windows(rows, plan_strided(rows, 3))
    some = windows.subset(np.array([5, 1]))
    assert len(some) == 2
    torch.testing.assert_close(some.take(slice(None)), windows.take(np.array([5, 1])))
    torch.testing.assert_close(torch.cat(list(windows.batches(2))), windows.take(slice(None)))
