"""What the methods were run on."""

from __future__ import annotations

from collections.abc import Iterable

from alora_ts.bench.published import published, remarks
from alora_ts.bench.record import Record
from alora_ts.bench.tables.contenders import natural
from alora_ts.bench.tables.table import DASH, Cell, ResultTable, Row

__all__ = ["datasets"]

_COLUMNS = (
    ("variables", "variables", 0),
    ("train rows", "train_rows", 0),
    ("test rows", "test_rows", 0),
    ("anomalous", "anomalous", 3),
)


def datasets(records: Iterable[Record]) -> list[ResultTable]:
    """Sizes and shares of anomalies, all in all beside the paper's, and of every entity."""
    places: dict[str, dict[str | None, dict[str, float]]] = {}
    for record in records:
        if record.data:
            places.setdefault(record.dataset, {})[record.entity] = record.data
    if not places:
        return []
    return [_whole(places), _apart(places)]


def _whole(places: dict[str, dict[str | None, dict[str, float]]]) -> ResultTable:
    rows, notes = [], ["Rows and events are sums over the entities that were run."]
    for dataset, entities in places.items():
        parts = list(entities.values())
        test_rows = sum(part["test_rows"] for part in parts)
        ours = {
            "variables": max(part["variables"] for part in parts),
            "train_rows": sum(part["train_rows"] for part in parts),
            "test_rows": test_rows,
            "anomalous": sum(part["anomalous"] * part["test_rows"] for part in parts) / test_rows,
        }
        cells = [Cell(value=len(parts), digits=0)]
        for _, key, digits in _COLUMNS:
            theirs = published("datasets", dataset, "all", key)
            cells.append(Cell(value=ours[key], digits=digits))
            cells.append(Cell() if theirs is None else Cell(value=theirs.value, digits=digits))
        cells.append(Cell(value=sum(part["events"] for part in parts), digits=0))
        rows.append(Row(dataset, tuple(cells)))
        notes += remarks("datasets", dataset)
    headings = [name for title, _, _ in _COLUMNS for name in (title, f"{title}, published")]
    return ResultTable(
        "datasets",
        "Datasets",
        ("dataset", "entities", *headings, "events"),
        tuple(rows),
        tuple(dict.fromkeys(notes)),
    )


def _apart(places: dict[str, dict[str | None, dict[str, float]]]) -> ResultTable:
    rows = [
        Row(
            f"{dataset} {entity or DASH}",
            (
                *(Cell(value=part[key], digits=digits) for _, key, digits in _COLUMNS),
                Cell(value=part["events"], digits=0),
            ),
        )
        for dataset, entities in places.items()
        for entity, part in sorted(entities.items(), key=lambda one: natural(one[0] or ""))
    ]
    return ResultTable(
        "datasets",
        "Entities",
        ("entity", *(title for title, _, _ in _COLUMNS), "events"),
        tuple(rows),
    )
