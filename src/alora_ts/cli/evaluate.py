"""`alora-ts evaluate`: what a file of scores is worth, with chance beside every number."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from alora_ts.cli.common import refuse_early
from alora_ts.cli.detect import tell_written
from alora_ts.cli.evaluation_table import print_evaluation
from alora_ts.cli.scores_file import read_scores

if TYPE_CHECKING:
    from alora_ts.metrics import IncidentCurve


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
    alarm: Annotated[
        str | None,
        typer.Option(
            help="In its place a column of alarms raised without labels; by default is_anomaly.",
            show_default=False,
        ),
    ] = None,
    window: Annotated[
        int, typer.Option(help="Largest tolerance around events for VUS, in rows.", min=0)
    ] = 100,
    seconds_per_row: Annotated[
        float | None,
        typer.Option(
            help="Time between rows, for false incidents per day; by default that of the file's "
            "column of times.",
            show_default=False,
        ),
    ] = None,
    gap: Annotated[
        int | None,
        typer.Option(
            help="Alarms at most so many rows apart are one incident.", min=0, show_default="10"
        ),
    ] = None,
    widening: Annotated[
        int | None,
        typer.Option(
            help="Within so many rows of an event an incident is still true.",
            min=0,
            show_default="20",
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
    curve: Annotated[
        Path | None,
        typer.Option(
            help="Write the events found against false incidents, of every threshold worth "
            "choosing, into this .csv or .parquet file."
        ),
    ] = None,
) -> None:
    """Evaluate scores against labels, with a random score and an endless alarm beside them.

    The truth is a column of your own. `alora-ts detect … --label attack -o scores.csv` writes it
    beside the scores; the column `is_anomaly` there holds the tool's own alarms.

    Example: `alora-ts evaluate scores.csv --label attack --plot out.png --curve curve.csv`
    """
    from alora_ts import metrics
    from alora_ts.data.write import check_writable, write_table
    from alora_ts.errors import AloraError, DataError
    from alora_ts.metrics.incidents import GAP, WIDENING
    from alora_ts.progress import Step, reporting

    if threshold is not None and alarm is not None:
        raise AloraError("give --threshold or --alarm, not both")
    refuse_early(plot)
    refuse_early(curve)
    if curve is not None:
        check_writable(curve)
    gap = GAP if gap is None else gap
    widening = WIDENING if widening is None else widening
    read = read_scores(scores, label=label, score=score, alarm=alarm, unless=threshold is not None)
    seconds = read.seconds_per_row if seconds_per_row is None else seconds_per_row
    try:
        with reporting(None) as report:
            found = metrics.evaluate(
                read.label,
                read.score,
                threshold=threshold,
                alarm=read.alarm,
                window=window,
                seconds_per_row=seconds,
                i_know_it_misleads=point_adjusted,
                gap=gap,
                widening=widening,
                on_step=lambda done, total: report(Step("evaluating", done, total)),
            )
    except DataError as error:
        raise DataError(f"{scores}, columns {label!r} and {score!r}: {error}") from error
    front = metrics.incident_curve(read.label, read.score, gap=gap, widening=widening).front()
    numbers = _numbers(front, seconds)
    if plot is not None:
        from alora_ts.report.evaluation_plot import plot_evaluation

        plot_evaluation(
            read.label,
            read.score,
            plot,
            threshold=threshold,
            alarm=read.alarm,
            seconds_per_row=seconds,
            gap=gap,
            widening=widening,
        )
    if curve is not None:
        import polars as pl

        write_table(pl.DataFrame(numbers), curve)
    if as_json:
        import dataclasses
        import json

        said = {**dataclasses.asdict(found), "incident_curve": numbers}
        typer.echo(json.dumps(said, indent=2, allow_nan=False))
    else:
        alarms = "given threshold" if read.alarm is None else "given alarms"
        print_evaluation(found, said=[str(found), *read.said], alarms=alarms)
        tell_written(plot, curve)


def _numbers(front: IncidentCurve, seconds: float | None) -> list[dict[str, float]]:
    """A line for each threshold worth choosing, highest first."""
    from alora_ts.metrics.incidents import per_day

    lines = []
    for at, false in enumerate(front.per_thousand.tolist()):
        daily = per_day(false, seconds)
        lines.append(
            {
                "threshold": float(front.threshold[at]),
                "events_found": float(front.recall[at]),
                "false_incidents": int(front.false[at]),
                "false_per_1000_rows": false,
                **({} if daily is None else {"false_per_day": daily}),
                "precision": float(front.precision[at]),
                "f1": float(front.f1[at]),
            }
        )
    return lines
