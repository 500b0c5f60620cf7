"""`alora-ts detect`: score a table with a model."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from alora_ts.cli.common import (
    IgnoreOption,
    IncidentsOption,
    ModelArgument,
    QuietOption,
    ReportOption,
    ThreadsOption,
    TimeOption,
    console,
    given,
    refuse_early,
    split_names,
    tell_health,
)
from alora_ts.cli.reading import LabelOption, NearNamesOption, reads_files
from alora_ts.cli.settings import (
    MergeOption,
    MinimumOption,
    MinSeverityOption,
    SetOption,
    read_settings,
)
from alora_ts.errors import AloraError

if TYPE_CHECKING:
    from alora_ts.data.form import FileForm
    from alora_ts.diagnosis import Diagnosis, Incident
    from alora_ts.diagnosis.fields import Fact
    from alora_ts.estimator import ALoRa
    from alora_ts.model.chunks import Written

FAILED_ON_ANOMALY = 3
NOTHING_JUDGED = 4


@reads_files
def detect(
    model: ModelArgument,
    data: Annotated[
        Path,
        typer.Argument(metavar="DATA", help="Rows to score: a file, a folder or a quoted glob."),
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
    groups: Annotated[
        str | None,
        typer.Option(help="Rank groups of signals too, such as 'prefix before _'."),
    ] = None,
    influences: Annotated[
        Path | None,
        typer.Option(help="CSV of known influences (cause, effect), to say how it spread."),
    ] = None,
    time: TimeOption = None,
    ignore: IgnoreOption = None,
    label: LabelOption = None,
    near_names: NearNamesOption = False,
    form: FileForm,
    min_severity: MinSeverityOption = None,
    merge: MergeOption = None,
    minimum: MinimumOption = None,
    settings: SetOption = None,
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

    Files are read as the model's training file was; the options say otherwise. Exit codes: 3 with
    --fail-on-anomaly if there is an incident, 4 if no row could be judged.

    Example: `alora-ts detect plant.alora today.csv -o scores.csv --report today.html`
    """
    refuse_unwritable(output, incidents, report)
    structured = groups is not None or influences is not None
    if chunk_rows is not None and (report is not None or variables or structured):
        raise AloraError(
            "--chunk-rows holds no whole table; leave out --report, --variables, --groups and "
            "--influences"
        )
    from alora_ts.estimator import load

    estimator = load(model)
    estimator.threads = threads
    estimator.adjust(**read_settings(settings), **given({"merge": merge, "minimum": minimum}))
    choices: dict[str, Any] = {
        "time": time,
        "label": label,
        "ignore": split_names(ignore),
        "form": form,
        "near": near_names,
    }
    found: Diagnosis | Written
    if chunk_rows is not None:
        found = _detect_in_chunks(
            estimator,
            data,
            output=output,
            incidents=incidents,
            rows=chunk_rows,
            choices=choices,
            min_severity=min_severity,
            quiet=quiet,
        )
    else:
        table = estimator.model_.preparation.read(data, **choices)
        found = keep_severe(
            estimator.diagnose(table, progress=False if quiet else None), min_severity
        )
        if structured:
            found = found.with_structure(groups=groups, influences=influences)
        _write(found, output=output, incidents=incidents, variables=variables)
        if report is not None:
            found.report(report, title=data.name)
        if not quiet:
            print_diagnosis(found)
            tell_written(output, incidents, report)
        elif not found.judged:
            tell_health(found.health)
    if not found.judged:
        raise typer.Exit(NOTHING_JUDGED)
    if fail_on_anomaly and found.incidents:
        raise typer.Exit(FAILED_ON_ANOMALY)


def refuse_unwritable(output: Path | None, incidents: Path | None, report: Path | None) -> None:
    """Find out before long work whether its results could be written."""
    from alora_ts.data.write import check_writable

    for path in (output, incidents):
        refuse_early(path)
        if path is not None:
            check_writable(path)
    refuse_early(report)


def keep_severe(found: Diagnosis, min_severity: str | None) -> Diagnosis:
    """A diagnosis with the incidents that are wanted; its rows stay as they are."""
    from dataclasses import replace

    from alora_ts.diagnosis.severity import at_least

    if min_severity is None:
        return found
    return replace(found, incidents=tuple(at_least(found.incidents, min_severity)))


def tell_written(*paths: Path | None) -> None:
    """Say which files were written."""
    for path in filter(None, paths):
        console().print(f"Wrote {path}", markup=False)


def _write(
    diagnosis: Diagnosis, *, output: Path | None, incidents: Path | None, variables: bool
) -> None:
    from alora_ts.data.write import write_table

    if output is not None:
        _write_scores(diagnosis, output, variables=variables)
    if incidents is not None:
        write_table(diagnosis.incidents_frame(), incidents)


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
    choices: dict[str, Any],
    min_severity: str | None,
    quiet: bool,
) -> Written:
    from dataclasses import replace

    from alora_ts.data.write import write_table
    from alora_ts.diagnosis.fields import incidents_frame
    from alora_ts.diagnosis.severity import at_least
    from alora_ts.model.chunks import write_chunks

    if output is None:
        raise AloraError("--chunk-rows writes scores while it reads; say where to with -o")
    progress = False if quiet else None
    chunks = estimator.score_chunks(data, rows=rows, progress=progress, **choices)
    written = write_chunks(chunks, output)
    if min_severity is not None:
        written = replace(written, incidents=tuple(at_least(written.incidents, min_severity)))
    if incidents is not None:
        write_table(incidents_frame(written.incidents, kind="polars"), incidents)
    if not written.judged:
        tell_health(["nothing could be judged: no row has a full window behind it"])
        return written
    if not quiet:
        console().print(f"{written.alarming_rows:,} alarming row(s).", markup=False)
        print_incidents(written.incidents)
        tell_written(output, incidents)
    return written


def print_diagnosis(diagnosis: Diagnosis) -> None:
    """Print what was prepared and a table of the incidents."""
    console().print(str(diagnosis.preparation), markup=False)
    tell_health(diagnosis.health)
    if diagnosis.judged:
        _print_truth(diagnosis)
        print_incidents(diagnosis.incidents, told=diagnosis.facts)


def print_incidents(
    incidents: Sequence[Incident], *, told: Callable[[Incident], list[Fact]] | None = None
) -> None:
    """Print the incidents, the worst first: a line of numbers, and below it what is known."""
    from rich.padding import Padding
    from rich.text import Text

    from alora_ts.diagnosis.fields import describe, facts
    from alora_ts.diagnosis.severity import by_severity, count_severities

    out = console()
    if not incidents:
        out.print("No incident.")
        return
    out.print(Text(count_severities(incidents), style="bold"))
    for incident in by_severity(incidents):
        known = facts(describe(incident)) if told is None else told(incident)
        row_s = "row" if incident.rows == 1 else "rows"
        out.print(
            Text(f"{_moment(incident.start_time)} to {_moment(incident.end_time)}", style="bold"),
            f"({incident.rows:,} {row_s}): {incident.score:.1f} × alarm level, {incident.severity}",
        )
        said = [
            f"{c.variable} {c.share:.0%} ({c.direction}: {c.value:.4g}, expected {c.expected:.4g})"
            for c in incident.culprits[:3]
        ]
        said += [f"{fact.label}: {fact.text}" for fact in known]
        out.print(*(Padding(Text(line), (0, 0, 0, 4), expand=False) for line in said))


def _print_truth(diagnosis: Diagnosis) -> None:
    """Say how the incidents agree with the labels, where there are any."""
    if diagnosis.labelled:
        said = f"Label {diagnosis.table.label_name}: {diagnosis.judgement()}"
        console().print(
            f"{said} `alora-ts evaluate` on the scores says what that is worth beside chance.",
            markup=False,
        )


def _moment(time: object) -> str:
    text = str(time)
    return text.removesuffix(".000000").replace("T", " ")
