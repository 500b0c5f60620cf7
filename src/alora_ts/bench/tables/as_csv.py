"""Tables as CSV, for programs: full precision, nothing rounded or marked."""

from __future__ import annotations

import csv
import io

from alora_ts.bench.tables.table import DASH, Cell, ResultTable

__all__ = ["as_csv"]


def as_csv(table: ResultTable) -> str:
    r"""Write a table as CSV, its title and notes left out.

    A column with deviations, intervals or partial coverage is followed by columns for them.

    Examples
    --------
    >>> from alora_ts.bench.tables.table import Row
    >>> cells = (Cell(value=0.8125, deviation=0.01),)
    >>> as_csv(ResultTable("detection", "t", ("method", "F1"), (Row("KNN", cells),)))
    'method,F1,F1 std\nKNN,0.8125,0.01\n'
    """
    out = io.StringIO()
    writer = csv.writer(out, lineterminator="\n")
    parts = [
        (number, part) for number in range(1, len(table.columns)) for part in _parts(table, number)
    ]
    writer.writerow(
        [table.columns[0], *(f"{table.columns[number]} {part}".strip() for number, part in parts)]
    )
    for row in table.rows:
        writer.writerow(
            [row.name, *(_content(row.cells[number - 1], part) for number, part in parts)]
        )
    return out.getvalue()


def _parts(table: ResultTable, number: int) -> list[str]:
    cells = table.column(number)
    found = [""]
    if any(cell.deviation is not None for cell in cells):
        found.append("std")
    if any(cell.interval is not None for cell in cells):
        found += ["low", "high"]
    if any(cell.part is not None for cell in cells):
        found.append("covers")
    return found


def _content(cell: Cell, part: str) -> str | float | None:
    if part == "std":
        return cell.deviation
    if part in {"low", "high"}:
        return None if cell.interval is None else cell.interval[part == "high"]
    if part == "covers":
        return cell.part
    if cell.value is not None:
        return cell.value
    return None if cell.words == DASH else cell.words
