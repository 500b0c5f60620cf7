"""`alora-ts fit`: learn normal behaviour from a table."""

from __future__ import annotations

from datetime import timedelta
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from alora_ts.cli.common import (
    AlarmShareOption,
    AlarmsPerDayOption,
    ColumnsOption,
    EpochsOption,
    FalseAlarmsOption,
    IgnoreOption,
    QuietOption,
    SeedOption,
    ThreadsOption,
    TimeOption,
    WindowOption,
    console,
    given,
    refuse_early,
    split_names,
    tell_health,
)
from alora_ts.cli.fit_from import activate_at, read_from, read_queries
from alora_ts.cli.reading import LabelOption, reads_files
from alora_ts.cli.replay import TokenOption
from alora_ts.cli.settings import MergeOption, MinimumOption, SetOption, read_settings

if TYPE_CHECKING:
    from alora_ts.data.form import FileForm

_PANEL = "Rows that are not in a file"


@reads_files
def fit(
    train: Annotated[
        Path | None,
        typer.Argument(
            metavar="[TRAIN]",
            help="Mostly normal rows in order of time: a file, a folder or a quoted glob.",
            show_default=False,
        ),
    ] = None,
    *,
    output: Annotated[
        Path, typer.Option("--output", "-o", metavar="MODEL", help="The model file to write.")
    ],
    time: TimeOption = None,
    columns: ColumnsOption = None,
    ignore: IgnoreOption = None,
    label: LabelOption = None,
    form: FileForm,
    validation: Annotated[
        Path | None,
        typer.Option(help="Normal rows to hold back from training, instead of the end of TRAIN."),
    ] = None,
    window: WindowOption = None,
    epochs: EpochsOption = None,
    false_alarms: FalseAlarmsOption = None,
    alarm_share: AlarmShareOption = None,
    alarms_per_day: AlarmsPerDayOption = None,
    scoring: Annotated[
        str | None,
        typer.Option(
            help="joint, refined, paper (as published) or error (without the rank).",
            show_default="joint",
        ),
    ] = None,
    missing: Annotated[
        str | None,
        typer.Option(
            help="Missing cells: hold (the last value), interpolate, mark or error.",
            show_default="hold",
        ),
    ] = None,
    gap: Annotated[
        float | None, typer.Option(help="Seconds without data that split the series.")
    ] = None,
    resample: Annotated[
        float | None, typer.Option(help="Average onto a grid of this many seconds.")
    ] = None,
    downsample: Annotated[
        int | None, typer.Option(help="Average blocks of this many rows.")
    ] = None,
    scaling: Annotated[
        str | None,
        typer.Option(
            help="Of the signals: standard, or robust against outliers.", show_default="standard"
        ),
    ] = None,
    contamination: Annotated[
        float | None,
        typer.Option(
            help="Drop this share of TRAIN, the most abnormal, and fit again.", show_default="0.0"
        ),
    ] = None,
    merge: MergeOption = None,
    minimum: MinimumOption = None,
    settings: SetOption = None,
    from_: Annotated[
        str | None,
        typer.Option(
            "--from",
            metavar="URL",
            help="Instead of TRAIN: a service (http://…) or prometheus://host:port.",
            rich_help_panel=_PANEL,
        ),
    ] = None,
    source: Annotated[
        str | None,
        typer.Option(metavar="NAME", help="A source of the service.", rich_help_panel=_PANEL),
    ] = None,
    start: Annotated[
        str | None,
        typer.Option(
            metavar="TIME",
            help="Rows from this time on; by default the longest without an incident.",
            rich_help_panel=_PANEL,
        ),
    ] = None,
    end: Annotated[
        str | None, typer.Option(metavar="TIME", help="Before this.", rich_help_panel=_PANEL)
    ] = None,
    query: Annotated[
        list[str] | None,
        typer.Option(
            metavar="SIGNAL=PROMQL",
            help="What Prometheus is asked for; repeatable.",
            rich_help_panel=_PANEL,
        ),
    ] = None,
    step: Annotated[
        float,
        typer.Option(help="Seconds between rows of Prometheus.", min=0.001, rich_help_panel=_PANEL),
    ] = 15.0,
    activate: Annotated[
        bool,
        typer.Option(
            "--activate", help="Let the service's source use the model.", rich_help_panel=_PANEL
        ),
    ] = False,
    token: TokenOption = None,
    threads: ThreadsOption = None,
    seed: SeedOption = None,
    quiet: QuietOption = False,
) -> None:
    """Learn what is normal from TRAIN and write a model.

    Example: `alora-ts fit normal.csv -o plant.alora --ignore operator,shift`, or from a running
    service `alora-ts fit --from http://127.0.0.1:8080 --source line3 -o line3.alora --activate`
    """
    refuse_early(output)
    if (train is None) == (from_ is None):
        raise typer.BadParameter("give a file to learn from, or --from URL", param_hint="TRAIN")
    if activate and not (from_ or "").startswith("http"):
        raise typer.BadParameter(
            "only a service can use it: --from http://…", param_hint="--activate"
        )
    rows: Any = train
    if from_ is not None:
        rows, time = read_from(
            from_,
            source=source,
            start=start,
            end=end,
            queries=read_queries(query),
            step=step,
            token=token,
            quiet=quiet,
        )
    from alora_ts.estimator import ALoRa

    chosen: dict[str, object] = {
        "window": window,
        "epochs": epochs,
        "false_alarms": false_alarms,
        "alarm_share": alarm_share,
        "scoring": scoring,
        "preparation__missing": missing,
        "preparation__gap": gap,
        "preparation__resample": resample,
        "preparation__downsample": downsample,
        "preparation__scaling": scaling,
        "contamination": contamination,
        "merge": merge,
        "minimum": minimum,
        "threads": threads,
        "seed": seed,
    }
    if alarms_per_day is not None:
        chosen |= {"threshold": "alarms-per-day", "alarms_per_day": alarms_per_day}
    model = ALoRa.from_params(read_settings(settings) | given(chosen))
    model.fit(
        rows,
        validation=validation,
        time=time,
        columns=split_names(columns) or None,
        ignore=split_names(ignore),
        label=label,
        form=form,
        progress=False if quiet else None,
    )
    if model.model_.training.stopped == "interrupted" and not model.model_.training.error:
        raise KeyboardInterrupt  # no epoch was finished, so no weights are worth keeping
    model.save(output)
    live = ""
    if activate and from_ is not None:
        last = str(rows[time][-1] + timedelta(microseconds=1))
        live = activate_at(from_, output, source=source, until=last, token=token)
    if quiet:
        return
    fitted, out = model.model_, console()
    tell_health(fitted.health)
    out.print(str(fitted.report), markup=False)
    if fitted.cycle is not None:
        out.print(str(fitted.cycle), markup=False)
    if fitted.training.stopped == "interrupted":
        out.print("Interrupted: the best weights so far were kept.")
    out.print(
        f"Wrote {output}: {len(fitted.preparation.variables)} variables, window {fitted.window}, "
        f"{fitted.training.windows:,} windows seen, alarms above "
        f"{fitted.calibration.threshold.value:.4g} ({fitted.calibration.threshold.note}).",
        markup=False,
    )
    if live:
        out.print(live, markup=False)
