"""Options and helpers that several commands share."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from alora_ts.cli.reading import split_names
from alora_ts.errors import AloraError

if TYPE_CHECKING:
    from rich.console import Console

__all__ = [
    "AlarmShareOption",
    "AlarmsPerDayOption",
    "ColumnsOption",
    "EpochsOption",
    "IgnoreOption",
    "IncidentsOption",
    "ModelArgument",
    "QuietOption",
    "ReportOption",
    "SeedOption",
    "ThreadsOption",
    "TimeOption",
    "WindowOption",
    "console",
    "given",
    "refuse_early",
    "split_names",
    "tell_health",
]

ModelArgument = Annotated[
    Path, typer.Argument(metavar="MODEL", help="A model file written by `alora-ts fit`.")
]
TimeOption = Annotated[
    str | None,
    typer.Option("--time", help="The time column; recognised if not given.", metavar="COLUMN"),
]

ColumnsOption = Annotated[
    list[str] | None,
    typer.Option(help="Use only these columns (comma-separated, repeatable)."),
]
IgnoreOption = Annotated[
    list[str] | None,
    typer.Option(help="Leave these columns out (comma-separated, repeatable)."),
]
# What is not given keeps the estimator's default; torch need not be loaded to show it.
WindowOption = Annotated[
    int | None,
    typer.Option(help="How many rows each score looks back on.", min=2, show_default="20"),
]
EpochsOption = Annotated[
    int | None,
    typer.Option(help="Longest training, in epochs.", min=1, show_default="4"),
]
FalseAlarmsOption = Annotated[
    str | None,
    typer.Option(
        help="How many false incidents may come: '1 per week', '1 per 5000 rows'.",
        show_default="1 per 1000 rows",
    ),
]
AlarmShareOption = Annotated[
    float | None,
    typer.Option(help="Outdated: share of normal rows that may alarm.", hidden=True),
]
SeedOption = Annotated[
    int | None, typer.Option(help="Seed of all random numbers.", show_default="0")
]
AlarmsPerDayOption = Annotated[
    float | None, typer.Option(help="Outdated: alarming rows per normal day.", hidden=True)
]
IncidentsOption = Annotated[
    Path | None, typer.Option(help="Write incidents and culprits: .csv, .parquet or .json.")
]
ReportOption = Annotated[Path | None, typer.Option(help="Write a self-contained HTML report.")]
ThreadsOption = Annotated[int | None, typer.Option(help="CPU threads to use.", min=1)]
QuietOption = Annotated[bool, typer.Option("--quiet", "-q", help="Print nothing but errors.")]


def console(*, stderr: bool = False) -> Console:
    """Where tables and notes are printed."""
    from rich.console import Console

    return Console(stderr=stderr, highlight=False)


def given(options: Mapping[str, object]) -> dict[str, object]:
    """Those that were given on the command line.

    Examples
    --------
    >>> given({"window": 10, "epochs": None})
    {'window': 10}
    """
    return {name: value for name, value in options.items() if value is not None}


def tell_health(findings: Iterable[str]) -> None:
    """Print what should make a reader doubt a result, where it is seen."""
    for line in findings:
        console(stderr=True).print(f"Warning: {line}", style="yellow", markup=False)


def refuse_early(path: Path | None) -> None:
    """Find out before long work whether its result could be written."""
    if path is None:
        return
    if not path.parent.is_dir():
        raise AloraError(
            f"cannot write {path}: the folder {path.parent} does not exist; create it first"
        )
    if path.is_dir():
        raise AloraError(f"cannot write {path}: it is a folder; give a file name")
