"""Tables for the terminal."""

from __future__ import annotations

from rich.console import Group
from rich.table import Table as RichTable
from rich.text import Text

from alora_ts.bench.tables.table import Table

__all__ = ["as_terminal"]

_STYLES = {"best": "bold green", "second": "underline"}


def as_terminal(table: Table) -> Group:
    """Make a table that rich can print.

    Examples
    --------
    >>> from alora_ts.bench.tables.table import Cell, Row
    >>> table = Table("detection", "Title", ("method", "F1"), (Row("KNN", (Cell(value=0.5),)),))
    >>> len(as_terminal(table).renderables)
    3
    """
    grid = RichTable(box=None, pad_edge=False, padding=(0, 2, 0, 0), header_style="bold")
    for number, name in enumerate(table.columns):
        # Names must stay whole; headings may break between words.
        grid.add_column(
            Text(name),
            justify="left" if number == 0 else "right",
            vertical="bottom",
            min_width=max((len(row.name) for row in table.rows), default=0)
            if number == 0
            else None,
        )
    # An empty line sets the yardsticks apart.
    before: bool | None = None
    for row in table.rows:
        if before not in {None, row.apart}:
            grid.add_row()
        before = row.apart
        grid.add_row(
            Text(row.name, style="dim italic" if row.apart else ""),
            *(Text(cell.text, style=_STYLES[cell.mark] if cell.mark else "") for cell in row.cells),
        )
    notes = [Text(note, style="dim") for note in table.notes]
    return Group(Text(f"\n{table.title}", style="bold"), grid, *notes, Text(""))
