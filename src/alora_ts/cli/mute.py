"""`alora-ts mute`: what nobody is told of for a while."""

from __future__ import annotations

from typing import Annotated

import typer

from alora_ts.cli.serve import ConfigOption, FolderOption, StoreOption
from alora_ts.cli.token import open_store

app = typer.Typer(
    no_args_is_help=True,
    help="Maintenance windows and mutes: incidents are kept and shown, but nobody is told.",
)


@app.command()
def add(
    *,
    source: Annotated[
        str | None, typer.Option(help="The only source it is for; all if not given.")
    ] = None,
    incident: Annotated[
        str | None, typer.Option(help="Only incidents of this one's source and pattern.")
    ] = None,
    hours: Annotated[float, typer.Option(help="How long.", min=0.01, max=366 * 24)] = 8.0,
    start: Annotated[
        str | None, typer.Option(help="When it begins, ISO 8601; now if not given.")
    ] = None,
    reason: Annotated[str, typer.Option(help="Why; shown to everyone.")] = "",
    config: ConfigOption = None,
    store: StoreOption = None,
    folder: FolderOption = None,
) -> None:
    """Tell nobody of incidents for a while; what still lasts at the end is told then.

    Examples: `alora-ts mute add --source line3 --hours 4 --reason "new pump"`,
    `alora-ts mute add --start 2026-05-02T06:00:00Z --hours 2`
    """
    opened = open_store(config, store, folder)
    try:
        from alora_ts.serve.incidents.mutes import make_mute
        from alora_ts.serve.times import now_micros, to_micros

        begin = now_micros() if start is None else to_micros(start)
        made = make_mute(
            opened,
            source=source,
            incident=incident,
            start=begin,
            end=begin + round(hours * 3.6e9),
            reason=reason,
        )
        typer.echo(f"Muted as {made['id']} until {made['end'][:19]}Z.")
    finally:
        opened.close()


@app.command("list")
def list_mutes(
    *,
    past: Annotated[bool, typer.Option("--past", help="Also those that are over.")] = False,
    config: ConfigOption = None,
    store: StoreOption = None,
    folder: FolderOption = None,
) -> None:
    """List mutes and maintenance windows in force or to come."""
    from rich.table import Table

    from alora_ts.cli.common import console

    opened = open_store(config, store, folder)
    try:
        from alora_ts.serve.incidents.mutes import show_mute
        from alora_ts.serve.store.mutes import all_mutes, count_held

        table = Table()
        for heading in ("id", "state", "source", "pattern", "from", "until", "holds", "by", "why"):
            table.add_column(heading)
        with opened.reading() as connection:
            found, counts = all_mutes(connection, past=past, limit=1000), count_held(connection)
        for one in found:
            shown = show_mute(one, holds=counts.get(one.id, 0))
            table.add_row(
                shown["id"],
                shown["state"],
                shown["source"] or "all",
                shown["what"] or "all",
                shown["start"][:19],
                shown["end"][:19],
                str(shown["holds"]),
                shown["by"],
                shown["reason"],
            )
        console().print(table)
    finally:
        opened.close()


@app.command()
def remove(
    mute: Annotated[str, typer.Argument(metavar="ID", help="As `alora-ts mute list` shows it.")],
    *,
    config: ConfigOption = None,
    store: StoreOption = None,
    folder: FolderOption = None,
) -> None:
    """End a mute before its time; what it held and still lasts is told within seconds.

    Example: `alora-ts mute remove m_0123456789ab`
    """
    opened = open_store(config, store, folder)
    try:
        from alora_ts.serve.incidents.mutes import end_mute

        end_mute(opened, mute)
        typer.echo(f"Removed {mute}.")
    finally:
        opened.close()
