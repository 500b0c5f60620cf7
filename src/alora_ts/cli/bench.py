"""`alora-ts bench`: compare methods, and measure this machine."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from alora_ts.cli.bench_figures import figures, simulate
from alora_ts.cli.bench_rootcause import rootcause
from alora_ts.cli.bench_run import add_dataset, plans, run
from alora_ts.cli.bench_tables import page, tables

app = typer.Typer(
    no_args_is_help=True,
    rich_markup_mode="markdown",
    help="Compare methods on datasets, and measure this machine.\n\n"
    "Example: `alora-ts bench run smoke`",
)


@app.callback()
def bench() -> None:
    """Compare methods on datasets, and measure this machine."""


app.command()(run)
app.command()(plans)
app.command()(add_dataset)
app.command()(tables)
app.command()(page)
app.command()(figures)
app.command()(simulate)
app.command()(rootcause)


@app.command()
def speed(
    out: Annotated[
        Path | None, typer.Option("--out", "-o", help="Also write the page (Markdown) here.")
    ] = None,
    plot: Annotated[
        Path | None, typer.Option(help="Measure growth too and draw it here (PNG, SVG).")
    ] = None,
    repetitions: Annotated[
        int, typer.Option(help="How often each measurement is repeated.", min=1)
    ] = 5,
    threads: Annotated[int | None, typer.Option(help="CPU threads to use.", min=1)] = None,
) -> None:
    """Time scoring, streaming and training against the plain implementation, as ratios.

    Example: `alora-ts bench speed --out speed.md --plot speed.png`
    """
    from alora_ts.bench.speed import compare_speed
    from alora_ts.bench.speed_growth import draw_growth, measure_growth, speed_page
    from alora_ts.fast.threads import use_threads
    from alora_ts.files import write_atomically
    from alora_ts.progress import reporting

    asked = f" --repetitions {repetitions}" + (f" --threads {threads}" if threads else "")
    with use_threads(threads), reporting(None) as report:
        comparisons = compare_speed(repetitions=repetitions, report=report)
        growth = [] if plot is None else measure_growth(report=report)
        page = speed_page(comparisons, growth, f"alora-ts bench speed{asked}")
    if plot is not None:
        draw_growth(growth, plot)
    if out is not None:
        with write_atomically(out) as part:
            part.write_text(page)
    typer.echo(page)
