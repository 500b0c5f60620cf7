"""What results were made by: commit, date, machine, plan, entities and seeds."""

from __future__ import annotations

from collections.abc import Iterable

from alora_ts.bench.plan import read_plan, shipped_plans
from alora_ts.bench.record import Record
from alora_ts.bench.tables.contenders import natural

__all__ = ["describe_origin"]


def describe_origin(records: Iterable[Record]) -> list[str]:
    """Describe the runs of each plan, as Markdown paragraphs."""
    plans: dict[str, list[Record]] = {}
    for record in records:
        plans.setdefault(record.plan, []).append(record)
    parts = []
    for plan, runs in plans.items():
        states = {
            status: sum(run.status == status for run in runs)
            for status in ("done", "failed", "left out")
        }
        counts = ", ".join(f"{count} {status}" for status, count in states.items() if count)
        hours = sum(float(run.measured.get("run_seconds", 0.0)) for run in runs) / 3600
        lines = [
            f"**Plan {plan}**{_about(plan)}",
            f"- Runs: {counts}; {hours:.1f} hours of runs in all.",
            *_lacking(plan, runs),
            f"- Run on {_between(_days(runs))} on {_listed(runs, 'machine')}, "
            f"{_listed(runs, 'threads')} thread(s) a run.",
            f"- Versions: {_versions(runs)}; commit {_listed(runs, 'commit')}.",
            *(f"- {line}" for line in _data(runs)),
            f"- Seeds: {_seeds(runs)}.",
        ]
        parts.append("\n".join([lines[0], "", *lines[1:]]))
    return parts


def _about(plan: str) -> str:
    if plan not in shipped_plans():
        return ""
    about = read_plan(plan).about
    if about[1:2].islower():  # not the name of something
        about = f"{about[0].lower()}{about[1:]}"
    return f": {about}" if about else ""


def _lacking(plan: str, runs: list[Record]) -> list[str]:
    """How much of a shipped plan there is, where that is not all of it."""
    if plan not in shipped_plans():
        return []
    planned = read_plan(plan)
    said = []
    if all(one.entities != "all" for one in planned.datasets):
        entities = sum(len(one.entities) for one in planned.datasets)
        there = len({(run.dataset, run.entity) for run in runs})
        if there < entities:
            said.append(f"{there} of {entities} entities")
    rows = {one.row for one in planned.methods}
    if not rows <= {run.label for run in runs}:
        said.append(f"{len(rows & {run.label for run in runs})} of {len(rows)} methods or cases")
    return [f"- **Not the whole plan**: {', '.join(said)}."] if said else []


def _days(runs: list[Record]) -> list[str]:
    return sorted({str(run.measured["started"])[:10] for run in runs if "started" in run.measured})


def _between(days: list[str]) -> str:
    if not days:
        return "an unknown day"
    return days[0] if len(days) == 1 else f"{days[0]} to {days[-1]}"


def _listed(runs: list[Record], what: str) -> str:
    found = dict.fromkeys(str(run.measured.get(what) or "unknown") for run in runs)
    return ", ".join(found)


def _versions(runs: list[Record]) -> str:
    found = dict.fromkeys(
        f"{name} {version}"
        for run in runs
        for name, version in run.measured.get("versions", {}).items()
    )
    return ", ".join(found) or "unknown"


def _data(runs: list[Record]) -> list[str]:
    entities: dict[str, set[str | None]] = {}
    for run in runs:
        entities.setdefault(run.dataset, set()).add(run.entity)
    lines = []
    for dataset, names in entities.items():
        named = sorted((name for name in names if name is not None), key=natural)
        lines.append(
            f"{dataset}: {', '.join(named)} ({len(named)})." if named else f"{dataset}: one series."
        )
    return lines


def _seeds(runs: list[Record]) -> str:
    by_label: dict[str, set[int]] = {}
    for run in runs:
        by_label.setdefault(run.label, set()).add(run.seed)
    by_seeds: dict[tuple[int, ...], list[str]] = {}
    for label, seeds in by_label.items():
        by_seeds.setdefault(tuple(sorted(seeds)), []).append(label)
    if len(by_seeds) == 1:
        return ", ".join(map(str, next(iter(by_seeds))))
    most = max(by_seeds, key=lambda seeds: len(by_seeds[seeds]))
    return "; ".join(
        f"{', '.join(map(str, seeds))} for "
        + ("all others" if seeds == most else ", ".join(by_seeds[seeds]))
        for seeds in sorted(by_seeds, key=lambda seeds: (seeds == most, seeds))
    )
