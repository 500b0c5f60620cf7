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


@dataclass(frozen=True)
class RankLayers:
    """Ranks of some normal and some anomalous test windows.

    Attributes
    ----------
    place : str
    level : float
        h1 of the network with the penalty; all ranks are counted with it.
    normal, anomalous : tuple of ndarray of shape (windows, layers)
        Without the penalty, then with it.
    """

    place: str
    level: float
    normal: tuple[NDArray[np.int64], NDArray[np.int64]]
    anomalous: tuple[NDArray[np.int64], NDArray[np.int64]]

    @property
    def caption(self) -> str:
        """What was found."""
        apart = [
            float(bad[:, -1].mean() - good[:, -1].mean())
            for good, bad in zip(self.normal, self.anomalous, strict=True)
        ]
        return (
            f"Rank of each layer's mean attention matrix on {self.place}, counted at "
            f"h1 = {self.level:.3g} (chosen for the network with the penalty). Points: means over "
            f"{len(self.normal[0])} normal and {len(self.anomalous[0])} anomalous test windows; "
            "bars: 10th to 90th percentile. In the last layer anomalous windows are "
            f"{apart[0]:+.2f} above normal ones without the penalty and {apart[1]:+.2f} with it."
        )


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
    level = models[1].model_.calibration.rank_level
    ranks = {
        kind: [
            (spectra(model, data.test, data.test_segments, chosen) > level).sum(2)
            for model in models
        ]
        for kind, chosen in ends.items()
    }
    without, with_penalty = ranks["normal"]
    bad_without, bad_with = ranks["anomalous"]
    return RankLayers(workshop.place, level, (without, with_penalty), (bad_without, bad_with))


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
