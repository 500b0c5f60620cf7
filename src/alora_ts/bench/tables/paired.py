"""Ablations as paired differences: the case without a part against the case that has it."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from statistics import fmean

from alora_ts.bench.record import Record
from alora_ts.bench.statistics import Interval, bootstrap_mean
from alora_ts.bench.tables.contenders import HONEST, Arena, cases
from alora_ts.bench.tables.detection import BEST_F1, GIVEN_F1
from alora_ts.bench.tables.summary import Read, detected, located
from alora_ts.bench.tables.table import Cell, ResultTable, Row

__all__ = ["FEWEST_PAIRS", "differences", "interval", "paired"]

FEWEST_PAIRS = 6
"""Pairs below which an interval is not shown: all of five agreeing may be chance, 2 / 2⁵ > 0.05."""
_BASE = "base"
_METRICS: dict[str, Read] = {
    "F1": detected(BEST_F1),
    "F1 label-free": detected(GIVEN_F1),
    "AUC-PR": detected("all thresholds / AUC-PR"),
    "VUS-PR": detected("all thresholds / VUS-PR"),
    "HR@100": located("HR@100"),
}

Pairs = dict[tuple[str | None, int], float]


def paired(records: Iterable[Record]) -> list[ResultTable]:
    """A row for each case and dataset, for each plan and study with several seeds."""
    by_study: dict[tuple[str, str], list[Arena]] = {}
    for (plan, study, _), arena in cases(records).items():
        by_study.setdefault((plan, study), []).append(arena)
    found = [_table(plan, study, arenas) for (plan, study), arenas in by_study.items()]
    return [table for table in found if table is not None]


def differences(arena: Arena, case: str, read: Read) -> Pairs:
    """The base case's number less another case's, for each entity and seed that both were run on.

    Examples
    --------
    >>> differences(Arena("ablation-core", "SMD", (), ()), "dense embedding", located("HR@100"))
    {}
    """
    base = _values([one for row in arena.contenders for one in row.records if _is_base(one)], read)
    other = _values([one for row in arena.contenders if row.label == case for one in row.records],
                    read)  # fmt: skip
    return {pair: base[pair] - other[pair] for pair in base if pair in other}


def interval(pairs: Pairs) -> Interval | None:
    """Between which values the mean difference lies; None with too few pairs."""
    return bootstrap_mean(list(pairs.values())) if len(pairs) >= FEWEST_PAIRS else None


def _table(plan: str, study: str, arenas: Sequence[Arena]) -> ResultTable | None:
    seeds = {one.seed for arena in arenas for row in arena.contenders for one in row.records
             if row.method not in HONEST}  # fmt: skip
    if len(seeds) < 2:
        return None
    names = dict.fromkeys(
        row.label
        for arena in arenas
        for row in arena.contenders
        if not row.honest and not any(_is_base(one) for one in row.records)
    )
    rows = [_row(arena, case) for case in names for arena in arenas]
    shown = [row for row in rows if row is not None]
    if not shown:
        return None
    base = next((one.studies[study] for arena in arenas for row in arena.contenders
                 for one in row.records if _is_base(one)), _BASE)  # fmt: skip
    return ResultTable(
        "paired",
        f"“{base}” less each other case, pair by pair",
        ("left out or changed", "entities", "pairs", *_METRICS),
        tuple(shown),
        (
            f"Plan {plan}. A pair is one entity and one seed, with and without the change; above "
            f"0 “{base}” is better. In brackets the 95 % bootstrap interval of the mean over "
            f"pairs, from {FEWEST_PAIRS} pairs on. It says how sure the difference is on these "
            "entities; about others only the number of entities can say something.",
        ),
    )


def _row(arena: Arena, case: str) -> Row | None:
    cells = []
    entities: set[str | None] = set()
    most = 0
    for read in _METRICS.values():
        pairs = differences(arena, case, read)
        entities |= {entity for entity, _ in pairs}
        most = max(most, len(pairs))
        found = interval(pairs)
        cells.append(
            Cell(
                value=fmean(pairs.values()) if pairs else None,
                interval=None if found is None else (found.low, found.high),
            )
        )
    if not most:
        return None
    counts = (Cell(value=len(entities), digits=0), Cell(value=most, digits=0))
    return Row(f"{case}, {arena.dataset}", (*counts, *cells))


def _values(records: Iterable[Record], read: Read) -> Pairs:
    found = {}
    for one in records:
        value = read(one) if one.status == "done" else None
        if value is not None:
            found[one.entity, one.seed] = value
    return found


def _is_base(record: Record) -> bool:
    return record.label == _BASE
