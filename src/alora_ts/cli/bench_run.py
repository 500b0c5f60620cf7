"""`alora-ts bench run`, `plans` and `add-dataset`."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

if TYPE_CHECKING:
    from alora_ts.bench.estimate import Estimate
    from alora_ts.bench.plan import Plan
    from alora_ts.bench.record import Record
    from alora_ts.bench.runs import Expansion, Run

__all__ = ["add_dataset", "plans", "run"]

ROOTCAUSE = "rootcause"
"""Run like a plan, though it ranks causes instead of scoring rows."""

_Root = Annotated[
    Path | None,
    typer.Option(
        "--data",
        help="Folder with the datasets' folders; ALORA_TS_DATA or the user's cache if not given.",
        show_default=False,
    ),
]


def run(
    plan: Annotated[
        str,
        typer.Argument(help="A shipped plan (see `plans`), a TOML file, or `rootcause`."),
    ],
    *,
    out: Annotated[
        Path, typer.Option("--out", "-o", help="Folder for results; each plan gets its own in it.")
    ] = Path("results"),
    data: _Root = None,
    workers: Annotated[
        int | None, typer.Option(help="Runs at once; by default cores / threads of a run.", min=1)
    ] = None,
    only: Annotated[
        list[str] | None,
        typer.Option(help="Only methods (labels) or datasets of this name; repeatable."),
    ] = None,
    retry_failed: Annotated[bool, typer.Option(help="Run failed runs again.")] = False,
    renew: Annotated[
        bool, typer.Option(help="Run again what another version of alora-ts ran.")
    ] = False,
    dry_run: Annotated[bool, typer.Option(help="Say what would be done and how long.")] = False,
    quiet: Annotated[bool, typer.Option("--quiet", "-q", help="No progress.")] = False,
) -> None:
    """Run a plan: methods on datasets with seeds, each run once.

    Stop it whenever you like and run the same command again: finished runs stay, the rest follows.

    `rootcause` asks where known faults began; `alora-ts bench rootcause --help` has its options.

    Examples: `alora-ts bench run smoke` · `alora-ts bench run cpu --data ~/datasets --dry-run` ·
    `alora-ts bench run my-plan.toml --only knn --only SMD` · `alora-ts bench run rootcause`
    """
    from alora_ts.bench.estimate import Estimate
    from alora_ts.bench.plan import read_plan
    from alora_ts.bench.runner import finished_record, run_all
    from alora_ts.bench.runs import expand
    from alora_ts.bench.watch import describe_record, watching
    from alora_ts.datasets import data_root
    from alora_ts.devices import usable_cores
    from alora_ts.errors import AloraError

    if plan == ROOTCAUSE:
        if workers or only or retry_failed or renew or dry_run:
            raise AloraError(
                f"{ROOTCAUSE} is one run without --workers, --only, --retry-failed, --renew and "
                f"--dry-run; `alora-ts bench {ROOTCAUSE} --help` has its options"
            )
        _root_causes(out / ROOTCAUSE, data)
        return
    chosen, root = read_plan(plan), data_root(data)
    if data is not None and not data.is_dir():
        raise AloraError(f"--data {data} is not a folder; give the one that holds SMD/, MSL/, …")
    expansion = expand(chosen, root, progress=False if quiet else None)
    runs = _only(expansion, only or [])
    folder = out / chosen.name
    records = {one.key: finished_record(one, folder) for one in runs}
    todo = [one for one in runs if _due(records[one.key], failed_too=retry_failed, older_too=renew)]
    estimate = Estimate(expansion.rows, todo)
    estimate.learn(record for record in records.values() if record is not None)
    at_once = workers or max(1, usable_cores() // chosen.threads)
    if not quiet or dry_run:
        _announce(chosen, expansion, runs, estimate, at_once)
    if dry_run or not todo:
        return
    with watching(len(todo), estimate, workers=at_once, quiet=quiet) as watch:
        over = run_all(chosen, todo, folder=folder, root=root, workers=at_once, watch=watch)
    failures = [record for record in over if record.status == "failed"]
    if not quiet:
        typer.echo(f"{len(over)} runs done, {len(failures)} of them failed; results in {folder}")
        for record in failures:
            typer.echo(f"  {describe_record(record)}")
        typer.echo(f"now: alora-ts bench tables {folder}")


def _due(found: Record | None, *, failed_too: bool, older_too: bool) -> bool:
    """Whether a run has to be made, given the record that is there."""
    from alora_ts.version import __version__

    if found is None or (failed_too and found.status == "failed"):
        return True
    return older_too and found.measured.get("versions", {}).get("alora-ts") != __version__


def _root_causes(folder: Path, data: Path | None) -> None:
    """All of `alora-ts bench rootcause`, with page and verdicts in a folder as plans have one."""
    from alora_ts.bench.rootcause import localizing
    from alora_ts.cli.bench_rootcause import rootcause

    folder.mkdir(parents=True, exist_ok=True)
    rootcause(
        data=data,
        out=folder / "rootcause.md",
        verdicts=folder / "verdicts.jsonl",
        method=list(localizing()),
        affected=True,
    )


def plans() -> None:
    """List the plans that come with the package.

    Example: `alora-ts bench plans`
    """
    from alora_ts.bench.plan import read_plan, shipped_plans

    for name, path in shipped_plans().items():
        typer.echo(f"{name:<10} {read_plan(name).about}")
        typer.echo(f"{'':<10} {path}")
    typer.echo(f"{ROOTCAUSE:<10} Where known faults began, and what they affected.")
    typer.echo(f"{'':<10} alora-ts bench {ROOTCAUSE} --help")


def add_dataset(
    folder: Annotated[Path, typer.Argument(help="Folder with train and test tables.")],
    *,
    name: Annotated[str | None, typer.Option(help="By default the folder's name.")] = None,
    label: Annotated[str, typer.Option(help="Column of 0 and 1 in the test tables.")] = "label",
    time: Annotated[str | None, typer.Option(help="Time column; recognised if not given.")] = None,
    data: _Root = None,
) -> None:
    """Put your own labelled data beside the benchmark datasets.

    The folder holds train.csv and test.csv (or .parquet), or such a pair for each entity:
    web1_train.csv and web1_test.csv, or web1/train.csv and web1/test.csv. The test tables have a
    column of 0 and 1. web1_affected.csv (start, end, variables) may say which variables matter.

    Example: `alora-ts bench add-dataset mycsvs --name servers`
    """
    from alora_ts.datasets import add, data_root

    added = add(folder, name=name, label=label, time=time, root=data_root(data))
    count = f"{len(added.entities)} entities" if added.entities else "one series"
    typer.echo(f"added {added.name}: {count}, {added.official.variables} variables")
    typer.echo("put it into a plan:")
    typer.echo(f'\n[[datasets]]\nname = "{added.name}"')


def _only(expansion: Expansion, wanted: list[str]) -> list[Run]:
    """The runs whose method and dataset are both wanted; a kind nobody names is not limited."""
    from alora_ts.errors import AloraError, nearest

    labels = {run.label for run in expansion.runs}
    datasets = {run.dataset for run in expansion.runs}
    for name in wanted:
        if name not in labels | datasets:
            raise AloraError(
                f"--only {name}: the plan runs no such method or dataset"
                f"{nearest(name, labels | datasets)}"
            )
    keep_labels = labels & set(wanted) or labels
    keep_datasets = datasets & set(wanted) or datasets
    return [
        run for run in expansion.runs if run.label in keep_labels and run.dataset in keep_datasets
    ]


def _announce(
    plan: Plan, expansion: Expansion, runs: list[Run], estimate: Estimate, workers: int
) -> None:
    from rich.console import Console
    from rich.table import Table

    from alora_ts.bench.estimate import spoken

    table = Table(title=f"{plan.name}: {plan.about}", title_justify="left")
    datasets = sorted({run.dataset for run in runs})
    for head in ("method", *datasets, "runs to do", "estimate"):
        table.add_column(head, justify="left" if head == "method" else "right")
    for label in dict.fromkeys(run.label for run in runs):
        mine = [run for run in runs if run.label == label]
        ahead = [run for run in estimate.ahead if run.label == label]
        each = [estimate.seconds(run) for run in ahead]
        known = [one for one in each if one is not None]
        cells = [str(len([run for run in mine if run.dataset == name]) or "–") for name in datasets]
        long = spoken(sum(known)) if len(known) == len(each) else "unknown"
        table.add_row(label, *cells, str(len(ahead)), long)
    console = Console(stderr=True)
    console.print(table)
    for line in _missing(expansion):
        console.print(line, markup=False, highlight=False)
    seconds, unknown = estimate.total()
    said = [f"about {spoken(seconds / workers)} with {workers} at once"] if seconds else []
    said += [f"{unknown} runs of unknown length"] if unknown else []
    console.print(
        f"{len(runs)} runs, {len(runs) - len(estimate.ahead)} finished before; "
        f"{', and '.join(said) or 'nothing to do'}"
    )


def _missing(expansion: Expansion) -> Iterator[str]:
    """A line for each dataset that is not, or not all, on this machine."""
    names = dict.fromkeys(place.split(" ")[0] for place in expansion.missing)
    for name in names:
        places = [place for place in expansion.missing if place.split(" ")[0] == name]
        there = sum(place.split(" ")[0] == name for place in expansion.rows)
        if there:
            gone = ", ".join(place.partition(" ")[2] for place in places)
            yield (
                f"left out, {len(places)} parts of {name} that are not here: {gone}; "
                f"`alora-ts data info {name}` says where to get them"
            )
        else:
            yield f"left out, not here: {expansion.missing[places[0]]}"
