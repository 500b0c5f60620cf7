"""How h1 is chosen: the fourth and fifth singular values of the last layer on normal rows."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from alora_ts.bench.figures.style import BLUE, COLUMN, GREEN, HOT, SKY, styled
from alora_ts.bench.figures.workshop import MissingMaterialError, Workshop, choose_ends, spectra

if TYPE_CHECKING:
    from matplotlib.figure import Figure

__all__ = ["PUBLISHED", "RankLevel", "draw", "measure"]

PUBLISHED = {"SMD": 1e-2, "PSM": 1e-3, "SWaT": 3e-2, "MSL": 3e-2, "HAI": 2e-1}
"""h1 as the paper prints it."""

_WINDOWS = 3000


@dataclass(frozen=True)
class RankLevel:
    """Singular values over normal training windows.

    Attributes
    ----------
    place : str
    fourth, fifth : ndarray of shape (windows,)
        σ4 and σ5 of S^(L).
    chosen : float
        h1 as the model chose it.
    rule : str
        By which rule.
    published : float or None
        h1 as printed for this dataset.
    """

    place: str
    fourth: NDArray[np.float64]
    fifth: NDArray[np.float64]
    chosen: float
    rule: str
    published: float | None

    @property
    def caption(self) -> str:
        """What was found."""
        said = (
            f"Fourth and fifth singular value of the last attention matrix over "
            f"{len(self.fourth)} training windows of {self.place}. Chosen by the rule "
            f"{self.rule!r}: h1 = {self.chosen:.3g}."
        )
        if self.published is not None:
            above = float((self.fifth > self.published).mean())
            said += (
                f" The fifth value exceeds the published {self.published:g} in {above:.1%} of "
                "these windows, which would then have a rank above 4 on normal rows."
            )
            ratio = self.chosen / self.published
            said += f" The chosen h1 is {ratio:.2g} times the published one" + (
                ": this network needs another." if not 0.5 < ratio < 2 else "."
            )
        return said


def measure(workshop: Workshop) -> RankLevel:
    """Fit, and look at training windows spread over all training rows.

    Raises
    ------
    MissingMaterialError
        When the window is so short that there is no fifth singular value.
    """
    model, data = workshop.fitted(), workshop.data
    if model.window < 5:
        raise MissingMaterialError(f"a window of {model.window} rows has no fifth singular value")
    everywhere = np.ones(len(data.train), dtype=bool)
    ends = choose_ends(everywhere, data.train_segments, window=model.window, most=_WINDOWS)
    last = spectra(model, data.train, data.train_segments, ends)[:, -1]
    return RankLevel(
        workshop.place,
        last[:, 3],
        last[:, 4],
        model.model_.calibration.rank_level,
        model.calibration.rank_rule,
        PUBLISHED.get(data.name),
    )


@styled
def draw(material: RankLevel) -> Figure:
    """Draw both distributions on one logarithmic axis, with the levels as lines."""
    from matplotlib.figure import Figure
    from matplotlib.ticker import LogFormatterSciNotation, LogLocator, NullFormatter

    # Rounding of single precision ends near here; what lies below is zero.
    fourth, fifth = (np.maximum(one, 1e-8) for one in (material.fourth, material.fifth))
    both = np.concatenate([fourth, fifth])
    edges = np.geomspace(both.min() / 1.05, both.max() * 1.05, 61).tolist()
    figure = Figure(figsize=(COLUMN, 2.3))
    axes = figure.subplots()
    axes.hist(fifth, edges, color=SKY, alpha=0.75, label="σ5")
    axes.hist(fourth, edges, color=BLUE, histtype="step", linewidth=1.2, label="σ4")
    axes.axvline(material.chosen, color=HOT, linestyle="--", label=f"h1 = {material.chosen:.2g}")
    if material.published is not None:
        axes.axvline(
            material.published,
            color=GREEN,
            linestyle=":",
            linewidth=1.4,
            label=f"published {material.published:g}",
        )
    axes.set(xscale="log", xlabel="singular value", ylabel="training windows")
    lowest, highest = axes.get_xlim()
    if highest / lowest < 30:
        # Too narrow for powers of ten alone.
        axes.xaxis.set_major_locator(LogLocator(subs=(1, 2, 5)))
        axes.xaxis.set_major_formatter(LogFormatterSciNotation(minor_thresholds=(9, 9)))
    axes.xaxis.set_minor_formatter(NullFormatter())
    figure.legend(loc="outside upper center", ncols=4, columnspacing=1.0, handlelength=1.5)
    return figure
