"""TSB-AD's own comparison: VUS-PR of our rows beside its published ones, on the same series."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from statistics import fmean

from alora_ts.bench.published_tsb_ad import published_vus_pr
from alora_ts.bench.record import Record
from alora_ts.bench.tables.contenders import Arena, arenas
from alora_ts.bench.tables.notes import gaps, missing_yardsticks, scope
from alora_ts.bench.tables.summary import detected, summarize
from alora_ts.bench.tables.table import Cell, ResultTable, Row, mark_best
from alora_ts.datasets.tsb_ad import FAMILY, series

__all__ = ["tsb_ad"]

_READ = detected("all thresholds / VUS-PR")
_NOTES = (
    "Published: TSB-AD's own values, mean over the same series. VUS-PR at 250 thresholds, its "
    "window the period of each series; scores cover the whole series, training part included.",
    "Several published methods, KMeansAD among them, learn from the very rows they score. Ours "
    "learn from the training part alone, without its last tenth, which sets the threshold.",
    "Best published of each series: for every series whichever published method is best there, "
    "which only the labels can tell.",
)


def tsb_ad(records: Iterable[Record]) -> list[ResultTable]:
    """Means by set and over all series, then each series for itself; two tables for each plan."""
    found = []
    for arena in arenas(records):
        if arena.dataset == FAMILY.name:
            found += [_means(arena), _by_series(arena)]
    return found


def _means(arena: Arena) -> ResultTable:
    sets: dict[str, list[str]] = {}
    for name in arena.entities:
        sets.setdefault(series()[str(name)].set, []).append(str(name))
    groups = [*sets.values(), [str(name) for name in arena.entities]]
    theirs = published_vus_pr()
    methods = list(theirs[groups[-1][0]])
    rows = [
        Row(
            one.name,
            tuple(_ours(one.records, group) for group in groups),
            apart=one.honest,
        )
        for one in arena.contenders
    ]
    rows += [
        Row(
            f"{method}, published",
            tuple(Cell(value=fmean(theirs[name][method] for name in group)) for group in groups),
        )
        for method in methods
    ]
    best = Row(
        "best published of each series",
        tuple(Cell(value=fmean(max(theirs[name].values()) for name in group)) for group in groups),
        apart=True,
    )
    marked = _marked(rows)
    columns = [*(f"{name} ({len(group)})" for name, group in sets.items()), "all"]
    return ResultTable(
        "tsb-ad",
        f"VUS-PR on {len(arena.entities)} of the {len(series())} series of {FAMILY.name}",
        ("method", *columns),
        (*marked, best),
        (
            scope(arena, arena.contenders, spread=True),
            *missing_yardsticks(arena.contenders),
            *gaps(arena),
            *_NOTES,
        ),
    )


def _by_series(arena: Arena) -> ResultTable:
    theirs = published_vus_pr()
    names = [str(name) for name in arena.entities]
    rows = []
    for name in names:
        method, value = max(theirs[name].items(), key=lambda one: one[1])
        ours = [_ours(one.records, [name]) for one in arena.contenders]
        cells = mark_best([*ours, Cell(value=value)], [True] * (len(ours) + 1), "more")
        rows.append(Row(name, (*cells, Cell(words=method))))
    return ResultTable(
        "tsb-ad",
        f"VUS-PR of each series of {FAMILY.name}",
        ("series", *(one.name for one in arena.contenders), "best published", "which"),
        tuple(rows),
        (f"Plan {arena.plan}. Means over seeds. Best and second best are those of a row.",),
    )


def _ours(records: Sequence[Record], names: Sequence[str]) -> Cell:
    found = summarize([one for one in records if one.entity in names], _READ, names)
    return Cell(value=found.value, deviation=found.deviation, part=found.part)


def _marked(rows: Sequence[Row]) -> list[Row]:
    columns = [
        mark_best([row.cells[at] for row in rows], [not row.apart for row in rows], "more")
        for at in range(len(rows[0].cells))
    ]
    return [
        Row(row.name, tuple(column[number] for column in columns), apart=row.apart)
        for number, row in enumerate(rows)
    ]
