"""Ablations as paired differences, against the same by hand."""

from __future__ import annotations

from statistics import fmean

import pytest

from alora_ts.bench.record import Record
from alora_ts.bench.tables.catalogue import build_tables
from alora_ts.bench.tables.contenders import cases
from alora_ts.bench.tables.detection import BEST_F1
from alora_ts.bench.tables.paired import differences
from alora_ts.bench.tables.summary import detected
from alora_ts.version import __version__
from tests.bench.records import HONEST, invented, tournament

ENTITIES = ("omi-1", "omi-2")


def core(seeds: tuple[int, ...] = (0, 1, 2), *, lacking: bool = False) -> list[Record]:
    """Two cases on two servers, level with entity and seed; the base is ahead by 0.1 + seed/100."""
    found = tournament(HONEST, dataset="ASD", entities=ENTITIES, seeds=[0], plan="core")
    for place, entity in enumerate(ENTITIES):
        for seed in seeds:
            level = 0.5 + place / 10
            for label, case, more in (("base", "whole", 0.1 + seed / 100), ("no-x", "less x", 0.0)):
                if lacking and (label, entity, seed) == ("no-x", "omi-2", 2):
                    continue
                one = invented("alora", dataset="ASD", entity=entity, seed=seed, plan="core",
                               label=label, studies={"core": case}, level=level + more)  # fmt: skip
                found.append(one)
    return found


def test_pairs_are_of_one_entity_and_one_seed() -> None:
    (arena,) = cases(core()).values()
    pairs = differences(arena, "less x", detected(BEST_F1))
    assert set(pairs) == {(entity, seed) for entity in ENTITIES for seed in (0, 1, 2)}
    assert pairs["omi-2", 2] == pytest.approx(0.12)
    (table,) = build_tables(core(), "paired")
    (row,) = table.rows
    assert (row.name, table.columns[:3]) == (
        "less x, ASD",
        ("left out or changed", "entities", "pairs"),
    )
    entities, count, first, *_ = row.cells
    assert (entities.value, count.value) == (2, 6)
    assert first.value == pytest.approx(fmean(pairs.values()))
    assert first.interval is not None
    low, high = first.interval
    assert min(pairs.values()) <= low < first.value < high <= max(pairs.values())


def test_what_lacks_a_run_is_no_pair_and_few_pairs_have_no_interval() -> None:
    (table,) = build_tables(core(lacking=True), "paired")
    entities, count, first, *_ = table.rows[0].cells
    assert (entities.value, count.value) == (2, 5)
    assert first.value == pytest.approx(fmean([0.1, 0.11, 0.12, 0.1, 0.11]))
    assert first.interval is None


def test_one_seed_makes_no_table() -> None:
    assert build_tables(core(seeds=(0,)), "paired") == []


def test_rows_of_another_version_are_named() -> None:
    records = tournament(["norm", "knn", "alora"], seeds=[0])
    old = {"versions": {"alora-ts": "0.0.0"}}
    new = {"versions": {"alora-ts": __version__}}
    mixed = [
        invented(one.method, entity=one.entity, measured=old if one.method == "knn" else new)
        for one in records
    ]
    (table,) = build_tables(mixed, "detection")
    said = " ".join(table.notes)
    assert f"Run by version 0.0.0, not by {__version__}: KNN." in said
    said = " ".join(build_tables(records, "detection")[0].notes)
    assert f"Run by version 0.0.0, not by {__version__}: all rows." in said
