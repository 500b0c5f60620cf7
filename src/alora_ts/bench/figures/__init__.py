"""The figures of the paper, drawn from results and from fits made for them."""

from __future__ import annotations

from alora_ts.bench.figures.registry import FIGURES, Drawn, LeftOut, draw_figure, draw_figures
from alora_ts.bench.figures.workshop import MissingMaterialError, Workshop

__all__ = [
    "FIGURES",
    "Drawn",
    "LeftOut",
    "MissingMaterialError",
    "Workshop",
    "draw_figure",
    "draw_figures",
]
