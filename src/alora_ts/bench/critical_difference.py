"""The critical-difference diagram: average ranks, and which differences may be chance."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from alora_ts.bench.comparison import Comparison, Standing
from alora_ts.bench.figures.style import GREY, HOT, INK, PAGE, styled
from alora_ts.bench.statistics import indistinguishable

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

__all__ = ["draw_critical_difference"]

_LINE = 0.19
"""Inches from one name to the next."""
_ABOVE = 3.6
"""Lines above the axis."""


@styled
def draw_critical_difference(compared: Comparison, *, title: str) -> Figure:
    """Draw average ranks on an axis, the best at the left; bars join what does not differ.

    Parameters
    ----------
    compared : Comparison
    title : str
        What the ranks are by.

    Returns
    -------
    matplotlib Figure
        Save it with :func:`alora_ts.bench.figures.style.save`.
    """
    from matplotlib.figure import Figure

    standings = compared.standings
    ranks = np.array([one.rank for one in standings])
    bars = indistinguishable(ranks, compared.difference)
    half = -(-len(standings) // 2)
    top = 1.6 + len(bars) * 0.55  # lines from the axis down to the first name
    height = (top + half + _ABOVE) * _LINE
    figure = Figure(figsize=(PAGE, height))
    axes = figure.add_subplot()
    axes.set_axis_off()
    low, high = 1.0, float(len(standings))
    margin = 0.52 * (high - low)
    axes.set_xlim(low - margin, high + margin)
    axes.set_ylim(top + half, -_ABOVE)
    _axis(axes, int(high))
    difference = min(compared.difference, high - low)
    axes.plot([low, low + difference], [-1.5, -1.5], color=INK, lw=1.6, solid_capstyle="butt")
    capped = "" if difference == compared.difference else " (cut off)"
    axes.text(
        low + difference + 0.01 * margin,
        -1.5,
        f"  critical difference {compared.difference:.2f}{capped}",
        va="center",
        fontsize=7,
    )
    count = len(compared.places)
    axes.text(
        low - margin,
        -3.0,
        f"Average rank by {title} ({count} entities, best at the left)",
        va="center",
        fontweight="bold",
    )
    for number, bar in enumerate(bars):
        at = 0.75 + number * 0.55
        edge = 0.004 * (high - low)
        axes.plot(
            [ranks[bar[0]] - edge, ranks[bar[-1]] + edge],
            [at, at],
            color=GREY,
            lw=2.6,
            solid_capstyle="butt",
        )
    for place, one in enumerate(standings):
        left = place < half
        line = top + (place if left else len(standings) - 1 - place)
        _name(
            axes,
            one,
            line,
            edge=low - 0.03 * margin if left else high + 0.03 * margin,
            left=left,
            ours=one is compared.ours,
        )
    return figure


def _axis(axes: Axes, last: int) -> None:
    axes.plot([1, last], [0, 0], color=INK, lw=0.8)
    for rank in range(1, last + 1):
        axes.plot([rank, rank], [0, -0.25], color=INK, lw=0.8)
        axes.text(rank, -0.45, str(rank), ha="center", va="bottom", fontsize=7)


def _name(axes: Axes, one: Standing, line: float, *, edge: float, left: bool, ours: bool) -> None:
    colour = HOT if ours else GREY if one.honest else INK
    axes.plot([one.rank, one.rank, edge], [0, line, line], color=colour, lw=0.7, zorder=1)
    axes.text(
        edge,
        line,
        f"{one.name}  {one.rank:.2f} " if left else f" {one.rank:.2f}  {one.name}",
        ha="right" if left else "left",
        va="center",
        color=colour,
        fontsize=7.5,
        fontweight="bold" if ours else "normal",
        fontstyle="italic" if one.honest else "normal",
    )
