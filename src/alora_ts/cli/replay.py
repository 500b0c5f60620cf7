"""`alora-ts replay`: send a file to the service as if it came in now."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from alora_ts.cli.common import (
    ColumnsOption,
    IgnoreOption,
    QuietOption,
    TimeOption,
    console,
    split_names,
)
from alora_ts.cli.reading import LabelOption, reads_files
from alora_ts.cli.serve import refuse_without_packages
from alora_ts.errors import AloraError, DataError, nearest

if TYPE_CHECKING:
    from alora_ts.data.form import FileForm
    from alora_ts.data.record import Table
    from alora_ts.serve.client import ServiceClient
    from alora_ts.serve.replay import Replayed

TokenOption = Annotated[
    str | None,
    typer.Option(help="Where the service wants one.", envvar="ALORA_TS_TOKEN", show_envvar=True),
]


@reads_files
def replay(
    file: Annotated[
        Path,
        typer.Argument(metavar="FILE", help="Rows in order of time: a file, a folder or a glob."),
    ],
    *,
    to: Annotated[
        str, typer.Option("--to", metavar="URL", help="The service, or the page of a source.")
    ],
    source: Annotated[
        str | None,
        typer.Option(help="Which source they are; not needed where there is one.", metavar="NAME"),
    ] = None,
    speed: Annotated[
        float,
        typer.Option(help="How many times as fast as the file's own times.", min=1e-3, max=1e6),
    ] = 1.0,
    as_recorded: Annotated[
        bool,
        typer.Option(
            "--as-recorded",
            help="Keep the file's times and send it at once: fills the past.",
        ),
    ] = False,
    collect: Annotated[
        bool,
        typer.Option(
            "--collect", help="Make the source if there is none; it collects until it has a model."
        ),
    ] = False,
    skip: Annotated[int, typer.Option(help="Leave out so many rows at the beginning.", min=0)] = 0,
    token: TokenOption = None,
    patience: Annotated[
        float, typer.Option(help="Seconds to wait for a service that is away or busy.", min=0)
    ] = 300.0,
    time: TimeOption = None,
    columns: ColumnsOption = None,
    ignore: IgnoreOption = None,
    label: LabelOption = None,
    form: FileForm,
    quiet: QuietOption = False,
) -> None:
    """Send a file's rows to a running service as if they came in now.

    The first row gets the time of the start, the others follow at the file's own distances,
    divided by --speed; no row is sent before the clock has reached its time.

    Example: `alora-ts replay today.csv --to http://127.0.0.1:8080 --speed 60`
    """
    refuse_without_packages()
    from alora_ts.data.table import as_table
    from alora_ts.serve.client import ServiceClient, split_address

    url, named = split_address(to)
    note = console(stderr=True)
    with ServiceClient(
        url,
        token=token,
        patience=patience,
        told=None if quiet else lambda text: note.print(text, style="yellow", markup=False),
    ) as client:
        target, known = _find_source(client, source or named, collect=collect)
        chosen = split_names(columns)
        if not chosen and known:
            chosen = _shared_columns(file, known, form)
        table = as_table(
            file,
            time=time,
            columns=chosen or None,
            ignore=split_names(ignore),
            label=label,
            form=form,
            progress=False if quiet else None,
        )
        if known:
            table = _only_known(table, known, file)
        _run(client, target, table, skip=skip, speed=None if as_recorded else speed, quiet=quiet)


def _find_source(
    client: ServiceClient, name: str | None, *, collect: bool
) -> tuple[str, list[str]]:
    """The source and its variables; none where the token may not look, or it has none yet."""
    from alora_ts.serve.client import RefusedError

    try:
        sources = {one["name"]: one["variables"] for one in client.get("sources")}
    except RefusedError as error:
        # A gateway's token sends rows and sees nothing.
        if error.status == 403 and name is not None:
            return name, []
        raise
    if name is None:
        if len(sources) != 1:
            listed = ", ".join(sources) or "none yet; make one with --source NAME --collect"
            raise AloraError(f"say which source with --source: the service has {listed}")
        name = next(iter(sources))
    if name not in sources:
        if not collect:
            raise AloraError(
                f"the service has no source {name!r}{nearest(name, sources)}; it has "
                f"{', '.join(sources) or 'none'}; --collect makes one"
            )
        client.post("sources", json={"name": name})
        return name, []
    return name, sources[name]


def _shared_columns(file: Path, known: list[str], form: FileForm) -> list[str]:
    """The columns of a file that the source knows, if any; others may hold anything."""
    from alora_ts.data.sources import find_files, read_frames

    if form.long is not None:
        return []
    header = next(read_frames(find_files([file])[0], form))[0].columns
    return [name for name in known if name in header]


def _only_known(table: Table, known: list[str], file: Path) -> Table:
    """The signals of a table that the source knows; a long one shows them once it is read."""
    from dataclasses import replace

    places = [at for at, name in enumerate(table.variables) if name in known]
    if not places:
        raise DataError(
            f"{file}: none of its columns {', '.join(table.variables[:20])} is a signal of the "
            f"source, which knows {', '.join(known[:20])}"
        )
    names = tuple(table.variables[at] for at in places)
    return replace(table, values=table.values[:, places], variables=names)


def _run(
    client: ServiceClient,
    source: str,
    table: Table,
    *,
    skip: int,
    speed: float | None,
    quiet: bool,
) -> None:
    from alora_ts.progress import Step, reporting
    from alora_ts.serve.replay import Replayed, replay, table_blocks

    total = len(table.values) - skip
    if total <= 0:
        raise DataError(f"the file has {len(table.values):,} rows: nothing is left with --skip")
    if speed is None and table.timestamps is None:
        raise DataError("no time column was found; name it with --time, or leave out --as-recorded")
    out, last = console(), Replayed()
    if not quiet:
        pace = "as recorded" if speed is None else f"{speed:g} times as fast"
        out.print(
            f"Sending {total:,} rows of {len(table.variables)} signals to {source} at "
            f"{client.url}, {pace}. Ctrl-C stops.",
            markup=False,
            soft_wrap=True,
        )
    try:
        with reporting(False if quiet else None) as show:

            def report(done: Replayed) -> None:
                nonlocal last
                last = done
                show(Step("sending", done.sent, total))

            last = replay(
                table_blocks(table, skip=skip),
                client,
                source,
                speed=speed,
                skip=skip,
                report=report,
            )
    except KeyboardInterrupt:
        come = last.sent + skip
        typer.echo(
            f"Stopped: {come:,} of {total + skip:,} rows were sent; go on with --skip {come}",
            err=True,
        )
        raise
    if not quiet:
        out.print(
            f"Sent {last.sent:,} rows: {last.accepted:,} stored, {last.duplicates:,} were there "
            f"already, {last.refused:,} refused.",
            markup=False,
        )
    if last.refused:
        raise DataError(f"{last.refused:,} rows were refused; the first: {last.reason}")
