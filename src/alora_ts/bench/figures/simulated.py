"""The simulation of appendix E: what moves, and how well E and C predict it."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from alora_ts.bench.figures.style import BLUE, HOT, INK, PAGE, shade, styled
from alora_ts.bench.figures.workshop import Workshop
from alora_ts.bench.simulation import (
    END,
    SHIFT,
    SHIFTS,
    START,
    WINDOW,
    Course,
    Simulation,
    run_simulation,
)

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

__all__ = ["draw", "measure"]


def measure(workshop: Workshop) -> Simulation:
    """Run the simulation with 100 runs, windows of 20 rows; needs no data."""
    return run_simulation(runs=100, whole=False, progress=workshop.report)


@styled
def draw(material: Simulation) -> Figure:
    """Draw the series without and with skip connections, and the ratios against Δ."""
    from matplotlib.figure import Figure

    figure = Figure(figsize=(PAGE, 5.6))
    panels = figure.subplots(4, 2, height_ratios=(1, 1, 1, 1.2))
    for column, course in enumerate(material.courses):
        weights = next(case.weights for case in material.cases if case.skip == course.skip)
        title = "with skip connections" if course.skip else "without skip connections"
        given, latent, reconstructed, ratios = panels[:, column]
        _draw_series(given, course, course.given, (1.0, 0.0), "x")
        _draw_series(latent, course, course.latent, (weights[0], weights[1]), "z")
        _draw_series(reconstructed, course, course.reconstructed, (weights[2], weights[3]), "ŷ")
        for axes in (given, latent):
            axes.tick_params(labelbottom=False)
        given.set_title(title, fontweight="bold")
        reconstructed.set_xlabel("row")
        _draw_ratios(ratios, material, skip=course.skip)
    names = ("given", "latent", "reconstructed", "measured / predicted")
    for axes, name in zip(panels[:, 0], names, strict=True):
        axes.set_ylabel(name)
    return figure


def _draw_series(
    axes: Axes, course: Course, values: NDArray[np.float64], weights: tuple[float, float], name: str
) -> None:
    shade(axes, START, END)
    far = (course.rows < START) | (course.rows >= END + WINDOW)
    for at, colour in enumerate((HOT, BLUE)):
        axes.plot(course.rows, values[:, at], color=colour, linewidth=0.9)
        level = float(values[far, at].mean()) + weights[at] * SHIFT
        axes.hlines(level, START, END, color=INK, linestyle=":", linewidth=1.0)
        letter = {"x": "", "z": f"E₁{'₁₂'[at]} = ", "ŷ": f"C₁{'₁₂'[at]} = "}[name]
        said = f"{name}{'₁₂'[at]}" + (f"   {letter}{weights[at]:.2g}" if letter else "")
        axes.text(
            0.99,
            0.93 - 0.17 * at,
            said,
            color=colour,
            transform=axes.transAxes,
            ha="right",
            va="top",
            fontsize=7,
        )
    axes.margins(y=0.12)
    axes.set_xlim(course.rows[0], course.rows[-1])


def _draw_ratios(axes: Axes, material: Simulation, *, skip: bool) -> None:
    cases = [case for case in material.cases if case.skip == skip and case.reading == "windows"]
    places = np.arange(len(SHIFTS))
    looks = (("z₁", HOT, "o"), ("z₂", BLUE, "s"), ("ŷ₁", HOT, "^"), ("ŷ₂", BLUE, "v"))
    for at, (name, colour, mark) in enumerate(looks):
        ratios = np.stack([case.ratio[:, at] for case in cases], axis=1)
        axes.errorbar(
            places + 0.12 * (at - 1.5),
            ratios.mean(0),
            ratios.std(0, ddof=1),
            color=colour,
            marker=mark,
            markerfacecolor="white" if at > 1 else colour,
            linestyle="none",
            capsize=1.5,
            linewidth=0.8,
            label=name,
        )
    axes.axhline(1.0, color=INK, linestyle=":", linewidth=1.0)
    axes.set_xticks(places, [f"{shift:g}" for shift in SHIFTS])
    axes.set(xlabel="Δ / σ", ylim=(0, 2.2))
    if skip:
        # There the bars are short and leave room.
        axes.legend(ncols=4, loc="lower right")
