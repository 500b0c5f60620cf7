"""What must be said below a table, from its records."""

from __future__ import annotations

from collections.abc import Sequence

from alora_ts.bench.tables.contenders import HONEST, Arena, Contender, shown
from alora_ts.version import __version__

__all__ = ["gaps", "missing_yardsticks", "older", "scope"]

_FEW = 12
"""As many entities are named; more are counted."""


def scope(arena: Arena, rows: Sequence[Contender], *, spread: bool) -> str:
    """What the rows are means of, and what ± is where it is shown."""
    said = f"Plan {arena.plan}."
    named = [entity for entity in arena.entities if entity is not None]
    if len(named) > _FEW:
        said += f" Mean over {len(named)} entities."
    elif named:
        said += f" Mean over {', '.join(named)}."
    counts = {one.name: len({run.seed for run in one.records}) for one in rows}
    if len(set(counts.values())) > 1:
        by_count: dict[int, list[str]] = {}
        for name, count in counts.items():
            by_count.setdefault(count, []).append(name)
        often = max(by_count, key=lambda count: len(by_count[count]))
        said += " Seeds: " + ", ".join(
            f"{count} ({'others' if count == often else ', '.join(by_count[count])})"
            for count in sorted(by_count, reverse=True)
        )
        said += "."
    elif counts:
        said += f" Seeds: {next(iter(counts.values()))}."
    if spread and any(count > 1 for count in counts.values()):
        said += " ± is the standard deviation of the seeds' means."
    return said


def missing_yardsticks(rows: Sequence[Contender]) -> list[str]:
    """A warning where random, always-alarm or ‖x‖ were not run."""
    there = {one.method for one in rows}
    missing = [shown(name) for name in HONEST if name not in there]
    if not missing:
        return []
    return [
        f"These results lack the yardsticks {', '.join(missing)}: without them nobody can say what "
        f"a number here is worth. Add them to the plan."
    ]


def gaps(arena: Arena) -> list[str]:
    """Why rows lack numbers."""
    said = []
    for one in arena.contenders:
        reasons = dict.fromkeys(run.error or "" for run in one.records if run.status == "left out")
        said += [f"{one.name} left out: {reason}." for reason in reasons]
        failed = [run for run in one.records if run.status == "failed"]
        if failed:
            places = ", ".join(dict.fromkeys(run.entity or run.dataset for run in failed))
            said.append(
                f"{one.name}: {len(failed)} of {len(one.records)} runs failed ({places}); where "
                f"entities are missing it is not compared with the rest."
            )
    return said


def older(rows: Sequence[Contender]) -> list[str]:
    """Which rows are of runs by another version than this one."""
    by_version: dict[str, list[str]] = {}
    for one in rows:
        for run in one.records:
            version = run.measured.get("versions", {}).get("alora-ts")
            names = by_version.setdefault(version, []) if version else []
            if one.name not in names:
                names.append(one.name)
    return [
        f"Run by version {version}, not by {__version__}: "
        f"{'all rows' if len(names) == len(rows) else ', '.join(names)}."
        for version, names in by_version.items()
        if version != __version__
    ]
