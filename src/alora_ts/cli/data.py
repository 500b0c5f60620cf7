"""`alora-ts data`: the benchmark datasets on this machine."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

app = typer.Typer(
    no_args_is_help=True,
    rich_markup_mode="markdown",
    help="List, describe, fetch and check the benchmark datasets.\n\nExample: `alora-ts data list`",
)

_Name = Annotated[str, typer.Argument(metavar="NAME", help="A dataset, such as SMD.")]
_Root = Annotated[
    Path | None,
    typer.Option(
        help="Folder with the datasets' folders; ALORA_TS_DATA or the user's cache if not given.",
        show_default=False,
    ),
]


@app.command("list")
def list_datasets(root: _Root = None) -> None:
    """List the datasets and say which are here.

    Example: `alora-ts data list`
    """
    from alora_ts.datasets import data_root, family, names
    from alora_ts.errors import DataError

    place = data_root(root)
    typer.echo(f"in {place}:")
    for name in names():
        found = family(name)
        try:
            state = f"here ({found.folder(place)})"
        except DataError:
            state = "can be fetched" if found.files else "ask for it (alora-ts data info)"
        typer.echo(f"{name:<10} {found.title:<60} {state}")


@app.command()
def info(name: _Name) -> None:
    """Describe a dataset: origin, licence, citation, entities, how to get it.

    Example: `alora-ts data info SWaT`
    """
    from alora_ts.datasets import family

    found = family(name)
    typer.echo(f"{found.name}: {found.title}")
    typer.echo(f"home      {found.home}")
    typer.echo(f"licence   {found.licence}")
    typer.echo(f"cite      {found.citation}")
    typer.echo(f"variables {found.official.variables or 'differ by entity'}")
    if found.entities:
        typer.echo(f"entities  {', '.join(found.entities)}")
    typer.echo(f"looked for in {', '.join(found.folders)} of the data root")
    if found.files:
        known = sum(bool(file.digest) for file in found.files)
        typer.echo(
            f"get it    alora-ts data fetch {found.name} ({len(found.files)} files, checksums "
            f"known for {known})"
        )
    if found.ask:
        typer.echo(f"get it    {found.ask}")


@app.command()
def fetch(name: _Name, root: _Root = None) -> None:
    """Download a dataset; resumes where an earlier attempt stopped.

    Example: `alora-ts data fetch PSM`
    """
    from alora_ts.datasets import family
    from alora_ts.datasets import fetch as fetch_dataset

    folder = fetch_dataset(name, root)
    typer.echo(f"{family(name).name} is in {folder}; licence: {family(name).licence}")


@app.command()
def check(name: _Name, root: _Root = None) -> None:
    """Verify a local copy and say what is missing or different; exit code 1 if anything is.

    Example: `alora-ts data check SMD --root ~/datasets`
    """
    from alora_ts.datasets import check as check_dataset

    findings = check_dataset(name, root)
    for finding in findings:
        typer.echo(f"{'ok  ' if finding.fine else 'BAD '} {finding.text}")
    if not all(finding.fine for finding in findings):
        raise typer.Exit(1)
