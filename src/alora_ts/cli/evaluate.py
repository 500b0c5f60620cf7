"""`alora-ts evaluate`: what a file of scores is worth, with chance beside every number."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

if TYPE_CHECKING:
    import numpy as np
    import polars as pl
    from numpy.typing import NDArray

    from alora_ts.metrics import Evaluation

_ALARMS = "is_anomaly"


def evaluate(
    scores: Annotated[
        Path, typer.Argument(metavar="SCORES", help="A CSV or Parquet file, one row per time.")
    ],
    *,
    label: Annotated[
        str, typer.Option(help="Column with the truth: 0 normal, 1 anomalous.", show_default=False)
    ],
    score: Annotated[str, typer.Option(help="Column with the score.")] = "score",
    threshold: Annotated[
        float | None,
        typer.Option(
            help="A threshold chosen without labels; rows above it are alarms. "
            "Calibrated scores of alora-ts have 1.",
            show_default=False,
        ),
    ] = None,
    window: Annotated[
        int, typer.Option(help="Largest tolerance around events for VUS, in rows.", min=0)
    ] = 100,
    seconds_per_row: Annotated[
        float | None,
        typer.Option(
            help="Time between rows: delays in seconds, false alarms per day.", show_default=False
        ),
    ] = None,
    point_adjusted: Annotated[
        bool,
        typer.Option(
            "--point-adjusted", help="Add point-adjusted F1, which flatters even random scores."
        ),
    ] = False,
    as_json: Annotated[bool, typer.Option("--json", help="Print JSON instead of a table.")] = False,
    plot: Annotated[
        Path | None,
        typer.Option(help="Draw score, events and curves into this .png, .svg or .pdf file."),
    ] = None,
) -> None:
    """Evaluate scores against labels, with a random score and an endless alarm beside them.

    The truth is a column of your own. `alora-ts detect … --label attack -o scores.csv` writes it
    beside the scores; the column `is_anomaly` there holds the tool's own alarms.

    Example: `alora-ts evaluate scores.csv --label attack --threshold 1 --plot out.png`
    """
    from alora_ts import metrics
    from alora_ts.errors import DataError
    from alora_ts.progress import Step, reporting

    marked, values = _read(scores, label, score)
    try:
        with reporting(None) as report:
            found = metrics.evaluate(
                marked,
                values,
                threshold=threshold,
                window=window,
                seconds_per_row=seconds_per_row,
                i_know_it_misleads=point_adjusted,
                on_step=lambda done, total: report(Step("evaluating", done, total)),
            )
    except DataError as error:
        raise DataError(f"{scores}, columns {label!r} and {score!r}: {error}") from error
    if plot is not None:
        from alora_ts.report.evaluation_plot import plot_evaluation

        plot_evaluation(marked, values, plot, threshold=threshold)
    if as_json:
        import dataclasses
        import json

        typer.echo(json.dumps(dataclasses.asdict(found), indent=2, allow_nan=False))
    else:
        _print(found)


def _read(path: Path, label: str, score: str) -> tuple[NDArray[Any], NDArray[np.float64]]:
    import polars as pl

    from alora_ts.errors import DataError, nearest

    if not path.is_file():
        raise DataError(f"cannot read {path}: there is no such file")
    suffix = path.suffix.lower()
    if suffix not in {".csv", ".parquet"}:
        raise DataError(f"cannot read {path}: its name must end in .csv or .parquet")
    try:
        table = pl.scan_csv(path) if suffix == ".csv" else pl.scan_parquet(path)
        known = table.collect_schema().names()
        for name in (label, score):
            if name not in known:
                raise DataError(f"{path} has no column {name!r}{nearest(name, known)}")
        _refuse_own_alarms(table, path, label, score, known)
        found = table.select(label, score).collect()
    except pl.exceptions.PolarsError as error:
        raise DataError(f"cannot read {path}: {error}") from error
    for name in (label, score):
        column = found[name]
        if not (column.dtype.is_numeric() or column.dtype == pl.Boolean):
            raise DataError(
                f"{path}, column {name!r} must be numbers, but its type is {column.dtype}; "
                f"write it as numbers"
            )
        missing = column.is_null().arg_true()
        if len(missing):
            raise DataError(
                f"{path}, column {name!r} has no value in row {missing[0]} ({len(missing)} such "
                f"rows, counting from 0 below the header); fill them or drop these rows"
            )
    return found[label].to_numpy(), found[score].cast(pl.Float64).to_numpy()


def _refuse_own_alarms(
    table: pl.LazyFrame, path: Path, label: str, score: str, known: list[str]
) -> None:
    """Refuse a label that is the alarms of the same file: every metric would be perfect."""
    import polars as pl

    from alora_ts.errors import DataError

    if _ALARMS not in known:
        return
    names = dict.fromkeys([label, _ALARMS, score, *(["warm_up"] if "warm_up" in known else [])])
    rows = table.select(*names).collect()
    if rows[label].dtype != pl.Boolean and not rows[label].dtype.is_numeric():
        return
    alarms, marks = rows[_ALARMS].cast(pl.Float64), rows[label].cast(pl.Float64)
    if not alarms.equals(marks.alias(_ALARMS)) or not rows[score].dtype.is_numeric():
        return
    above = rows[score] > 1
    if "warm_up" in rows.columns:
        above &= ~rows["warm_up"].cast(pl.Boolean)
    inside = above & (marks > 0)
    # An alarm may last while the score is a little below 1; it never misses a score above.
    if above.any() and inside.sum() == above.sum() and 2 * inside.sum() >= (marks > 0).sum():
        raise DataError(
            f"{path}: the column {label!r} holds the alarms of this file, not the truth, so every "
            "metric would be perfect; name a column with labels of your own (detect --label "
            "writes it along)"
        )


def _print(found: Evaluation) -> None:
    from rich.console import Console
    from rich.table import Table

    from alora_ts.metrics.evaluation import COLUMNS
    from alora_ts.metrics.incidents import GAP, WIDENING

    console = Console()
    console.print(str(found), highlight=False)
    table = Table(box=None, pad_edge=False, padding=(0, 1, 0, 0), header_style="bold")
    table.add_column("", no_wrap=True)
    for name in COLUMNS:
        table.add_column(name, justify="right", no_wrap=True)
    choice = None
    for measure in found.measures:
        if measure.choice != choice:
            choice = measure.choice
            table.add_row(f"[bold]{choice}[/]")
        table.add_row(f"  {measure.name}", *measure.cells())
    console.print(table)
    console.print(
        "random: mean ± standard deviation of random scores; always: an alarm that never ends; "
        "above chance: 0 is the better of the two, 1 is perfect. Incidents: alarms at most "
        f"{GAP} rows apart are one; true if half of its rows lie within {WIDENING} rows of an "
        "event.",
        style="dim",
        highlight=False,
    )
