"""Why point adjustment misleads: a random score beside an informative one."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from alora_ts.bench.figures.style import BLUE, GREY, HOT, PAGE, bend_scores, shade, styled
from alora_ts.bench.figures.workshop import MissingMaterialError, Workshop
from alora_ts.metrics import best_f1
from alora_ts.metrics.events import runs

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

__all__ = ["Adjustment", "Judged", "draw", "measure", "point_adjusted_alarms"]

_DRAWS = 20


@dataclass(frozen=True)
class Judged:
    """One score and how it is judged.

    Attributes
    ----------
    score : ndarray of shape (N,)
    threshold : float
        With the best point-adjusted F1.
    adjusted, affiliation : float
        Best point-adjusted and best affiliation F1.
    """

    score: NDArray[np.float64]
    threshold: float
    adjusted: float
    affiliation: float


@dataclass(frozen=True)
class Adjustment:
    """An informative and a random score of the same test rows.

    Attributes
    ----------
    place : str
    label : ndarray of bool, shape (N,)
    event : tuple of int
        First row and row after the last of the longest event, which is drawn.
    informative, random : Judged
    draws : ndarray of shape (20, 2)
        Best point-adjusted and affiliation F1 of more random scores.
    """

    place: str
    label: NDArray[np.bool_]
    event: tuple[int, int]
    informative: Judged
    random: Judged
    draws: NDArray[np.float64]

    @property
    def caption(self) -> str:
        """What was found."""
        adjusted, affiliation = self.draws.mean(0)
        return (
            f"ALoRa's score and a random one around the longest event of {self.place}, each at its "
            "best point-adjusted threshold. Point adjustment counts the whole event as found when "
            f"one of its rows is: F1 {self.informative.adjusted:.2f} for ALoRa and "
            f"{adjusted:.2f} ± {self.draws[:, 0].std(ddof=1):.2f} for {len(self.draws)} random "
            f"scores. Affiliation F1: {self.informative.affiliation:.2f} and {affiliation:.2f} ± "
            f"{self.draws[:, 1].std(ddof=1):.2f}."
        )


def point_adjusted_alarms(label: NDArray[np.bool_], alarm: NDArray[np.bool_]) -> NDArray[np.bool_]:
    """Extend every alarm inside an event to the whole event.

    Examples
    --------
    >>> label = np.array([0, 1, 1, 1, 0], dtype=bool)
    >>> point_adjusted_alarms(label, np.array([1, 0, 0, 1, 0], dtype=bool)).astype(int)
    array([1, 1, 1, 1, 0])
    """
    adjusted = alarm.copy()
    for start, end in zip(*runs(label), strict=True):
        adjusted[start:end] |= alarm[start:end].any()
    return adjusted


def measure(workshop: Workshop) -> Adjustment:
    """Fit, score, and judge both scores by both metrics.

    Raises
    ------
    MissingMaterialError
        When the test rows have no event or nothing but one.
    """
    data = workshop.data
    if not data.label.any() or data.label.all():
        raise MissingMaterialError(
            f"{workshop.place} has no event among normal rows; choose another --entity"
        )
    score = workshop.fitted().score(data.test, segments=data.test_segments, progress=False)
    rng = np.random.default_rng(0)
    random = [_judge(data.label, rng.random(len(data.label))) for _ in range(_DRAWS)]
    starts, ends = runs(data.label)
    longest = int(np.argmax(ends - starts))
    return Adjustment(
        workshop.place,
        data.label,
        (int(starts[longest]), int(ends[longest])),
        _judge(data.label, score),
        random[0],
        np.array([[one.adjusted, one.affiliation] for one in random]),
    )


def _judge(label: NDArray[np.bool_], score: NDArray[np.float64]) -> Judged:
    adjusted = best_f1(label, score, "point-adjusted", i_know_it_misleads=True)
    return Judged(score, adjusted.threshold, adjusted.f1, best_f1(label, score).f1)


@styled
def draw(material: Adjustment) -> Figure:
    """Draw scores, decisions after point adjustment, and both metrics beside them."""
    from matplotlib.figure import Figure

    start, end = material.event
    margin = max(30, end - start)
    rows = np.arange(max(0, start - margin), min(len(material.label), end + margin))
    figure = Figure(figsize=(PAGE, 3.2))
    grid = figure.add_gridspec(4, 2, width_ratios=(2.6, 1), height_ratios=(1.6, 0.6, 0.6, 1.6))
    drawn = [figure.add_subplot(grid[at, 0]) for at in range(4)]
    for axes in drawn:
        axes.set(xlim=(rows[0], rows[-1]))
        for first, after in zip(*runs(material.label[rows]), strict=True):
            shade(axes, rows[0] + first, rows[0] + after)
    for axes in drawn[:3]:
        axes.tick_params(labelbottom=False)
    _draw_score(drawn[0], rows, material.informative, "(a) ALoRa's score", BLUE)
    _draw_alarms(drawn[1], rows, material, material.informative, "(b) alarms of (a), adjusted")
    _draw_alarms(drawn[2], rows, material, material.random, "(c) alarms of (d), adjusted")
    _draw_score(drawn[3], rows, material.random, "(d) a random score", GREY)
    drawn[3].set_xlabel("row")
    _draw_bars(figure.add_subplot(grid[:, 1]), material)
    return figure


def _draw_score(
    axes: Axes, rows: NDArray[np.int64], judged: Judged, title: str, colour: str
) -> None:
    part = judged.score[rows]
    axes.plot(rows, part, color=colour, linewidth=0.8)
    axes.axhline(judged.threshold, color=HOT, linestyle="--", linewidth=0.9)
    above = rows[part > judged.threshold]
    axes.plot(above, judged.score[above], ".", color=HOT, markersize=2.5)
    if part.max() > 4:
        bend_scores(axes, float(part.max()))
    axes.set_title(title)


def _draw_alarms(
    axes: Axes, rows: NDArray[np.int64], material: Adjustment, judged: Judged, title: str
) -> None:
    alarms = point_adjusted_alarms(material.label, judged.score > judged.threshold)
    axes.fill_between(rows, alarms[rows].astype(int), step="mid", color=HOT, linewidth=0)
    axes.set(ylim=(0, 1.15), yticks=(0, 1))
    axes.set_title(title)


def _draw_bars(axes: Axes, material: Adjustment) -> None:
    mean, spread = material.draws.mean(0), material.draws.std(0, ddof=1)
    places = np.arange(2)
    own = (material.informative.adjusted, material.informative.affiliation)
    axes.bar(places - 0.19, own, 0.36, color=BLUE, label="ALoRa")
    axes.bar(
        places + 0.19,
        mean,
        0.36,
        yerr=spread,
        color=GREY,
        capsize=2,
        label=f"random, {len(material.draws)} draws",
    )
    for at, (ours, chance, tip) in enumerate(zip(own, mean, mean + spread, strict=True)):
        axes.text(at - 0.19, ours + 0.03, f"{ours:.2f}", ha="center", fontsize=7)
        axes.text(at + 0.19, tip + 0.03, f"{chance:.2f}", ha="center", fontsize=7)
    axes.set(title="best F1, all rows", ylim=(0, 1.3), yticks=(0, 0.5, 1))
    axes.set_xticks(places, ["point-\nadjusted", "affiliation"])
    axes.legend(loc="upper center")
