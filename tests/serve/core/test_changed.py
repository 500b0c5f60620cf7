"""Lasting incidents are told alike whether the service was restarted during them or not."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

from alora_ts import ALoRa
from alora_ts.serve.settings import Settings
from tests.serve.core import plant
from tests.serve.core.conftest import Plant, send_with_restart


@pytest.mark.parametrize("cut", [None, 350, 560])
def test_a_restart_makes_no_difference_to_what_has_changed(
    serve: Callable[[Settings], Plant], tmp_path: Path, cut: int | None
) -> None:
    model = plant.fit(drift_memory=200, merge=20)
    table = plant.values(750, seed=3)
    table[300:, 1] += 30
    table[540:580, 2] += 60
    wanted = model.diagnose(plant.frame(table), progress=False).incidents
    # The first incident changed what is usual, a later one is a fault by what is usual since.
    assert wanted[0].changed
    assert any(one.start < 550 < one.end and not one.changed for one in wanted)
    found = told(serve, model, tmp_path, table, cut)
    assert [(one["rows"], one["changed"] is not None) for one in found] == [
        (one.rows, one.changed) for one in wanted
    ]


@pytest.mark.parametrize("cut", [None, 900, 960, 1100])
def test_a_fault_within_a_lasting_incident_is_one_of_its_own(
    serve: Callable[[Settings], Plant], tmp_path: Path, cut: int | None
) -> None:
    model = plant.fit(drift_memory=0, merge=20)
    table = plant.values(1300, seed=3)
    table[300:1200, 1] += 25
    table[950:980, 3] += 500
    wanted = model.diagnose(plant.frame(table), progress=False).incidents
    endings = [(one.start, one.ending) for one in wanted if 250 < one.start < 1100]
    assert [how for _, how in endings] == ["another", "another", "quiet"]
    assert abs(endings[1][0] - 950) < 5
    assert next(one for one in wanted if one.start == endings[1][0]).culprits[0].variable == "heat"
    found = told(serve, model, tmp_path, table, cut)
    assert [(one["rows"], one["ending"]) for one in found] == [
        (one.rows, one.ending) for one in wanted
    ]


def told(
    serve: Callable[[Settings], Plant],
    model: ALoRa,
    folder: Path,
    table: NDArray[np.float64],
    cut: int | None,
) -> list[dict[str, Any]]:
    """What the service tells of a table, restarted before row ``cut``; the oldest first."""
    file = model.save(folder / "plant.alora")
    settings = Settings(folder=folder / "data", models={"plant": file}, late_limit=1e6)
    here = send_with_restart(serve, settings, plant.rows(table), cut)
    here.settle()
    items: list[dict[str, Any]] = here.client.get("/api/v1/incidents").json()["items"]
    return items[::-1]
