"""`alora-ts fit`: learn normal behaviour from a table."""

from __future__ import annotations

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
from alora_ts.cli.reading import LabelOption, reads_files
from alora_ts.cli.settings import MergeOption, MinimumOption, SetOption, read_settings

if TYPE_CHECKING:
    from alora_ts.data.form import FileForm


@reads_files
def fit(
    train: Annotated[
        Path,
        typer.Argument(
            metavar="TRAIN",
            help="Mostly normal rows in order of time: a file, a folder or a quoted glob.",
        ),
    ],
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
    threads: ThreadsOption = None,
    seed: SeedOption = None,
    quiet: QuietOption = False,
) -> None:
    """Learn what is normal from TRAIN and write a model.

    Example: `alora-ts fit normal.csv -o plant.alora --ignore operator,shift`
    """
    refuse_early(output)
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
        train,
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
    if quiet:
        return
    fitted, out = model.model_, console()
    tell_health(fitted.health)
    out.print(str(fitted.report), markup=False)
    if fitted.training.stopped == "interrupted":
        out.print("Interrupted: the best weights so far were kept.")
    out.print(
        f"Wrote {output}: {len(fitted.preparation.variables)} variables, window {fitted.window}, "
        f"{fitted.training.windows:,} windows seen, alarms above "
        f"{fitted.calibration.threshold.value:.4g} ({fitted.calibration.threshold.note}).",
        markup=False,
    )
