"""Localization: which variables a method names, and what naming them by chance is worth."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace

from alora_ts.baselines.registry import find, names
from alora_ts.bench.record import Record
from alora_ts.bench.tables.by_method import Metric, method_table, place_of
from alora_ts.bench.tables.contenders import Arena, Contender, arenas
from alora_ts.bench.tables.summary import located, summarize
from alora_ts.bench.tables.table import Cell, ResultTable, Row

__all__ = ["localization"]

_KEYS = tuple(f"{name}@{percent}" for name in ("HR", "NDCG", "IPS") for percent in (100, 150))
_BY = " / "
"""Between the name of a form and a metric's, in records."""
_FORMS = (
    "LAS, LAS top-k and LAS* are what the paper's Algorithm 2 returns, from the network of the row "
    "they are named after."
)
_METRICS = tuple(Metric(title=key, read=located(key), key=key) for key in _KEYS)


def localization(records: Iterable[Record]) -> list[ResultTable]:
    """HR, NDCG and IPS at 100 and 150 %; a table for each plan and dataset with such labels."""
    found = []
    for arena in arenas(records):
        labelled = _labelled(arena)
        if not labelled:
            continue
        can = tuple(one for one in arena.contenders if _localizes(one))
        cannot = [one.name for one in arena.contenders if not _localizes(one)]
        unlabelled = [str(entity) for entity in arena.entities if entity not in labelled]
        forms = tuple(form for one in can for form in _forms(one))
        here = replace(arena, contenders=(*can, *forms), entities=labelled)
        table = method_table(
            here,
            _METRICS,
            name="localization",
            title=f"Localization on {place_of(here)}",
            published_as="localization",
            extra=[_chance(here)],
            notes=[
                "Chance is the exact expectation for random scores; the random row is drawn.",
                *(
                    f"{one.name} names variables for whole segments, not for rows: IPS only."
                    for one in can
                    if _segments_only(one)
                ),
                *([_FORMS] if forms else []),
                *([f"These name no variables: {', '.join(cannot)}."] if cannot else []),
                *([f"Without such labels: {', '.join(unlabelled)}."] if unlabelled else []),
            ],
        )
        if table is not None:
            found.append(table)
    return found


def _forms(contender: Contender) -> list[Contender]:
    """The other ways of scoring variables that its fits were judged by, each as a row."""
    names = dict.fromkeys(
        key.split(_BY)[0] for one in contender.records for key in one.localization if _BY in key
    )
    return [
        Contender(
            f"{contender.name}, {name}",
            name,  # the paper prints its numbers for the best form only, so not beside this one
            tuple(
                replace(
                    record,
                    localization={
                        key.removeprefix(f"{name}{_BY}"): value
                        for key, value in record.localization.items()
                        if key.startswith(f"{name}{_BY}")
                    },
                )
                for record in contender.records
            ),
        )
        for name in names
    ]


def _labelled(arena: Arena) -> tuple[str | None, ...]:
    there = {
        record.entity for one in arena.contenders for record in one.records if record.localization
    }
    return tuple(entity for entity in arena.entities if entity in there)


def _localizes(contender: Contender) -> bool:
    if any(one.localization for one in contender.records):
        return True
    # One that failed everywhere belongs into the table if it could have been in it.
    done = any(one.status == "done" for one in contender.records)
    known = contender.method in names()
    return not done and not (known and not find(contender.method).capabilities.localizes)


def _segments_only(contender: Contender) -> bool:
    found = [one.localization for one in contender.records if one.localization]
    return bool(found) and all("HR@100" not in one for one in found)


def _chance(arena: Arena) -> Row:
    """What random scores are expected to reach: the same for every method on an entity."""
    records = [record for one in arena.contenders for record in one.records]
    cells = []
    for key in _KEYS:

        def chance(record: Record, key: str = key) -> float | None:
            found = record.localization.get(key)
            return None if found is None else found.chance

        cells.append(Cell(value=summarize(records, chance, arena.entities).value))
    return Row("chance, exact", tuple(cells))
