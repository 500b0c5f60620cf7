"""Tables for the terminal."""

from __future__ import annotations

from rich.cells import cell_len
from rich.console import Group
from rich.table import Table as RichTable
from rich.text import Text

from alora_ts.bench.tables.table import ResultTable

__all__ = ["as_terminal"]

_STYLES = {"best": "bold green", "second": "underline"}
_GAP = 2


def as_terminal(table: ResultTable, *, width: int) -> Group:
    """Make a table that rich can print; no number is ever cut off.

    Parameters
    ----------
    table : ResultTable
    width : int
        Of the terminal. A wider table continues below, its rows' names repeated.

    Examples
    --------
    >>> from alora_ts.bench.tables.table import Cell, Row
    >>> row = Row("KNN", (Cell(value=0.5),))
    >>> table = ResultTable("detection", "Title", ("method", "F1"), (row,))
    >>> len(as_terminal(table, width=80).renderables)
    3
    """
    widths = [_width(table, number) for number in range(len(table.columns))]
    blocks: list[list[int]] = [[]]
    used = widths[0]
    for number in range(1, len(widths)):
        if blocks[-1] and used + _GAP + widths[number] > width:
            blocks.append([])
            used = widths[0]
        blocks[-1].append(number)
        used += _GAP + widths[number]
    notes = [Text(note, style="dim") for note in table.notes]
    return Group(
        Text(f"\n{table.title}", style="bold"),
        *(_grid(table, [0, *block], widths) for block in blocks),
        *notes,
        Text(""),
    )


def _width(table: ResultTable, number: int) -> int:
    """What a column needs: its longest cell, or its heading broken between words."""
    if number == 0:
        cells = [table.columns[0], *(row.name for row in table.rows)]
    else:
        cells = [*table.columns[number].split(), *(cell.text for cell in table.column(number))]
    return max(cell_len(text) for text in cells)


def _grid(table: ResultTable, numbers: list[int], widths: list[int]) -> RichTable:
    grid = RichTable(box=None, pad_edge=False, padding=(0, _GAP, 0, 0), header_style="bold")
    for number in numbers:
        grid.add_column(
            Text(table.columns[number]),
            justify="left" if number == 0 else "right",
            vertical="bottom",
            width=widths[number],
        )
    # An empty line sets the yardsticks apart.
    before: bool | None = None
    for row in table.rows:
        if before not in {None, row.apart}:
            grid.add_row()
        before = row.apart
        cells = [row.cells[number - 1] for number in numbers[1:]]
        grid.add_row(
            Text(row.name, style="dim italic" if row.apart else ""),
            *(Text(cell.text, style=_STYLES[cell.mark] if cell.mark else "") for cell in cells),
        )
    return grid
