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

    from alora_ts.serve.store.store import Store

app = typer.Typer(no_args_is_help=True, help="Make, list and revoke tokens for the service.")


def _open(config: Path | None, store: str | None, folder: Path | None) -> Store:
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
    role: Annotated[str, typer.Option(help="read, write (also sends rows) or admin.")] = "read",
    name: Annotated[str, typer.Option(help="Whom it is for.")] = "",
    config: ConfigOption = None,
    store: StoreOption = None,
    folder: FolderOption = None,
) -> None:
    """Make a token and print it; it cannot be shown again.

    Example: `alora-ts token create --role write --name "line 3 gateway"`
    """
    opened = _open(config, store, folder)
    try:
        from alora_ts.serve.http.tokens import make_token

        typer.echo(make_token(opened, name=name, role=role))
    finally:
        opened.close()


@app.command("list")
def list_tokens(
    *, config: ConfigOption = None, store: StoreOption = None, folder: FolderOption = None
) -> None:
    """List the tokens by id; the tokens themselves are not kept."""
    from rich.table import Table

    from alora_ts.cli.common import console

    opened = _open(config, store, folder)
    try:
        from alora_ts.serve.store.tokens import all_tokens
        from alora_ts.serve.times import from_micros

        table = Table()
        for heading in ("id", "role", "name", "created", "revoked"):
            table.add_column(heading)
        with opened.reading() as connection:
            for token in all_tokens(connection):
                revoked = "" if token.revoked_us is None else from_micros(token.revoked_us)[:19]
                created = from_micros(token.created_us)[:19]
                table.add_row(token.id, token.role, token.name, created, revoked)
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
    """Revoke a token; a running service follows within seconds."""
    from alora_ts.errors import AloraError

    opened = _open(config, store, folder)
    try:
        from alora_ts.serve.store.tokens import revoke_token

        if not opened.writer.run(lambda connection: revoke_token(connection, token)):
            raise AloraError(f"there is no valid token {token!r}; `alora-ts token list` shows them")
        typer.echo(f"Revoked {token}.")
    finally:
        opened.close()
