"""Whether the system has changed is told rightly of an incident that spans a restart."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from alora_ts.serve.settings import Settings
from tests.serve.core import plant
from tests.serve.core.conftest import Plant


@pytest.mark.parametrize("cut", [None, 350, 560])
def test_a_restart_makes_no_difference_to_what_has_changed(
    serve: Callable[[Settings], Plant], tmp_path: Path, cut: int | None
) -> None:
    model = plant.fit(drift_memory=200, merge=20)
    table = plant.values(750, seed=3)
    table[300:, 1] += 30
    wanted = model.diagnose(plant.frame(table), progress=False).incidents
    # The first incident changed what is usual, a later one began and ended within that.
    assert wanted[0].changed
    assert any(one.start < 560 < one.end and not one.changed for one in wanted)
    file = model.save(tmp_path / "plant.alora")
    settings = Settings(folder=tmp_path / "data", models={"plant": file}, late_limit=1e6)
    rows = plant.rows(table)
    here = serve(settings)
    if cut is not None:
        here.send(rows[:cut])
        here.settle()
        here.client.__exit__(None, None, None)
        here = serve(settings)
    here.send(rows[cut or 0 :])
    here.settle()
    found = here.client.get("/api/v1/incidents").json()["items"][::-1]
    assert [(one["rows"], one["changed"] is not None) for one in found] == [
        (one.rows, one.changed) for one in wanted
    ]
