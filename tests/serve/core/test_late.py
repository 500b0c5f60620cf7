"""Late rows while a signal is dead cost the same however long it has been dead."""

from __future__ import annotations

import numpy as np
import pytest

from alora_ts import ALoRa
from alora_ts.serve.scoring import held as kept
from alora_ts.serve.scoring import restore
from tests.serve.core import plant
from tests.serve.core.conftest import Plant
from tests.serve.core.test_scoring import batch, check, warm_up


@pytest.mark.parametrize("gap", [False, True])
def test_a_dead_signal_and_late_rows(
    here: Plant, model: ALoRa, monkeypatch: pytest.MonkeyPatch, gap: bool
) -> None:
    monkeypatch.setattr(kept, "_EVERY", 200)
    read: list[int] = []
    inner = restore.rows_before

    def counted(*given: object, **named: object) -> object:
        block = inner(*given, **named)  # type: ignore[arg-type]
        read.append(len(block))
        return block

    n = 3000
    table, seconds = plant.values(n, seed=3), np.arange(n)
    table[20:, 2] = np.nan
    if gap:
        seconds[2700:] += 50
    rows = plant.rows(table, seconds=seconds)
    late = [500, 1500, 2800, 2950]
    here.send([row for at, row in enumerate(rows) if at not in late])
    here.settle()
    monkeypatch.setattr(restore, "rows_before", counted)
    # The last first: what is known from after a late row is no longer true.
    for at in late[::-1]:
        read.clear()
        assert here.send([rows[at]])["late"] == 1
        here.settle()
        assert sum(read) < 1200
    check(here.scores(), batch(model, table, seconds), warm_up(model, table, seconds))


def test_what_is_kept_is_bounded() -> None:
    held = kept.HeldRows()
    for at in range(10_000):
        held.note(at, np.zeros(1), rows=1000)
    assert len(held._times) <= kept._MOST
    assert held.before(10_000) == (9_999, np.zeros(1))
    assert held.before(0) is None
    assert held.before(5_000) is not None
