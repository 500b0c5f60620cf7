"""Tables with a row for each method and a column for each metric."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace

from alora_ts.bench.published import published, remarks
from alora_ts.bench.tables.contenders import Arena, Contender
from alora_ts.bench.tables.notes import gaps, missing_yardsticks, older, scope
from alora_ts.bench.tables.summary import Read, summarize
from alora_ts.bench.tables.table import DASH, Better, Cell, ResultTable, Row, mark_best

__all__ = ["Metric", "method_table", "place_of"]

_SIGN = "†"
_PUBLISHED = ", published"


@dataclass(frozen=True, kw_only=True)
class Metric:
    """A column of a table.

    Attributes
    ----------
    title : str
    read : callable
        Gives a record's number.
    key : str
        Its name among the published numbers.
    digits : int
    better : {"more", "less"} or None
        None where best and second-best mean nothing.
    spread : bool
        Whether the deviation over seeds means anything.
    yardsticks_compete : bool
        Whether the best may be a yardstick. Not where an endless alarm wins by nature.
    """

    title: str
    read: Read
    key: str = ""
    digits: int = 3
    better: Better | None = "more"
    spread: bool = True
    yardsticks_compete: bool = True


def method_table(
    arena: Arena,
    metrics: Sequence[Metric],
    *,
    name: str,
    title: str,
    published_as: str | None = None,
    heading: str = "method",
    extra: Iterable[Row] = (),
    notes: Iterable[str] = (),
    needs_yardsticks: bool = True,
) -> ResultTable | None:
    """Build a table, or None where no run has any of the numbers.

    Parameters
    ----------
    arena : Arena
    metrics : sequence of Metric
        Columns that no row can fill are left out.
    name, title, heading : str
    published_as : str, optional
        The paper's table; its numbers get a column beside each metric they exist for.
    extra : iterable of Row
        More yardsticks, of a cell for each metric.
    notes : iterable of str
        Added to those that follow from the records.
    needs_yardsticks : bool
        Whether to say so where a yardstick is missing.
    """
    columns: list[str] = []
    cells: list[list[Cell]] = []  # by column
    rows = [one for one in arena.contenders if _has_any(one, metrics)]
    misprints: list[str] = []
    yardsticks = list(extra)
    kept = []
    for number, metric in enumerate(metrics):
        ours = [_cell(one, metric, arena) for one in rows]
        if all(cell.value is None for cell in ours):
            continue
        kept.append(number)
        if metric.better is not None:
            competing = [metric.yardsticks_compete or not one.honest for one in rows]
            ours = mark_best(ours, competing, metric.better)
        columns.append(metric.title)
        cells.append(ours)
        if published_as is not None and metric.key:
            theirs = [
                _published(one, metric, published_as, arena.dataset, misprints) for one in rows
            ]
            if any(cell.value is not None for cell in theirs):
                columns.append(f"{metric.title}{_PUBLISHED}")
                cells.append(theirs)
    if not columns:
        return None
    above = [Row(row.name, _spread(row.cells, kept, columns), apart=True) for row in yardsticks]
    own = [not title.endswith(_PUBLISHED) for title in columns]
    below = [_row(one, [column[at] for column in cells], own) for at, one in enumerate(rows)]
    shows_published = any(title.endswith(_PUBLISHED) for title in columns)
    said = [
        scope(arena, rows, spread=any(metric.spread for metric in metrics)),
        *(missing_yardsticks(rows) if needs_yardsticks else ()),
        *gaps(arena),
        *older(rows),
        *notes,
        *(remarks(published_as, arena.dataset) if published_as and shows_published else ()),
        *misprints,
    ]
    return ResultTable(name, title, (heading, *columns), (*above, *below), tuple(said))


def place_of(arena: Arena) -> str:
    """The dataset and how much of it, for titles.

    Examples
    --------
    >>> place_of(Arena("cpu", "SMD", ("machine-1-1", "machine-1-2"), ()))
    'SMD, 2 entities'
    >>> place_of(Arena("cpu", "PSM", (None,), ()))
    'PSM'
    """
    if arena.entities == (None,):
        return arena.dataset
    count = len(arena.entities)
    return f"{arena.dataset}, {count} {'entity' if count == 1 else 'entities'}"


def _has_any(contender: Contender, metrics: Sequence[Metric]) -> bool:
    unfinished = any(one.status != "done" for one in contender.records)
    done = [one for one in contender.records if one.status == "done"]
    return unfinished or any(metric.read(one) is not None for metric in metrics for one in done)


def _cell(contender: Contender, metric: Metric, arena: Arena) -> Cell:
    found = summarize(contender.records, metric.read, arena.entities)
    words = DASH
    if found.value is None and not any(one.status == "done" for one in contender.records):
        words = "left out" if _all_left_out(contender) else "failed"
    return Cell(
        value=found.value,
        deviation=found.deviation if metric.spread else None,
        digits=metric.digits,
        part=found.part,
        words=words,
    )


def _row(contender: Contender, cells: Sequence[Cell], own: Sequence[bool]) -> Row:
    """A row; what all its own numbers cover stands once, behind its name."""
    parts = {
        cell.part
        for cell, is_own in zip(cells, own, strict=True)
        if is_own and cell.value is not None
    }
    part = parts.pop() if len(parts) == 1 else None
    if part is None:
        return Row(contender.name, tuple(cells), apart=contender.honest)
    cells = [replace(cell, part=None) for cell in cells]
    return Row(f"{contender.name} ({part})", tuple(cells), apart=contender.honest)


def _all_left_out(contender: Contender) -> bool:
    return all(one.status == "left out" for one in contender.records)


def _published(
    contender: Contender, metric: Metric, table: str, dataset: str, misprints: list[str]
) -> Cell:
    # A case of a study is known by its case, a method by its registered name.
    study = table.startswith("study")
    found = published(table, dataset, contender.label if study else contender.method, metric.key)
    if found is None:
        return Cell()
    # Those of methods have a table of their own, with ours beside them.
    deviation = found.deviation if study else None
    digits = max(_digits(value) for value in (found.value, deviation) if value is not None)
    cell = Cell(value=found.value, deviation=deviation, digits=digits)
    if found.why is None:
        return cell
    misprints.append(
        f"{_SIGN} {contender.name}, {metric.title}: {found.value:g} is printed, {found.meant:g} is "
        f"meant ({found.why})."
    )
    return replace(cell, sign=_SIGN)


def _digits(printed: float) -> int:
    """Two decimals below 100, and as many more as were printed."""
    if printed >= 100:
        return 0
    return next(digits for digits in (2, 3, 4) if round(printed, digits) == printed)


def _spread(cells: Sequence[Cell], kept: Sequence[int], columns: Sequence[str]) -> tuple[Cell, ...]:
    """Cells by metric, laid out over columns with published ones between them."""
    ours = iter([cells[number] for number in kept])
    return tuple(Cell() if title.endswith(_PUBLISHED) else next(ours) for title in columns)
