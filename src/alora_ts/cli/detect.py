"""`alora-ts detect`: score a table with a model."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from alora_ts.cli.common import (
    IncidentsOption,
    ModelArgument,
    QuietOption,
    ReportOption,
    ThreadsOption,
    TimeOption,
    console,
    refuse_early,
)
from alora_ts.errors import AloraError

if TYPE_CHECKING:
    from alora_ts.diagnosis import Diagnosis, Incident
    from alora_ts.estimator import ALoRa

FAILED_ON_ANOMALY = 3


def detect(
    model: ModelArgument,
    data: Annotated[
        Path,
        typer.Argument(
            metavar="DATA", help="Rows to score: CSV, Parquet, a folder or a quoted glob."
        ),
    ],
    *,
    output: Annotated[
        Path | None,
        typer.Option(
            "--output",
            "-o",
            metavar="OUT",
            help="Write a score for each row: .csv or .parquet; .json gives the whole diagnosis.",
        ),
    ] = None,
    incidents: IncidentsOption = None,
    report: ReportOption = None,
    variables: Annotated[
        bool, typer.Option("--variables", help="Add to OUT how much each signal is to blame.")
    ] = False,
    time: TimeOption = None,
    chunk_rows: Annotated[
        int | None,
        typer.Option(
            help="Read so many rows at once, for files larger than memory; no --report then.",
            min=1,
        ),
    ] = None,
    fail_on_anomaly: Annotated[
        bool, typer.Option("--fail-on-anomaly", help="Exit with 3 if there is an incident.")
    ] = False,
    threads: ThreadsOption = None,
    quiet: QuietOption = False,
) -> None:
    """Say when DATA misbehaves and which variables caused it.

    Example: `alora-ts detect plant.alora today.csv -o scores.csv --report today.html`
    """
    from alora_ts.data.write import check_writable, write_table

    for path in (output, incidents):
        refuse_early(path)
        if path is not None:
            check_writable(path)
    refuse_early(report)
    if chunk_rows is not None and (report is not None or variables):
        raise AloraError("--chunk-rows holds no whole table; leave out --report and --variables")
    from alora_ts.estimator import load

    estimator = load(model)
    estimator.threads = threads
    if chunk_rows is not None:
        found = _detect_in_chunks(
            estimator,
            data,
            output=output,
            incidents=incidents,
            rows=chunk_rows,
            time=time,
            quiet=quiet,
        )
        if fail_on_anomaly and found:
            raise typer.Exit(FAILED_ON_ANOMALY)
        return
    table = estimator.model_.preparation.read(data, time=time)
    diagnosis = estimator.diagnose(table, progress=False if quiet else None)
    if output is not None:
        _write_scores(diagnosis, output, variables=variables)
    if incidents is not None:
        write_table(diagnosis.incidents_frame(), incidents)
    if report is not None:
        diagnosis.report(report, title=data.name)
    if not quiet:
        print_diagnosis(diagnosis)
        for path in filter(None, (output, incidents, report)):
            console().print(f"Wrote {path}", markup=False)
    if fail_on_anomaly and diagnosis.incidents:
        raise typer.Exit(FAILED_ON_ANOMALY)


def _write_scores(diagnosis: Diagnosis, output: Path, *, variables: bool) -> None:
    from alora_ts.data.write import write_table
    from alora_ts.files import write_atomically

    if output.suffix.lower() == ".json":
        with write_atomically(output) as part:
            part.write_text(diagnosis.to_json())
    else:
        write_table(diagnosis.to_frame(variables=variables), output)


def _detect_in_chunks(
    estimator: ALoRa,
    data: Path,
    *,
    output: Path | None,
    incidents: Path | None,
    rows: int,
    time: str | None,
    quiet: bool,
) -> tuple[Incident, ...]:
    from alora_ts.data.write import write_table
    from alora_ts.diagnosis.fields import incidents_frame
    from alora_ts.model.chunks import write_chunks

    if output is None:
        raise AloraError("--chunk-rows writes scores while it reads; say where to with -o")
    progress = False if quiet else None
    chunks = estimator.score_chunks(data, rows=rows, time=time, progress=progress)
    written = write_chunks(chunks, output)
    if incidents is not None:
        write_table(incidents_frame(written.incidents, kind="polars"), incidents)
    if not quiet:
        console().print(f"{written.alarming_rows:,} alarming row(s).", markup=False)
        print_incidents(written.incidents)
        for path in filter(None, (output, incidents)):
            console().print(f"Wrote {path}", markup=False)
    return written.incidents


def print_diagnosis(diagnosis: Diagnosis) -> None:
    """Print what was prepared and a table of the incidents."""
    console().print(str(diagnosis.preparation), markup=False)
    print_incidents(diagnosis.incidents)


def print_incidents(incidents: Sequence[Incident]) -> None:
    """Print a table of incidents."""
    from rich.table import Table

    from alora_ts.diagnosis.fields import describe, facts

    out = console()
    if not incidents:
        out.print("No incident.")
        return
    table = Table(title=f"{len(incidents)} incident(s)")
    for heading in ("from", "to", "rows", "× alarm level", "severity", "culprits"):
        table.add_column(heading, justify="right" if heading.startswith(("rows", "×")) else "left")
    for incident in incidents:
        said = [
            f"{c.variable} {c.share:.0%} ({c.direction}: {c.value:.4g}, expected {c.expected:.4g})"
            for c in incident.culprits[:3]
        ]
        said += [f"{fact.label}: {fact.text}" for fact in facts(describe(incident))]
        table.add_row(
            _moment(incident.start_time),
            _moment(incident.end_time),
            f"{incident.rows:,}",
            f"{incident.score:.1f}",
            incident.severity,
            "\n".join(said),
        )
    out.print(table)


def _moment(time: object) -> str:
    text = str(time)
    return text.removesuffix(".000000").replace("T", " ")
