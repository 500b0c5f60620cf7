from __future__ import annotations

from pathlib import Path

import pytest

from alora_ts.bench.common import common_ground
from alora_ts.errors import AloraError
from tests.bench.records import invented, written
from tests.cli.invoke import invoke


def test_only_entities_that_every_method_has_are_kept() -> None:
    records = [
        invented("knn"),
        invented("alora", seed=0),
        invented("alora", seed=1, status="failed", error="too long"),
        invented("knn", entity="machine-1-9"),
        invented("alora", entity="machine-1-9", seed=0),
        invented("knn", dataset="MSL", entity=None),
    ]
    kept, left = common_ground(records)
    assert kept == records[:3]
    assert left == ["MSL", "SMD machine-1-9"]


def test_plans_are_judged_apart() -> None:
    records = [invented("knn"), invented("pca", plan="other", entity="machine-1-9")]
    assert common_ground(records) == (records, [])


def test_nothing_in_common_is_said() -> None:
    records = [invented("knn"), invented("pca", entity="machine-1-9")]
    with pytest.raises(AloraError, match="no entity has results of every method"):
        common_ground(records)


def test_tables_and_page_of_a_plan_on_its_way(tmp_path: Path) -> None:
    methods = ("random", "norm", "knn", "alora")
    records = [invented(method) for method in methods]
    folder = written([*records, invented("knn", entity="machine-1-9")], tmp_path / "results")
    shown = invoke("bench", "tables", folder, "--table", "detection", "--common")
    assert shown.code == 0
    assert "entities" not in shown.out.split("\n\n")[0]
    assert invoke("bench", "page", folder, "--common", "--out", tmp_path / "page.md").code == 0
    page = (tmp_path / "page.md").read_text()
    assert "Not every method has been run on SMD machine-1-9; nothing of them is shown." in page
    assert "--common --out" in page
