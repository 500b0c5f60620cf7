"""`alora-ts fleet`: many machines, a model for each."""

from __future__ import annotations

from enum import StrEnum
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
    TimeOption,
    WindowOption,
    console,
    given,
    refuse_early,
    split_names,
)
from alora_ts.cli.detect import FAILED_ON_ANOMALY
from alora_ts.cli.reading import LabelOption, reads_files

if TYPE_CHECKING:
    from alora_ts.data.form import FileForm
    from alora_ts.fleet import Engine, Fleet, FleetView

app = typer.Typer(
    no_args_is_help=True,
    rich_markup_mode="markdown",
    help="Fit and score many machines, a model for each.\n\n"
    "Example: `alora-ts fleet fit machines/ -o fleet && alora-ts fleet detect fleet today/`",
)

_LISTED = 20


class EngineName(StrEnum):
    """Who does the work."""

    LOCAL = "local"
    RAY = "ray"


_Folder = Annotated[
    str, typer.Argument(metavar="FLEET", help="A fleet's folder or URL, written by `fleet fit`.")
]
_Data = Annotated[
    str,
    typer.Argument(
        metavar="DATA",
        help="A folder with one CSV or Parquet file per machine; with --group, a table of all or a "
        "Parquet dataset partitioned by machine. A URL works too.",
    ),
]
_Group = Annotated[
    str | None,
    typer.Option(
        help="The column or partition that names the machine; none for a folder of files.",
        metavar="COLUMN",
    ),
]
_Engine = Annotated[EngineName, typer.Option("--engine", help="Local processes, or a Ray cluster.")]
_Address = Annotated[
    str | None,
    typer.Option(help="The Ray cluster, such as auto; by default Ray starts on this computer."),
]
_Workers = Annotated[
    int | None, typer.Option(help="Most machines at once; by default one for each core.", min=1)
]
_Page = Annotated[Path | None, typer.Option(help="Write the fleet as a self-contained HTML page.")]
_Table = Annotated[
    Path | None,
    typer.Option(
        "--output", "-o", metavar="OUT", help="Write the table of machines: .csv, .parquet, .json."
    ),
]


@app.command()
@reads_files
def fit(
    data: _Data,
    *,
    output: Annotated[
        str,
        typer.Option(
            "--output", "-o", metavar="FLEET", help="The fleet's folder or URL; made if needed."
        ),
    ],
    group: _Group = None,
    engine: _Engine = EngineName.LOCAL,
    address: _Address = None,
    workers: _Workers = None,
    warm_start: Annotated[
        int | None,
        typer.Option(
            help="Start each fit from one model of this many machines; fit one epoch.", min=1
        ),
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
    quiet: QuietOption = False,
) -> None:
    """Fit a model for each machine; resume where an earlier run was stopped.

    Example: `alora-ts fleet fit machines.parquet --group host -o fleet`
    """
    from alora_ts.estimator import ALoRa
    from alora_ts.fleet import Fleet, WarmStart

    chosen: dict[str, object] = {
        "window": window,
        "epochs": epochs,
        "false_alarms": false_alarms,
        "alarm_share": alarm_share,
        "seed": seed,
    }
    if alarms_per_day is not None:
        chosen |= {"threshold": "alarms-per-day", "alarms_per_day": alarms_per_day}
    fleet = Fleet(
        ALoRa().set_params(**given(chosen)),
        warm_start=None if warm_start is None else WarmStart(sample=warm_start),
        engine=_engine(engine, address, workers),
    )
    fleet.fit(
        data,
        group=group,
        output=output,
        time=time,
        columns=split_names(columns) or None,
        ignore=split_names(ignore),
        label=label,
        form=form,
        progress=False if quiet else None,
    )
    if not quiet:
        _print_tally(fleet, "fitted")
        _print_reasons(fleet)
        console().print(f"Wrote {output}", markup=False)


@app.command()
def detect(
    folder: _Folder,
    data: _Data,
    *,
    group: _Group = None,
    engine: _Engine = EngineName.LOCAL,
    address: _Address = None,
    workers: _Workers = None,
    page: _Page = None,
    output: _Table = None,
    variables: Annotated[
        bool, typer.Option("--variables", help="Keep how much each signal is to blame.")
    ] = False,
    time: TimeOption = None,
    fail_on_anomaly: Annotated[
        bool, typer.Option("--fail-on-anomaly", help="Exit with 3 if there is an incident.")
    ] = False,
    quiet: QuietOption = False,
) -> None:
    """Score each machine's rows with its model and show the fleet.

    Example: `alora-ts fleet detect fleet today/ --page fleet.html`
    """
    from alora_ts.fleet import Fleet

    _check_outputs(page, output)
    fleet = Fleet.load(folder, engine=_engine(engine, address, workers))
    view = fleet.diagnose(
        data, group=group, time=time, variables=variables, progress=False if quiet else None
    )
    if not quiet:
        _print_tally(fleet, "judged")
    _show(view, page, output, quiet=quiet)
    if fail_on_anomaly and any(entity.incidents for entity in view.entities):
        raise typer.Exit(FAILED_ON_ANOMALY)


@app.command()
def status(
    folder: _Folder, *, page: _Page = None, output: _Table = None, quiet: QuietOption = False
) -> None:
    """Show what is known of every machine: scores, incidents, failures.

    Example: `alora-ts fleet status fleet --page fleet.html`
    """
    from alora_ts.fleet import Fleet

    _check_outputs(page, output)
    _show(Fleet.load(folder).status(), page, output, quiet=quiet)


def _engine(name: EngineName, address: str | None, workers: int | None) -> Engine:
    from alora_ts.errors import AloraError
    from alora_ts.fleet import LocalEngine, RayEngine

    if name is EngineName.RAY:
        return RayEngine(address=address, workers=workers)
    if address is not None:
        raise AloraError("--address is for Ray; add --engine ray")
    return LocalEngine(workers=workers)


def _check_outputs(page: Path | None, output: Path | None) -> None:
    from alora_ts.data.write import check_writable

    refuse_early(page)
    refuse_early(output)
    if output is not None:
        check_writable(output)


def _print_tally(fleet: Fleet, done: str) -> None:
    tally = fleet.tally_
    said = [f"{tally.done:,} {done}"]
    if tally.skipped:
        said.append(f"{tally.skipped:,} were done already")
    if tally.failed:
        said.append(f"{tally.failed:,} failed")
    console().print(", ".join(said) + f" ({tally.seconds:,.0f} CPU s)", markup=False)


def _print_reasons(fleet: Fleet) -> None:
    tally, out = fleet.tally_, console()
    for name, reason in sorted(tally.reasons.items())[:_LISTED]:
        out.print(f"  {name}: {reason}", markup=False)
    if tally.failed > _LISTED:
        out.print(f"  and {tally.failed - _LISTED:,} more; see `alora-ts fleet status`")


def _show(view: FleetView, page: Path | None, output: Path | None, *, quiet: bool) -> None:
    from alora_ts.data.write import write_table

    if page is not None:
        view.page(page)
    if output is not None:
        write_table(view.to_frame(), output)
    if quiet:
        return
    _print_view(view)
    for path in filter(None, (page, output)):
        console().print(f"Wrote {path}", markup=False)


def _print_view(view: FleetView) -> None:
    """Print the worst machines, who misbehaves together and which culprits recur."""
    from rich.table import Table
    from rich.text import Text

    from alora_ts.fleet.page import moment
    from alora_ts.fleet.view import leading_culprits

    out = console()
    worst = sorted(view.entities, key=lambda each: (each.state != "failed", -(each.score or 0.0)))
    table = Table(title=f"{len(view):,} machine(s), failed first, then highest score now")
    for heading in ("machine", "score now", "incidents", "last incident", "culprits or reason"):
        table.add_column(heading, justify="right" if heading[:5] in ("score", "incid") else "left")
    for entity in worst[:_LISTED]:
        last = str(entity.incidents[-1].start).replace("T", " ") if entity.incidents else ""
        said = entity.reason or ", ".join(leading_culprits(entity))
        score = entity.state if entity.score is None else f"{entity.score:.2f}"
        count = f"{len(entity.incidents):,}" if entity.state == "diagnosed" else ""
        table.add_row(*(Text(each) for each in (entity.name, score, count, last, said)))
    out.print(table)
    if len(view) > _LISTED:
        out.print(f"The first {_LISTED} of {len(view):,}; --page and --output give all.")
    for company in view.together[:3]:
        named = ", ".join(company.entities[:5]) + (", …" if len(company.entities) > 5 else "")
        begun = moment(company.start, timed=company.timed)
        out.print(
            f"Together from {begun}: {len(company.entities):,} machines ({named}).", markup=False
        )
    for each in view.recurring[:3]:
        out.print(
            f"{each.variable} leads incidents of {len(each.entities):,} machines.", markup=False
        )
