"""Every entity for itself: a mean hides who lost where."""

from __future__ import annotations

from collections.abc import Iterable

from alora_ts.bench.record import Record
from alora_ts.bench.tables.contenders import Arena, arenas
from alora_ts.bench.tables.significance import CRITERIA
from alora_ts.bench.tables.summary import Read, summarize
from alora_ts.bench.tables.table import Cell, ResultTable, Row, mark_best

__all__ = ["entities"]


def entities(records: Iterable[Record]) -> list[ResultTable]:
    """A row for each entity and a column for each method; a table for each metric and dataset."""
    found = []
    for arena in arenas(records):
        if len(arena.entities) < 2:
            continue
        for title, read in CRITERIA.items():
            table = _table(arena, title, read)
            if table is not None:
                found.append(table)
    return found


def _table(arena: Arena, title: str, read: Read) -> ResultTable | None:
    columns = {
        one.name: summarize(one.records, read, arena.entities).entities for one in arena.contenders
    }
    columns = {name: values for name, values in columns.items() if values}
    if not columns:
        return None
    rows = []
    for entity in arena.entities:
        cells = [Cell(value=values.get(entity)) for values in columns.values()]
        marked = mark_best(cells, [True] * len(cells), "more")
        rows.append(Row(str(entity), tuple(marked)))
    return ResultTable(
        "entities",
        f"{arena.dataset} by entity: {title}",
        ("entity", *columns),
        tuple(rows),
        (f"Plan {arena.plan}. Means over seeds.",),
    )
