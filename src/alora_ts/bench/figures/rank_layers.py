"""Rank of the attention matrices layer by layer, with and without the low-rank penalty."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from alora_ts.bench.figures.style import BLUE, HOT, PAGE, count_ranks, styled
from alora_ts.bench.figures.workshop import MissingMaterialError, Workshop, choose_ends, spectra
from alora_ts.data.windows import window_view

if TYPE_CHECKING:
    from matplotlib.figure import Figure

__all__ = ["RankLayers", "draw", "measure"]

_WINDOWS = 600
_LEVEL = 0.02
"""Below this difference of AUC-ROC nothing is concluded."""


@dataclass(frozen=True)
class RankLayers:
    """Ranks of some normal and some anomalous test windows.

    Attributes
    ----------
    place : str
    levels : tuple of float
        h1 of the network without the penalty and of the one with it: singular values depend on the
        training, so each network's ranks are counted at its own.
    normal, anomalous : tuple of ndarray of shape (windows, layers)
        Without the penalty, then with it.
    """

    place: str
    levels: tuple[float, float]
    normal: tuple[NDArray[np.int64], NDArray[np.int64]]
    anomalous: tuple[NDArray[np.int64], NDArray[np.int64]]

    @property
    def separation(self) -> tuple[float, float]:
        """How often an anomalous window's last rank is above a normal one's (AUC-ROC).

        Ties count one half. Without the penalty, then with it.
        """
        without, with_penalty = (
            _chance_above(bad[:, -1], good[:, -1])
            for good, bad in zip(self.normal, self.anomalous, strict=True)
        )
        return without, with_penalty

    @property
    def caption(self) -> str:
        """What was found."""
        apart = [
            float(bad[:, -1].mean() - good[:, -1].mean())
            for good, bad in zip(self.normal, self.anomalous, strict=True)
        ]
        without, with_penalty = self.separation
        return (
            f"Rank of each layer's mean attention matrix on {self.place}, each network counted at "
            f"its own h1 ({self.levels[0]:.3g} without the penalty, {self.levels[1]:.3g} with it). "
            f"Points: means over {len(self.normal[0])} normal and {len(self.anomalous[0])} "
            "anomalous test windows; bars: 10th to 90th percentile. In the last layer anomalous "
            f"windows differ from normal ones by {apart[0]:+.2f} without the penalty and "
            f"{apart[1]:+.2f} with it; the rank alone tells them apart with AUC-ROC "
            f"{without:.2f} and {with_penalty:.2f}. {_conclusion(without, with_penalty)}"
        )


def _chance_above(bad: NDArray[np.int64], good: NDArray[np.int64]) -> float:
    ordered = np.sort(good)
    below = np.searchsorted(ordered, bad, side="left")
    equal = np.searchsorted(ordered, bad, side="right") - below
    return float((below + equal / 2).mean() / len(good))


def _conclusion(without: float, with_penalty: float) -> str:
    difference = with_penalty - without
    if abs(difference) < _LEVEL:
        return f"The two differ by less than {_LEVEL:g}."
    said = "more" if difference > 0 else "less"
    return f"With the penalty the rank separates {said}, on this entity and with one seed."


def measure(workshop: Workshop) -> RankLayers:
    """Fit with and without the penalty and count ranks on test windows.

    Raises
    ------
    MissingMaterialError
        When no test window is free of anomalies, or none ends in one.
    """
    data, window = workshop.data, workshop.fitted().window
    clean = np.zeros(len(data.label), dtype=bool)
    if len(clean) >= window:
        clean[window - 1 :] = ~window_view(data.label[:, None], window)[:, :, 0].any(1)
    ends = {
        kind: choose_ends(wanted, data.test_segments, window=window, most=_WINDOWS)
        for kind, wanted in (("normal", clean), ("anomalous", data.label))
    }
    for kind, chosen in ends.items():
        if not len(chosen):
            raise MissingMaterialError(
                f"{workshop.place} has no {kind} test window; choose another --entity"
            )
    models = (workshop.fitted(training__low_rank_weight=0.0), workshop.fitted())
    first, second = (model.model_.calibration.rank_level for model in models)
    ranks = {
        kind: [
            (spectra(model, data.test, data.test_segments, chosen) > level).sum(2)
            for model, level in zip(models, (first, second), strict=True)
        ]
        for kind, chosen in ends.items()
    }
    without, with_penalty = ranks["normal"]
    bad_without, bad_with = ranks["anomalous"]
    return RankLayers(
        workshop.place, (first, second), (without, with_penalty), (bad_without, bad_with)
    )


@styled
def draw(material: RankLayers) -> Figure:
    """Draw two panels, without and with the penalty."""
    from matplotlib.figure import Figure

    figure = Figure(figsize=(PAGE, 2.3))
    panels = figure.subplots(1, 2, sharey=True)
    titles = ("without the low-rank penalty", "with it")
    for axes, title, normal, anomalous in zip(
        panels, titles, material.normal, material.anomalous, strict=True
    ):
        layers = np.arange(1, normal.shape[1] + 1)
        for ranks, colour, mark, move, name in (
            (anomalous, HOT, "s", 0.06, "anomalous windows"),
            (normal, BLUE, "o", -0.06, "normal windows"),
        ):
            mean = ranks.mean(0)
            low, high = np.percentile(ranks, [10, 90], axis=0)
            # A skewed distribution may have its mean outside these percentiles.
            spread = np.maximum([mean - low, high - mean], 0)
            axes.errorbar(
                layers + move, mean, spread, color=colour, marker=mark, capsize=2, label=name
            )
        axes.set(title=title, xlabel="layer", xticks=layers)
        count_ranks(axes)
    panels[0].set_ylabel("rank of the attention matrix")
    panels[0].legend(loc="lower left")
    return figure
