from __future__ import annotations

import numpy as np
import pytest

from alora_ts.data.fill import Memory, hold
from alora_ts.data.hold import RowHold


@pytest.mark.parametrize("share", [0.0, 0.3, 0.9, 1.0])
@pytest.mark.parametrize("d", [1, 4])
def test_row_by_row_as_the_whole_table(share: float, d: int) -> None:
    rng = np.random.default_rng(d)
    rows = rng.normal(size=(60, d)).astype(np.float32)
    rows[rng.random(rows.shape) < share] = np.nan
    breaks = rng.random(60) < 0.1
    breaks[0] = True
    table = rows.copy()
    hold(table, np.isnan(table), breaks, Memory.empty(d), limit=None)
    # Scaled rows have 0 as their usual level.
    held, given = RowHold(np.zeros(d)), rows.astype(np.float64)
    for at, begins in enumerate(breaks):
        if begins:
            held.restart()
        np.testing.assert_array_equal(held.fill(given[at]), table[at])
    np.testing.assert_array_equal(given, rows)  # nothing was written into the caller's rows


def test_looking_back_finds_what_going_forward_would_hold() -> None:
    rng = np.random.default_rng(3)
    rows = rng.normal(size=(30, 5))
    rows[rng.random(rows.shape) < 0.7] = np.nan
    held = RowHold(np.full(5, np.nan))
    for row in rows[:-1]:
        held.fill(row)
    read: list[int] = []

    def earlier() -> object:
        for at in range(28, -1, -1):
            read.append(at)
            yield rows[at]

    found = RowHold.recall(rows[-1], earlier())  # type: ignore[arg-type]
    np.testing.assert_array_equal(found, held.fill(rows[-1]))
    assert len(read) < 28
    np.testing.assert_array_equal(RowHold.recall(rows[-1], iter(())), rows[-1])
