"""Standard deviations over seeds, beside the published ones."""

from __future__ import annotations

from collections.abc import Iterable

from alora_ts.bench.published import published
from alora_ts.bench.record import Record
from alora_ts.bench.tables.by_method import place_of
from alora_ts.bench.tables.contenders import Contender, arenas
from alora_ts.bench.tables.detection import BEST_F1, GIVEN_F1
from alora_ts.bench.tables.summary import detected, located, summarize
from alora_ts.bench.tables.table import Cell, ResultTable, Row

__all__ = ["deviations"]

_COLUMNS = (
    ("F1", detected(BEST_F1), "detection-deviation", BEST_F1),
    ("F1 label-free", detected(GIVEN_F1), None, ""),
    (
        "RF1",
        detected("best threshold / range F1"),
        "range-deviation",
        "best threshold / range F1",
    ),
    (
        "VUS-ROC",
        detected("all thresholds / VUS-ROC"),
        "range-deviation",
        "all thresholds / VUS-ROC",
    ),
    ("VUS-PR", detected("all thresholds / VUS-PR"), "range-deviation", "all thresholds / VUS-PR"),
    ("HR@100", located("HR@100"), "localization-deviation", "HR@100"),
    ("IPS@100", located("IPS@100"), "localization-deviation", "IPS@100"),
)


def deviations(records: Iterable[Record]) -> list[ResultTable]:
    """Standard deviations over seeds of the means over entities; by plan and dataset."""
    found = []
    for arena in arenas(records):
        rows = [one for one in arena.contenders if _seeds(one) > 1]
        columns: list[str] = []
        cells: list[list[Cell]] = []
        for title, read, table, key in _COLUMNS:
            ours = [
                Cell(value=summarize(one.records, read, arena.entities).deviation) for one in rows
            ]
            if all(cell.value is None for cell in ours):
                continue
            columns.append(title)
            cells.append(ours)
            theirs = [_published(table, arena.dataset, one.method, key) for one in rows]
            if any(cell.value is not None for cell in theirs):
                columns.append(f"{title}, published")
                cells.append(theirs)
        if not columns:
            continue
        once = [one.name for one in arena.contenders if _seeds(one) == 1]
        found.append(
            ResultTable(
                "deviations",
                f"Standard deviations over seeds on {place_of(arena)}",
                ("method", "seeds", *columns),
                tuple(
                    Row(
                        one.name,
                        (
                            Cell(value=_seeds(one), digits=0),
                            *(column[at] for column in cells),
                        ),
                        apart=one.honest,
                    )
                    for at, one in enumerate(rows)
                ),
                (
                    f"Plan {arena.plan}. Of the means over all entities, n − 1; a seed that lacks "
                    f"an entity is not counted.",
                    *([f"Run with one seed: {', '.join(once)}."] if once else []),
                ),
            )
        )
    return found


def _seeds(contender: Contender) -> int:
    return len({one.seed for one in contender.records})


def _published(table: str | None, dataset: str, method: str, key: str) -> Cell:
    value = None if table is None else published(table, dataset, method, key)
    return Cell() if value is None else Cell(value=value.value)
