"""Rows pushed one by one, as they arrive, get what a table gets."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from alora_ts.data import prepare
from alora_ts.data.prepare import Preparation
from alora_ts.data.record import Table
from alora_ts.data.table import as_table
from alora_ts.data.ticks import as_ticks
from alora_ts.progress import Step


@pytest.mark.parametrize("missing", ["hold", "mark"])
@pytest.mark.parametrize("timed", [True, False])
def test_one_row_at_a_time_equals_a_table(missing: Any, timed: bool) -> None:
    rng = np.random.default_rng(2)
    values = rng.normal(size=(80, 3))
    values[rng.random(values.shape) < 0.4] = np.nan
    values[30:45] = np.nan
    times = np.cumsum(rng.choice([1.0, 1.0, 1.0, 50.0], 80)) if timed else None
    table = Table(values, ("a", "b", "c"), times, time_name="time" if timed else None)
    fitted = Preparation(missing=missing, missing_limit=4, gap=10).fit(table)
    whole = fitted.apply(table)
    flow = fitted.flow(table, chunked=True)
    pieces = []
    for row in range(80):
        one = table.slice(row, row + 1)
        pieces.append(flow.push(one, as_ticks(one, row), final=True))
    np.testing.assert_array_equal(np.concatenate([p.values for p in pieces]), whole.values)
    np.testing.assert_array_equal(np.concatenate([p.segments for p in pieces]), whole.segments)


def test_large_tables_show_progress(monkeypatch: pytest.MonkeyPatch) -> None:
    table = as_table(np.arange(20_000.0))
    steps: list[Step] = []
    Preparation().fit(table, progress=steps.append).apply(table, progress=steps.append)
    assert steps == []
    monkeypatch.setattr(prepare, "_SHOWN_CELLS", 1)
    Preparation().fit(table, progress=steps.append).apply(table, progress=steps.append)
    assert [(step.task, step.done, step.total) for step in steps] == [
        ("measuring", 1, 1),
        ("preparing", 8192, 20_000),
        ("preparing", 16_384, 20_000),
        ("preparing", 20_000, 20_000),
    ]
