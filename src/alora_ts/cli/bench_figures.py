"""`alora-ts bench figures` and `alora-ts bench simulate`."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Annotated

import typer

from alora_ts.cli.common import refuse_early, split_names
from alora_ts.errors import AloraError

__all__ = ["figures", "simulate"]


def figures(
    results: Annotated[
        list[Path] | None,
        typer.Argument(metavar="RESULTS", help="Folders that `bench run` filled."),
    ] = None,
    *,
    out: Annotated[Path | None, typer.Option("--out", "-o", help="Folder for the figures.")] = None,
    only: Annotated[
        list[str] | None,
        typer.Option(help="Draw only these (comma-separated, repeatable); see --list."),
    ] = None,
    data: Annotated[
        Path | None,
        typer.Option(help="Folder with the datasets; else ALORA_TS_DATA.", metavar="ROOT"),
    ] = None,
    entity: Annotated[
        str | None,
        typer.Option(help="Fit and show this one, as SMD/machine-1-6 or synthetic/types."),
    ] = None,
    preset: Annotated[
        str, typer.Option(help="Which ALoRa to fit: cpu, paper, authors or default.")
    ] = "cpu",
    formats: Annotated[
        list[str] | None,
        typer.Option("--format", help="pdf, svg, png (comma-separated, repeatable). [pdf,png]"),
    ] = None,
    listed: Annotated[bool, typer.Option("--list", help="Name all figures and stop.")] = False,
) -> None:
    """Draw the paper's figures, from results and from fits made for them.

    What needs no results is fitted on one entity (some minutes on one core). A figure whose
    material is missing is listed with the reason. The measured numbers go to `captions.md`.

    Examples: `alora-ts bench figures --out figures` ·
    `alora-ts bench figures results/cpu results/ablation --out figures` ·
    `alora-ts bench figures --only h1,scores --entity SMD/machine-1-1 --format svg --out figures`
    """
    from alora_ts.bench.figures import FIGURES, Drawn, LeftOut, Workshop, draw_figures
    from alora_ts.cli.common import console
    from alora_ts.datasets import data_root
    from alora_ts.progress import reporting

    if listed:
        for name, kind in FIGURES.items():
            typer.echo(f"{name:<18}{kind.title} (needs {kind.needs})")
        return
    if data is not None and not data.is_dir():
        raise AloraError(f"--data {data} is not a folder; give the one that holds SMD/, MSL/, …")
    if out is None:
        raise typer.BadParameter("say where the figures go: --out FOLDER", param_hint="--out")
    wanted_formats = split_names(formats) or ["pdf", "png"]
    words = console()

    def tell(one: Drawn | LeftOut) -> None:
        if isinstance(one, Drawn):
            files = ", ".join(str(out / f"{one.name}.{kind}") for kind in wanted_formats)
            words.print(f"[bold]{one.name}[/]: {files}", soft_wrap=True)
        else:
            words.print(f"[bold]{one.name}[/] [yellow]left out[/]: {one.why}", soft_wrap=True)

    with reporting(None) as report:
        workshop = Workshop(
            results=results or [],
            root=data_root(data),
            place=entity,
            preset=preset,
            report=report,
        )
        done = draw_figures(
            workshop, out, only=split_names(only), formats=wanted_formats, tell=tell
        )
    drawn = sum(isinstance(one, Drawn) for one in done)
    words.print(f"{drawn} of {len(done)} drawn; captions in {out / 'captions.md'}", soft_wrap=True)


def simulate(
    *,
    runs: Annotated[int, typer.Option(help="How often to simulate.", min=2)] = 100,
    seed: Annotated[int, typer.Option(help="Seed of all random numbers.")] = 0,
    out: Annotated[
        Path | None, typer.Option("--out", "-o", help="Also write the page (Markdown) here.")
    ] = None,
    plot: Annotated[
        Path | None, typer.Option(help="Draw the series and ratios here (PNG, PDF, SVG).")
    ] = None,
) -> None:
    """Repeat the simulation of the paper's appendix E: how far E and C predict what moves.

    Takes some minutes on one core.

    Example: `alora-ts bench simulate --out simulation.md --plot simulation.png`
    """
    from alora_ts.bench.figures.simulated import draw
    from alora_ts.bench.figures.style import check_format, save
    from alora_ts.bench.simulation import run_simulation
    from alora_ts.bench.simulation_page import simulation_page
    from alora_ts.files import write_atomically

    for path in (out, plot):
        refuse_early(path)
    if plot is not None:
        check_format(plot)
    found = run_simulation(runs=runs, seed=seed)
    command = f"alora-ts bench simulate --runs {runs} --seed {seed}"
    picture = "simulation.png"
    if plot is not None:
        save(draw(found), plot)
        picture = os.path.relpath(plot, out.parent) if out is not None else str(plot)
    page = simulation_page(found, command=command, picture=picture)
    if out is not None:
        with write_atomically(out) as part:
            part.write_text(page)
    typer.echo(page)
