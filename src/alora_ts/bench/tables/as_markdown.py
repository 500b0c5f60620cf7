"""Tables as Markdown."""

from __future__ import annotations

from alora_ts.bench.tables.table import Cell, ResultTable

__all__ = ["as_markdown"]

_MARKS = {"best": "**", "second": "*"}


def as_markdown(table: ResultTable, *, level: int = 3) -> str:
    r"""Write a table as Markdown: a heading, the table and its notes.

    Parameters
    ----------
    table : ResultTable
    level : int
        Of the heading.

    Examples
    --------
    >>> from alora_ts.bench.tables.table import Row
    >>> row = Row("KNN", (Cell(value=0.5),))
    >>> table = ResultTable("detection", "Title", ("method", "F1"), (row,))
    >>> print(as_markdown(table))
    ### Title
    <BLANKLINE>
    | method | F1 |
    |---|---:|
    | KNN | 0.500 |
    <BLANKLINE>
    """
    lines = [
        f"{'#' * level} {table.title}",
        "",
        _line([_escaped(name) for name in table.columns]),
        "|---" + "|---:" * (len(table.columns) - 1) + "|",
        *(
            _line(
                [
                    f"*{_escaped(row.name)}*" if row.apart else _escaped(row.name),
                    *(_cell(cell) for cell in row.cells),
                ]
            )
            for row in table.rows
        ),
        "",
    ]
    notes = list(table.notes)
    if any(cell.mark for row in table.rows for cell in row.cells):
        notes.append("**Best**, *second best*.")
    if notes:
        lines += [" ".join(notes), ""]
    return "\n".join(lines)


def _line(cells: list[str]) -> str:
    return f"| {' | '.join(cells)} |"


def _cell(cell: Cell) -> str:
    around = _MARKS[cell.mark] if cell.mark else ""
    return f"{around}{_escaped(cell.text)}{around}"


def _escaped(text: str) -> str:
    return text.replace("|", r"\|").replace("*", r"\*").replace("_", r"\_").replace("\n", " ")
