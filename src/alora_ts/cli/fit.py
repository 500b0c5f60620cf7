"""`alora-ts fit`: learn normal behaviour from a table."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from alora_ts.cli.common import (
    AlarmShareOption,
    AlarmsPerDayOption,
    ColumnsOption,
    EpochsOption,
    IgnoreOption,
    QuietOption,
    ThreadsOption,
    TimeOption,
    console,
    refuse_early,
    split_names,
)


def fit(
    train: Annotated[
        Path,
        typer.Argument(
            metavar="TRAIN",
            help="Mostly normal rows in order of time: CSV, Parquet, a folder or a quoted glob.",
        ),
    ],
    *,
    output: Annotated[
        Path, typer.Option("--output", "-o", metavar="MODEL", help="The model file to write.")
    ],
    time: TimeOption = None,
    columns: ColumnsOption = None,
    ignore: IgnoreOption = None,
    validation: Annotated[
        Path | None,
        typer.Option(help="Rows to hold back for the threshold, instead of the end of TRAIN."),
    ] = None,
    window: Annotated[int, typer.Option(help="Rows the network looks at.", min=2)] = 20,
    epochs: EpochsOption = None,
    alarm_share: AlarmShareOption = None,
    alarms_per_day: AlarmsPerDayOption = None,
    scoring: Annotated[
        str, typer.Option(help="refined (ours), paper (Eq. 9), or error.")
    ] = "refined",
    missing: Annotated[
        str, typer.Option(help="Missing cells: hold, interpolate, mark or error.")
    ] = "hold",
    gap: Annotated[
        float | None, typer.Option(help="Seconds without data that split the series.")
    ] = None,
    resample: Annotated[
        float | None, typer.Option(help="Average onto a grid of so many seconds.")
    ] = None,
    downsample: Annotated[int | None, typer.Option(help="Average blocks of so many rows.")] = None,
    scaling: Annotated[
        str, typer.Option(help="standard, or robust against outliers.")
    ] = "standard",
    contamination: Annotated[
        float, typer.Option(help="Share of the worst windows to drop before a second fit.")
    ] = 0.0,
    threads: ThreadsOption = None,
    seed: Annotated[int, typer.Option(help="Every random draw comes from it.")] = 0,
    quiet: QuietOption = False,
) -> None:
    """Learn what is normal from TRAIN and write a model.

    Example: `alora-ts fit normal.csv -o plant.alora --ignore operator,shift`
    """
    refuse_early(output)
    from alora_ts.estimator import ALoRa

    chosen = {
        "window": window,
        "epochs": epochs,
        "alarm_share": alarm_share,
        "scoring": scoring,
        "missing": missing,
        "gap": gap,
        "resample": resample,
        "downsample": downsample,
        "scaling": scaling,
        "contamination": contamination,
        "threads": threads,
        "seed": seed,
    }
    if alarms_per_day is not None:
        chosen |= {"threshold": "alarms-per-day", "alarms_per_day": alarms_per_day}
    # What was not given keeps the estimator's default.
    model = ALoRa().set_params(**{name: v for name, v in chosen.items() if v is not None})
    model.fit(
        train,
        validation=validation,
        time=time,
        columns=split_names(columns) or None,
        ignore=split_names(ignore),
        progress=False if quiet else None,
    )
    if model.model_.training.stopped == "interrupted" and not model.model_.training.error:
        raise KeyboardInterrupt  # no epoch was finished, so no weights are worth keeping
    model.save(output)
    if quiet:
        return
    fitted, out = model.model_, console()
    out.print(str(fitted.report), markup=False)
    if fitted.training.stopped == "interrupted":
        out.print("Interrupted: the best weights so far were kept.")
    out.print(
        f"Wrote {output}: {len(fitted.preparation.variables)} variables, window {window}, "
        f"{fitted.training.windows:,} windows seen, alarms above "
        f"{fitted.calibration.threshold.value:.4g} ({fitted.calibration.threshold.note}).",
        markup=False,
    )
