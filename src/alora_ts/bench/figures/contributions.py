"""Who influences whom: the contribution weights C as a map, and its strongest ties as a graph."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from alora_ts.bench.figures.style import BLUE, HOT, INK, PAGE, styled
from alora_ts.bench.figures.workshop import Workshop
from alora_ts.report.relations import strongest_ties, strongest_variables

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

__all__ = ["Contributions", "draw", "measure"]

_MAPPED, _TIES = 24, 20


@dataclass(frozen=True)
class Contributions:
    """The contribution weights of a fitted network.

    Attributes
    ----------
    place : str
    variables : tuple of str
    weights : ndarray of shape (d, d)
        C: row i, how a lasting change of input i moves each reconstruction.
    """

    place: str
    variables: tuple[str, ...]
    weights: NDArray[np.float64]

    @property
    def caption(self) -> str:
        """What is shown."""
        own = np.abs(np.diagonal(self.weights))
        others = np.abs(self.weights).sum(0) - own
        most = min(_MAPPED, len(self.variables))
        return (
            f"Contribution weights C of a network fitted on {self.place}. Left: the {most} "
            f"variables with the largest ties, of {len(self.variables)}; rows influence, columns "
            "are influenced; colours end at the largest weight between different variables, the "
            f"diagonal may exceed it. Right: the {_TIES} strongest ties between different "
            f"variables at most. For {np.mean(own > others):.0%} of the variables their own "
            "weight exceeds those of all others together."
        )


def measure(workshop: Workshop) -> Contributions:
    """Fit, and read the weights."""
    found = workshop.fitted().contributions_
    # Rows without names are called x0, x1, … by the model; here the dataset's names are known.
    known = {f"x{at}": name for at, name in enumerate(workshop.data.variables)}
    names = tuple(known[name] for name in found.variables)
    return Contributions(workshop.place, names, found.reconstruction)


@styled
def draw(material: Contributions) -> Figure:
    """Draw the map on the left, the graph on the right."""
    from matplotlib.figure import Figure

    figure = Figure(figsize=(PAGE, 3.5))
    left, right = figure.subplots(1, 2, width_ratios=(1.25, 1))
    _draw_map(figure, left, material)
    _draw_graph(right, material)
    return figure


def _draw_map(figure: Figure, axes: Axes, material: Contributions) -> None:
    chosen = strongest_variables(material.weights, most=_MAPPED)
    part = material.weights[np.ix_(chosen, chosen)]
    names = [_short(material.variables[at]) for at in chosen]
    off = np.abs(part[~np.eye(len(part), dtype=bool)])
    most = float(off.max()) if off.size and off.max() > 0 else 1.0
    shown = axes.imshow(part, cmap="PuOr_r", vmin=-most, vmax=most)
    ticks = np.arange(len(names))
    size = 6 if len(names) > 16 else 7
    axes.set_xticks(ticks, names, rotation=90, fontsize=size)
    axes.set_yticks(ticks, names, fontsize=size)
    axes.tick_params(length=0)
    axes.spines[:].set_visible(False)
    axes.set(ylabel="a change of", xlabel="moves the reconstruction of")
    bar = figure.colorbar(shown, ax=axes, shrink=0.8, extend="both", aspect=30)
    bar.ax.set_title("C", loc="center")


def _draw_graph(axes: Axes, material: Contributions) -> None:
    from matplotlib.patches import FancyArrowPatch

    ties = strongest_ties(material.weights, most=_TIES)
    members = sorted({end for tie in ties for end in tie})
    turn = dict(zip(members, _angles(len(members)), strict=True))
    strongest = max((abs(float(material.weights[tie])) for tie in ties), default=1.0)
    for cause, effect in reversed(ties):
        weight = float(material.weights[cause, effect])
        share = abs(weight) / strongest
        axes.add_patch(
            FancyArrowPatch(
                (np.cos(turn[cause]), np.sin(turn[cause])),
                (np.cos(turn[effect]), np.sin(turn[effect])),
                connectionstyle="arc3,rad=0.18",
                arrowstyle="-|>",
                mutation_scale=7,
                shrinkA=4,
                shrinkB=4,
                linewidth=0.5 + 1.3 * share,
                linestyle="-" if weight > 0 else (0, (3, 1.5)),
                color=HOT if weight > 0 else BLUE,
                alpha=0.35 + 0.6 * share,
            )
        )
    for member in members:
        x, y = np.cos(turn[member]), np.sin(turn[member])
        axes.plot(x, y, "o", color=INK, markersize=3.5)
        degrees = float(np.degrees(turn[member]))
        flip = 90 < degrees % 360 < 270
        axes.text(
            1.09 * x,
            1.09 * y,
            _short(material.variables[member]),
            rotation=degrees + 180 if flip else degrees,
            rotation_mode="anchor",
            ha="right" if flip else "left",
            va="center",
            fontsize=6.5,
        )
    axes.plot([], [], color=HOT, label="moves it the same way")
    axes.plot([], [], color=BLUE, linestyle="--", label="the other way")
    axes.legend(loc="lower center", ncols=2, columnspacing=1.0)
    # Room for names around the ring, and below it for the legend.
    axes.set(xlim=(-1.6, 1.6), ylim=(-2.0, 1.65), aspect="equal")
    axes.axis("off")


def _angles(count: int) -> NDArray[np.float64]:
    """Places on a circle, from the top clockwise."""
    turns: NDArray[np.float64] = np.pi / 2 - 2 * np.pi * np.arange(count) / max(count, 1)
    return turns


def _short(name: str, most: int = 14) -> str:
    return name if len(name) <= most else name[: most - 1] + "…"
