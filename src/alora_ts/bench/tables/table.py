"""One plain table, before anybody decides how it looks."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Literal

__all__ = ["DASH", "Better", "Cell", "Mark", "ResultTable", "Row", "mark_best"]

DASH = "–"
Better = Literal["more", "less"]
Mark = Literal["best", "second"]


@dataclass(frozen=True, kw_only=True)
class Cell:
    """A number with what belongs to it, or a word instead.

    Attributes
    ----------
    value : float or None
    deviation : float or None
        The standard deviation over seeds.
    interval : tuple of float or None
        A confidence interval.
    digits : int
        Decimals to show.
    part : str or None
        What the number covers where that is not everything, such as "5/7 entities".
    sign : str
        Refers to a note.
    words : str
        Instead of a number.
    mark : {"best", "second"} or None
    """

    value: float | None = None
    deviation: float | None = None
    interval: tuple[float, float] | None = None
    digits: int = 3
    part: str | None = None
    sign: str = ""
    words: str = DASH
    mark: Mark | None = None

    @property
    def text(self) -> str:
        """The cell as people read it.

        Examples
        --------
        >>> Cell(value=0.8125, deviation=0.01, part="5/7 entities").text
        '0.812 ±0.010 (5/7 entities)'
        >>> Cell(value=1200.4, digits=0, interval=(900.0, 1500.0)).text
        '1,200 [900, 1,500]'
        >>> Cell().text
        '–'
        """
        if self.value is None:
            return self.words
        said = _number(self.value, self.digits) + self.sign
        if self.deviation is not None:
            said += f" ±{_number(self.deviation, self.digits)}"
        if self.interval is not None:
            low, high = (_number(end, self.digits) for end in self.interval)
            said += f" [{low}, {high}]"
        return said if self.part is None else f"{said} ({self.part})"


@dataclass(frozen=True)
class Row:
    """A line of a table; ``apart`` where it is not a competitor but a yardstick."""

    name: str
    cells: tuple[Cell, ...]
    apart: bool = False


@dataclass(frozen=True)
class ResultTable:
    """A table.

    Attributes
    ----------
    name : str
        Which kind of table, for file names.
    title : str
    columns : tuple of str
        Headings; the first is that of the rows' names.
    rows : tuple of Row
    notes : tuple of str
        What must be known to read it.
    """

    name: str
    title: str
    columns: tuple[str, ...]
    rows: tuple[Row, ...]
    notes: tuple[str, ...] = ()

    def column(self, number: int) -> list[Cell]:
        """The cells below a heading; the rows' names are column 0 and have none."""
        return [row.cells[number - 1] for row in self.rows]


def _number(value: float, digits: int) -> str:
    said = f"{value:,.{digits}f}"
    # "-0.000" says nothing that "0.000" does not.
    return said.removeprefix("-") if float(said.replace(",", "")) == 0 else said


def mark_best(cells: Sequence[Cell], among: Sequence[bool], better: Better) -> list[Cell]:
    """Mark the best and the second-best of a column.

    Numbers that look the same are equal; where several are best, none is second. Cells that cover
    less than the others do not compete.

    Parameters
    ----------
    cells : sequence of Cell
    among : sequence of bool
        Which of them compete.
    better : {"more", "less"}

    Returns
    -------
    list of Cell

    Examples
    --------
    >>> cells = [Cell(value=0.9), Cell(value=0.95), Cell(value=0.99, part="1/2 entities")]
    >>> [cell.mark for cell in mark_best(cells, [True, True, True], "more")]
    ['second', 'best', None]
    """
    sign = 1 if better == "more" else -1
    shown = [
        sign * round(cell.value, cell.digits)
        if competes and cell.value is not None and cell.part is None
        else None
        for cell, competes in zip(cells, among, strict=True)
    ]
    places = sorted({value for value in shown if value is not None}, reverse=True)
    # A single row has no winner.
    if sum(value is not None for value in shown) < 2:
        return list(cells)
    marks: dict[float, Mark] = {places[0]: "best"}
    if len(places) > 1 and shown.count(places[0]) == 1:
        marks[places[1]] = "second"
    return [
        cell if value is None or value not in marks else replace(cell, mark=marks[value])
        for cell, value in zip(cells, shown, strict=True)
    ]
