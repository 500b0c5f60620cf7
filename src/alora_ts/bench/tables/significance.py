"""Average ranks, intervals over entities and tests against ALoRa."""

from __future__ import annotations

from collections.abc import Iterable

from alora_ts.bench.comparison import Comparison, Standing, compare
from alora_ts.bench.record import Record
from alora_ts.bench.tables.contenders import Arena, arenas
from alora_ts.bench.tables.detection import (
    BEST_F1,
    BEST_INCIDENTS,
    GIVEN_F1,
    GIVEN_INCIDENTS,
)
from alora_ts.bench.tables.summary import Read, detected, located
from alora_ts.bench.tables.table import Cell, ResultTable, Row

__all__ = ["CRITERIA", "significance", "verdict"]

CRITERIA: dict[str, Read] = {
    "incident F1 (label-free)": detected(GIVEN_INCIDENTS),
    "incident F1 (oracle)": detected(BEST_INCIDENTS),
    "affiliation F1 (oracle)": detected(BEST_F1),
    "affiliation F1 (label-free)": detected(GIVEN_F1),
    "AUC-PR": detected("all thresholds / AUC-PR"),
    "VUS-PR": detected("all thresholds / VUS-PR"),
    "localization HR@100": located("HR@100"),
}
"""What methods are compared by."""


def significance(records: Iterable[Record]) -> list[ResultTable]:
    """Ranks and tests over all entities of a plan; a table for each metric."""
    plans: dict[str, list[Arena]] = {}
    for arena in arenas(records):
        plans.setdefault(arena.plan, []).append(arena)
    found = []
    for plan, fought in plans.items():
        for title, read in CRITERIA.items():
            compared = compare(fought, read)
            if compared is not None:
                found.append(_table(plan, title, compared))
    return found


def verdict(standing: Standing) -> str:
    """Whether ALoRa is ahead of a method, level with it or behind.

    Examples
    --------
    >>> from alora_ts.bench.statistics import Interval
    >>> verdict(Standing("KNN", False, False, 0.5, None, 2.0, Interval(0.1, 0.02, 0.2), 0.04))
    'ahead'
    >>> verdict(Standing("KNN", False, False, 0.5, None, 2.0, None, None))
    'one entity'
    """
    if standing.lead is None:
        return "one entity"
    if standing.lead.covers_zero:
        return "level"
    return "ahead" if standing.lead.mean > 0 else "behind"


def _table(plan: str, title: str, compared: Comparison) -> ResultTable:
    ours = compared.ours
    rows = []
    for one in compared.standings:
        interval = None if one.interval is None else (one.interval.low, one.interval.high)
        lead = Cell()
        if one.lead is not None:
            lead = Cell(value=one.lead.mean, interval=(one.lead.low, one.lead.high))
        rows.append(
            Row(
                one.name,
                (
                    Cell(value=one.rank, digits=2),
                    Cell(value=one.mean, interval=interval),
                    lead,
                    Cell(value=one.p),
                    Cell(words="" if one is ours else verdict(one)),
                ),
                apart=one.honest,
            )
        )
    count = len(compared.places)
    notes = [
        f"Plan {plan}, {count} {'entity' if count == 1 else 'entities'}. Intervals: 95 %, "
        f"bootstrap over entities of the means over seeds. p: Wilcoxon's signed ranks against "
        f"{ours.name}, adjusted by Holm. {ours.name} is level with a method where the interval of "
        f"the difference covers 0.",
        f"Ranks that differ by less than {compared.difference:.2f} do not differ (Nemenyi, 5 %).",
    ]
    if compared.friedman is not None:
        notes.append(
            f"Friedman: χ² = {compared.friedman.statistic:.1f}, p = {compared.friedman.p:.2g}."
        )
    if compared.incomplete:
        notes.append(f"Not compared, for lack of entities: {', '.join(compared.incomplete)}.")
    return ResultTable(
        "significance",
        f"Ranks by {title}",
        ("method", "average rank", "mean", f"{ours.name} minus it", "p", f"{ours.name} is"),
        tuple(rows),
        tuple(notes),
    )
