"""`alora-ts backtest`: what would have alarmed, had a model been in service."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from alora_ts.cli.common import (
    AlarmShareOption,
    AlarmsPerDayOption,
    ColumnsOption,
    EpochsOption,
    FalseAlarmsOption,
    IgnoreOption,
    IncidentsOption,
    QuietOption,
    ReportOption,
    SeedOption,
    ThreadsOption,
    TimeOption,
    WindowOption,
    console,
    given,
    split_names,
)
from alora_ts.cli.detect import NOTHING_JUDGED, keep_severe, refuse_unwritable, tell_written
from alora_ts.cli.evaluation_table import print_evaluation
from alora_ts.cli.reading import LabelOption, reads_files
from alora_ts.cli.settings import (
    MergeOption,
    MinimumOption,
    MinSeverityOption,
    SetOption,
    read_settings,
)

if TYPE_CHECKING:
    from alora_ts.backtest import Backtest
    from alora_ts.data.form import FileForm


@reads_files
def backtest(
    data: Annotated[
        Path,
        typer.Argument(
            metavar="HISTORY",
            help="Rows in order of time: a file, a folder or a quoted glob.",
        ),
    ],
    *,
    train: Annotated[
        str, typer.Option(help="The first part to fit on: 0.5, 5000 (rows) or 14d.")
    ] = "0.5",
    refit_every: Annotated[
        str | None, typer.Option(help="Refit after this many rows or this long: 1000 or 1d.")
    ] = None,
    history: Annotated[
        str | None,
        typer.Option(help="Learn from the latest rows only: 5000 or 30d. All if not given."),
    ] = None,
    output: Annotated[
        Path | None,
        typer.Option(
            "--output",
            "-o",
            metavar="OUT",
            help="Write a score for each row: .csv or .parquet; .json gives everything.",
        ),
    ] = None,
    incidents: IncidentsOption = None,
    report: ReportOption = None,
    like: Annotated[
        Path | None,
        typer.Option(metavar="MODEL", help="Fit with all settings of this model file."),
    ] = None,
    time: TimeOption = None,
    columns: ColumnsOption = None,
    ignore: IgnoreOption = None,
    label: LabelOption = None,
    form: FileForm,
    window: WindowOption = None,
    epochs: EpochsOption = None,
    false_alarms: FalseAlarmsOption = None,
    alarm_share: AlarmShareOption = None,
    alarms_per_day: AlarmsPerDayOption = None,
    seed: SeedOption = None,
    min_severity: MinSeverityOption = None,
    merge: MergeOption = None,
    minimum: MinimumOption = None,
    settings: SetOption = None,
    threads: ThreadsOption = None,
    quiet: QuietOption = False,
) -> None:
    """Replay HISTORY: fit on its first part, score onward, and say what would have alarmed.

    Example: `alora-ts backtest history.csv --train 14d --refit-every 7d --report backtest.html`
    """
    from alora_ts.data.write import write_table
    from alora_ts.files import write_atomically

    refuse_unwritable(output, incidents, report)
    from alora_ts.backtest import backtest as replay
    from alora_ts.estimator import ALoRa, load

    chosen: dict[str, object] = {
        "window": window,
        "epochs": epochs,
        "false_alarms": false_alarms,
        "alarm_share": alarm_share,
        "merge": merge,
        "minimum": minimum,
        "seed": seed,
        "threads": threads,
    }
    if alarms_per_day is not None:
        chosen |= {"threshold": "alarms-per-day", "alarms_per_day": alarms_per_day}
    fitted = ALoRa() if like is None else load(like)
    chosen = fitted.plain_params() | read_settings(settings) | given(chosen)
    found = replay(
        data,
        model=ALoRa.from_params(chosen),
        train=_share(train),
        refit_every=refit_every,
        history=history,
        time=time,
        columns=split_names(columns) or None,
        ignore=split_names(ignore),
        label=label,
        form=form,
        progress=False if quiet else None,
    )
    found = replace(found, diagnosis=keep_severe(found.diagnosis, min_severity))
    if output is not None:
        if output.suffix.lower() == ".json":
            with write_atomically(output) as part:
                part.write_text(found.to_json())
        else:
            write_table(found.to_frame(), output)
    if incidents is not None:
        write_table(found.diagnosis.incidents_frame(), incidents)
    if report is not None:
        found.report(report, title=f"Backtest of {data.name}")
    if not quiet:
        _print(found)
        tell_written(output, incidents, report)
    if not found.diagnosis.judged:
        raise typer.Exit(NOTHING_JUDGED)


def _share(text: str) -> float | str:
    """``0.5`` is a share; whatever is not a number below 1 is a span."""
    try:
        return float(text)
    except ValueError:
        return text


def _print(found: Backtest) -> None:
    from rich.table import Table

    from alora_ts.backtest.page import moment
    from alora_ts.cli.detect import print_diagnosis

    out = console()
    table = Table(title="models in service")
    for heading in ("from", "to", "learned from", "scored", "alarming", "incidents", "highest"):
        table.add_column(heading, justify="left" if heading in ("from", "to") else "right")
    for one in found.rounds:
        table.add_row(
            moment(one.fitted_at),
            moment(one.until),
            f"{one.train_end - one.train_start:,}",
            f"{one.rows:,}",
            f"{one.alarming_rows:,}",
            f"{one.incidents:,}",
            f"{one.highest:.1f}",
        )
    out.print(table)
    print_diagnosis(found.diagnosis)
    if found.incidents:
        led = ", ".join(f"{name} {count}" for name, count in found.leaders()[:10])
        out.print(f"Incidents by their first culprit: {led}", markup=False)
    out.print(f"{found}.", markup=False)
    evaluation = found.evaluation()
    if evaluation is not None:
        label = found.diagnosis.table.label_name
        said = f"By the label {label}, which marks {evaluation.events:,} events:"
        print_evaluation(evaluation, said=[said], alarms="these alarms")
