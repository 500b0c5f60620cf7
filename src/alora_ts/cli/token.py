"""`alora-ts token`: who may use the service."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

import typer

from alora_ts.cli.serve import (
    ConfigOption,
    FolderOption,
    StoreOption,
    given_settings,
    refuse_without_packages,
)

if TYPE_CHECKING:
    from pathlib import Path

    from sqlalchemy import Connection

    from alora_ts.serve.store.store import Store

app = typer.Typer(no_args_is_help=True, help="Make, list and revoke tokens for the service.")


def open_store(config: Path | None, store: str | None, folder: Path | None) -> Store:
    """The store of a service, which may run meanwhile."""
    refuse_without_packages()
    from alora_ts.serve.settings_file import read_settings
    from alora_ts.serve.store.store import Store

    settings = read_settings(config, flags=given_settings(store=store, folder=folder))
    if settings.store is None:
        settings.folder.mkdir(mode=0o700, parents=True, exist_ok=True)
    return Store(settings.address, exclusive=False)


@app.command()
def create(
    *,
    role: Annotated[
        str,
        typer.Option(
            help="ingest (a gateway: sends rows, sees nothing), read, write (also rows and "
            "verdicts) or admin (all)."
        ),
    ] = "read",
    name: Annotated[str, typer.Option(help="Whom it is for.")] = "",
    source: Annotated[
        str | None, typer.Option(help="The only source an ingest token may send rows to.")
    ] = None,
    days: Annotated[
        float | None, typer.Option(help="How long it is in force; until revoked if not given.")
    ] = None,
    config: ConfigOption = None,
    store: StoreOption = None,
    folder: FolderOption = None,
) -> None:
    """Make a token and print it; it cannot be shown again.

    Examples: `alora-ts token create --role ingest --source line3 --name "line 3 gateway"`,
    `alora-ts token create --role write --name "night shift" --days 90`
    """
    opened = open_store(config, store, folder)
    try:
        from alora_ts.serve.http.tokens import make_token

        typer.echo(make_token(opened, name=name, role=role, source=source, days=days))
    finally:
        opened.close()


@app.command("list")
def list_tokens(
    *, config: ConfigOption = None, store: StoreOption = None, folder: FolderOption = None
) -> None:
    """List the tokens by id; the tokens themselves are not kept."""
    from rich.table import Table

    from alora_ts.cli.common import console

    opened = open_store(config, store, folder)
    try:
        from alora_ts.serve.store.tokens import all_tokens
        from alora_ts.serve.times import from_micros

        table = Table()
        for heading in ("id", "role", "source", "name", "created", "expires", "revoked"):
            table.add_column(heading)
        with opened.reading() as connection:
            for token in all_tokens(connection):
                moments = (token.created_us, token.expires_us, token.revoked_us)
                shown = ["" if one is None else from_micros(one)[:19] for one in moments]
                table.add_row(token.id, token.role, token.source or "", token.name, *shown)
        console().print(table)
    finally:
        opened.close()


@app.command()
def revoke(
    token: Annotated[str, typer.Argument(metavar="ID", help="As `alora-ts token list` shows it.")],
    *,
    config: ConfigOption = None,
    store: StoreOption = None,
    folder: FolderOption = None,
) -> None:
    """Let a token count no more; a running service follows within seconds.

    A service whose last token was revoked stays closed until another is made.
    """
    from alora_ts.errors import AloraError

    opened = open_store(config, store, folder)
    try:
        from alora_ts.serve.http.tokens import TokenBook
        from alora_ts.serve.store.tokens import revoke_token

        def write(connection: Connection) -> None:
            if not revoke_token(connection, token):
                raise AloraError(
                    f"there is no token {token!r} in force; `alora-ts token list` shows them"
                )

        opened.change("token revoked", token, write)
        typer.echo(f"Revoked {token}.")
        if not TokenBook(opened).has_admin():
            typer.echo(
                "No admin token is in force now: the service stays closed to what needs one. "
                "`alora-ts token create --role admin` makes another.",
                err=True,
            )
    finally:
        opened.close()
