"""The `alora-ts` command and its exit codes.

0 fine, 1 bad input (one paragraph on standard error), 2 usage, 3 anomalies found with
``--fail-on-anomaly``, 4 no row could be judged, 130 interrupted. Command modules import heavy
packages inside their functions, so that ``alora-ts --help`` answers at once.
"""

from __future__ import annotations

import sys
from typing import Annotated

import typer

from alora_ts.cli import bench, data, fleet, mute, token
from alora_ts.cli.backtest import backtest
from alora_ts.cli.demo import demo
from alora_ts.cli.detect import detect
from alora_ts.cli.evaluate import evaluate
from alora_ts.cli.explain import explain, info
from alora_ts.cli.export import export
from alora_ts.cli.fit import fit
from alora_ts.cli.replay import replay
from alora_ts.cli.serve import serve
from alora_ts.cli.worker import worker

_INTERRUPTED = 130

app = typer.Typer(
    name="alora-ts",
    no_args_is_help=True,
    pretty_exceptions_enable=False,
    rich_markup_mode="markdown",
    context_settings={"help_option_names": ["-h", "--help"]},
)
for command in (
    fit,
    detect,
    backtest,
    explain,
    info,
    export,
    evaluate,
    demo,
    serve,
    worker,
    replay,
):
    app.command()(command)
app.add_typer(data.app, name="data")
app.add_typer(bench.app, name="bench")
app.add_typer(fleet.app, name="fleet")
app.add_typer(token.app, name="token")
app.add_typer(mute.app, name="mute")


def _print_version(wanted: bool) -> None:
    if wanted:
        from alora_ts.version import __version__

        typer.echo(f"alora-ts {__version__}")
        raise typer.Exit


@app.callback()
def root(
    version: Annotated[
        bool,
        typer.Option(
            "--version", callback=_print_version, is_eager=True, help="Print the version and stop."
        ),
    ] = False,
) -> None:
    """Say **when** a system of many signals misbehaves and **which signals** caused it.

    Example: `alora-ts fit normal.csv -o plant.alora && alora-ts detect plant.alora today.csv`

    Exit codes: 0 fine, 1 bad input, 2 wrong usage, 3 an incident with --fail-on-anomaly, 4 no row
    could be judged, 130 interrupted.
    """


def run() -> None:
    """Entry point: run the command and turn our errors into one paragraph and exit code 1."""
    from alora_ts.errors import AloraError

    try:
        app()
    except AloraError as error:
        typer.secho(f"alora-ts: {error}", fg=typer.colors.RED, err=True)
        sys.exit(1)
    except SystemExit as stop:
        # typer turns Ctrl-C into this code without a word.
        if stop.code == _INTERRUPTED:
            typer.secho("alora-ts: interrupted; nothing was left half-written", err=True)
        raise
