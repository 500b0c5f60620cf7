"""One look for all figures: readable at column width, distinguishable without colour vision."""

from __future__ import annotations

import math
from collections.abc import Callable
from functools import wraps
from pathlib import Path
from typing import TYPE_CHECKING, Any, ParamSpec, TypeVar

import numpy as np
from numpy.typing import NDArray

from alora_ts.errors import AloraError, nearest
from alora_ts.files import write_atomically

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

__all__ = [
    "BAND",
    "BLUE",
    "COLUMN",
    "FORMATS",
    "GREEN",
    "GREY",
    "HOT",
    "INK",
    "LINES",
    "ORANGE",
    "PAGE",
    "PURPLE",
    "SKY",
    "bend_scores",
    "check_format",
    "count_ranks",
    "save",
    "shade",
    "styled",
]

COLUMN, PAGE = 3.4, 6.9
"""Widths in inches: one column of a two-column page, and the whole page."""

# Okabe and Ito's colours, distinguishable with all common kinds of colour vision.
BLUE, HOT, GREEN, ORANGE, SKY, PURPLE = (
    "#0072B2",
    "#D55E00",
    "#009E73",
    "#E69F00",
    "#56B4E9",
    "#CC79A7",
)
GREY, INK, BAND = "#7d858c", "#22272b", "#fae3d6"
LINES = ((BLUE, "o"), (HOT, "s"), (GREEN, "^"), (PURPLE, "D"), (ORANGE, "v"), (SKY, "P"))

FORMATS = ("pdf", "png", "svg")
_RESOLUTION = 300

_LOOK: Any = {
    "font.size": 8,
    "axes.titlesize": 8,
    "axes.labelsize": 8,
    "xtick.labelsize": 7,
    "ytick.labelsize": 7,
    "legend.fontsize": 7,
    "legend.frameon": False,
    "axes.titlelocation": "left",
    "axes.spines.top": False,
    "axes.spines.right": False,
    "axes.edgecolor": INK,
    "axes.labelcolor": INK,
    "axes.linewidth": 0.7,
    "axes.axisbelow": True,
    "text.color": INK,
    "xtick.color": INK,
    "ytick.color": INK,
    "lines.linewidth": 1.1,
    "lines.markersize": 4,
    "figure.facecolor": "white",
    "figure.constrained_layout.use": True,
    "pdf.fonttype": 42,
    "svg.fonttype": "none",
    "svg.hashsalt": "alora-ts",
}

_P = ParamSpec("_P")
_R = TypeVar("_R")


def styled(draw: Callable[_P, _R]) -> Callable[_P, _R]:
    """Run a drawing function in the look of all figures, or say that matplotlib is missing."""

    @wraps(draw)
    def drawn(*args: _P.args, **kwargs: _P.kwargs) -> _R:
        try:
            from matplotlib import rc_context
        except ImportError as error:
            raise AloraError(
                "figures need the package matplotlib; install it with: pip install 'alora-ts[plot]'"
            ) from error
        with rc_context(_LOOK):
            return draw(*args, **kwargs)

    return drawn


def check_format(path: Path) -> str:
    """Return a file's format by its suffix.

    Raises
    ------
    AloraError
        When figures cannot be written in it.

    Examples
    --------
    >>> check_format(Path("h1.pdf"))
    'pdf'
    """
    kind = path.suffix.lower().removeprefix(".")
    if kind not in FORMATS:
        raise AloraError(f"cannot draw {path}: no format {kind!r}{nearest(kind, FORMATS)}")
    return kind


@styled
def save(figure: Figure, path: Path) -> None:
    """Write a figure as PDF, SVG or PNG (300 dots per inch), atomically.

    Raises
    ------
    AloraError
        When the format is none of these, or the file cannot be written.
    """
    kind = check_format(path)
    # Without a date equal figures give equal bytes.
    undated = {"pdf": {"CreationDate": None}, "svg": {"Date": None}}.get(kind)
    with write_atomically(path) as part:
        figure.savefig(part, format=kind, dpi=_RESOLUTION, metadata=undated)


def shade(axes: Axes, start: float, end: float, *, label: str | None = None) -> None:
    """Mark rows ``start`` to ``end`` (exclusive) as anomalous."""
    axes.axvspan(start - 0.5, end - 0.5, color=BAND, linewidth=0, zorder=0, label=label)


def count_ranks(axes: Axes) -> None:
    """Let the upright axis begin at 0 and name whole numbers only."""
    from matplotlib.ticker import MaxNLocator

    axes.set_ylim(0, None)
    axes.yaxis.set_major_locator(MaxNLocator(5, integer=True))


def bend_scores(axes: Axes, top: float) -> None:
    """Let both a score of 0.5 and one of 500 be seen: log(1 + score), ticks in score."""
    axes.set_yscale("function", functions=(_bend, _unbend))
    axes.set_yticks(*_score_ticks(top))
    axes.minorticks_off()
    axes.set_ylim(0, max(1.5, 1.15 * top))


def _score_ticks(top: float) -> tuple[list[float], list[str]]:
    """At most four ticks that do not stand on top of each other, and their names."""
    if top <= 30:
        ticks = [tick for tick in (0.0, 1.0, 3.0, 10.0, 30.0) if tick <= max(top, 1.0)]
        return ticks[-4:], [f"{tick:g}" for tick in ticks[-4:]]
    decades = math.floor(math.log10(top))
    powers = sorted({0, math.ceil(decades / 2), decades})
    names = [f"{10**power:g}" if power <= 4 else f"$10^{{{power}}}$" for power in powers]
    return [10.0**power for power in powers], names


def _bend(values: NDArray[np.float64]) -> NDArray[np.float64]:
    bent: NDArray[np.float64] = np.log1p(np.maximum(values, 0))
    return bent


def _unbend(values: NDArray[np.float64]) -> NDArray[np.float64]:
    straight: NDArray[np.float64] = np.expm1(values)
    return straight
