"""LightMTS-Embed against the standard dense embedding: F1, and errors on normal test rows."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from alora_ts.bench.figures.style import BLUE, HOT, PAGE, styled
from alora_ts.bench.figures.window_size import BEST
from alora_ts.bench.figures.workshop import MissingMaterialError, Workshop

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

__all__ = ["Embeddings", "draw", "measure"]

_CASES = {"light": "pairs", "standard": "dense"}
"""The cases of the study, and the estimator's name for each."""


@dataclass(frozen=True)
class Embeddings:
    """Results of the study "embedding" and errors of two fits.

    Attributes
    ----------
    places : tuple of str
        With results of both embeddings.
    f1 : dict of str to ndarray of shape (places, 2)
        By case: mean and standard deviation over seeds of the best affiliation F1; NaN for the
        deviation of a single seed.
    fitted_on : str
    errors : dict of str to ndarray of shape (rows,)
        By case: mean squared error over variables of normal test rows, scaled units.
    """

    places: tuple[str, ...]
    f1: dict[str, NDArray[np.float64]]
    fitted_on: str
    errors: dict[str, NDArray[np.float64]]

    @property
    def repeated(self) -> bool:
        """Whether any entity has results of several seeds."""
        return any(np.isfinite(found[:, 1]).any() for found in self.f1.values())

    @property
    def caption(self) -> str:
        """What was found."""
        light, standard = (self.f1[case][:, 0].mean() for case in _CASES)
        middle = {case: float(np.median(values)) for case, values in self.errors.items()}
        runs = "mean and standard deviation over seeds" if self.repeated else "one seed"
        return (
            "Light (two series per kernel) against standard embedding (all series). Left: best "
            f"affiliation F1 with the threshold from the test labels, {runs}; on average over "
            f"entities ({len(self.places)}) {light:.3f} against {standard:.3f}. Right: squared "
            f"reconstruction error of the normal test rows of {self.fitted_on}, mean over "
            "variables (boxes: quartiles; whiskers: 5th and 95th percentile); medians "
            f"{middle['light']:.3g} against {middle['standard']:.3g}."
        )


def measure(workshop: Workshop) -> Embeddings:
    """Read the study, and fit both embeddings for their errors.

    Raises
    ------
    MissingMaterialError
        When no entity has results of both embeddings.
    """
    study = workshop.runs_of_study("embedding")
    by_case: dict[str, dict[str, list[float]]] = {case: {} for case in _CASES}
    for case in _CASES:
        for result in study.get(case, []):
            f1 = result.record.detection.get(BEST)
            if f1 is not None and f1.value is not None:
                by_case[case].setdefault(result.record.place, []).append(f1.value)
    places = tuple(sorted(set(by_case["light"]) & set(by_case["standard"])))
    if not places:
        raise MissingMaterialError(
            "needs runs of both embeddings on one entity; let `alora-ts bench run ablation` finish"
        )
    data, errors = workshop.data, {}
    for case, embedding in _CASES.items():
        found = workshop.fitted(architecture__embedding=embedding).diagnose(
            data.test, segments=data.test_segments, progress=False
        )
        normal = ~data.label & ~found.warm_up
        errors[case] = found.error[normal].mean(1).astype(np.float64)
    return Embeddings(
        places,
        {
            case: np.array([_mean_and_spread(by_case[case][place]) for place in places])
            for case in _CASES
        },
        workshop.place,
        errors,
    )


def _mean_and_spread(values: list[float]) -> tuple[float, float]:
    return float(np.mean(values)), float(np.std(values, ddof=1)) if len(values) > 1 else np.nan


@styled
def draw(material: Embeddings) -> Figure:
    """Draw bars on the left and boxes on the right."""
    from matplotlib.figure import Figure

    figure = Figure(figsize=(PAGE, 2.5))
    left, right = figure.subplots(1, 2, width_ratios=(1.5, 1))
    at = np.arange(len(material.places))
    for case, colour, move in (("light", BLUE, -0.19), ("standard", HOT, 0.19)):
        mean, spread = material.f1[case].T
        error = spread if material.repeated else None
        left.bar(at + move, mean, 0.36, yerr=error, color=colour, capsize=2, label=case)
    left.set_xticks(at, [place.replace(" ", "\n", 1) for place in material.places])
    left.set(ylim=(0, 1.18), yticks=(0, 0.25, 0.5, 0.75, 1), title="best affiliation F1")
    left.legend(loc="upper center", ncols=2)
    _draw_boxes(right, material)
    return figure


def _draw_boxes(axes: Axes, material: Embeddings) -> None:
    boxes = axes.boxplot(
        [material.errors[case] for case in _CASES],
        tick_labels=list(_CASES),
        whis=(5, 95),
        showfliers=False,
        widths=0.5,
        patch_artist=True,
        medianprops={"color": "white", "linewidth": 1.4},
    )
    for box, colour in zip(boxes["boxes"], (BLUE, HOT), strict=True):
        box.set(facecolor=colour, edgecolor=colour)
    axes.set(yscale="log", title=f"error of normal rows, {material.fitted_on}")
