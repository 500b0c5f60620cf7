"""The pictures and numbers of docs/how-to/evaluate-honestly.md.

    python -m benchmarks.figures_metrics            # writes docs/images/evaluate-*.png

Everything is drawn from fixed seeds; the numbers of the page are printed as they are used.
"""

from __future__ import annotations

from pathlib import Path

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from numpy.typing import NDArray

from alora_ts import metrics
from alora_ts.files import write_atomically
from alora_ts.metrics.zones import cut_into_cells, zones_of
from alora_ts.report.evaluation_plot import plot_evaluation

IMAGES = Path(__file__).resolve().parents[1] / "docs" / "images"
EVENT, GOOD, LUCK, ALARM, INK = "#f4b8b0", "#2a6f97", "#8a8f98", "#c1121f", "#24292f"

Labels = NDArray[np.int64]
Floats = NDArray[np.float64]


def plant(seed: int, n: int = 6000) -> tuple[Labels, Floats]:
    """A label with a few long and short events, and a score that notices most of them."""
    rng = np.random.default_rng(seed)
    label = np.zeros(n, dtype=np.int64)
    lengths = [240, 30, 12, 90, 4, 60, 150, 20]
    for start, length in zip(np.linspace(300, n - 500, len(lengths)), lengths, strict=True):
        first = int(start) + int(rng.integers(0, 200))
        label[first : first + length] = 1
    smooth = np.convolve(rng.normal(size=n + 19), np.full(20, 0.2236), mode="valid")
    noticed = np.convolve(label, np.exp(-np.arange(30) / 10) / 9.5)[:n]  # it reacts with a delay
    return label, np.exp(0.8 * smooth + 2.6 * noticed)


def save(figure: Figure, name: str) -> None:
    """Write a picture."""
    IMAGES.mkdir(parents=True, exist_ok=True)
    with write_atomically(IMAGES / name) as part:
        figure.savefig(part, format="png")
    print(f"wrote docs/images/{name}")


def clean(axes: Axes) -> None:
    """Only the lines that carry something."""
    axes.spines[["top", "right"]].set_visible(False)
    axes.tick_params(labelsize=9, colors=INK)


def point_adjustment() -> None:
    """An informative and a random score that point adjustment cannot distinguish."""
    n, first, last = 400, 150, 290
    label = np.zeros(n, dtype=np.int64)
    label[first:last] = 1
    rng = np.random.default_rng(1)
    informative = np.clip(0.18 + 0.06 * rng.normal(size=n) + 0.55 * label, 0, 1)

    def best(score: Floats, metric: str) -> metrics.BestF1:
        return metrics.best_f1(label, score, metric, i_know_it_misleads=True)

    tries = [np.random.default_rng(seed).random(n) for seed in range(1000)]
    adjusted = np.array([best(score, "point-adjusted").f1 for score in tries])
    affiliation = np.array([best(score, "affiliation").f1 for score in tries])
    point = np.array([best(score, "point").f1 for score in tries])
    random = tries[int(np.flatnonzero(adjusted == 1.0)[0])]
    print(
        f"1,000 random scores, best F1, mean: point-adjusted {adjusted.mean():.3f}, "
        f"affiliation {affiliation.mean():.3f}, point {point.mean():.3f}; "
        f"point-adjusted exactly 1 in {np.mean(adjusted == 1.0):.1%}"
    )

    figure = Figure(figsize=(10, 5.4), dpi=130, layout="constrained")
    rows = figure.subplots(3, 1, sharex=True, height_ratios=[1, 0.55, 1])
    # The informative score is cut where its rows are found best, the random one where luck is.
    for axes, score, color, chosen_by, title in (
        (rows[0], informative, GOOD, "point", "(a) an informative score"),
        (rows[2], random, LUCK, "point-adjusted", "(c) a random score, one lucky row"),
    ):
        clean(axes)
        threshold = best(score, chosen_by).threshold
        axes.axvspan(first, last, color=EVENT, lw=0, alpha=0.7)
        axes.plot(score, color=color, lw=1.1)
        axes.axhline(threshold, color=INK, lw=0.9, ls=(0, (5, 3)))
        hits = np.flatnonzero(score > threshold)
        axes.plot(hits, score[hits], "o", color=ALARM, ms=3 if hits.size > 1 else 7)
        values = {
            metric: metrics.at_threshold(
                label, score, threshold, metric, i_know_it_misleads=True
            ).f1
            for metric in ("point-adjusted", "affiliation", "point")
        }
        shown = ", ".join(f"{metric} {value:.2f}" for metric, value in values.items())
        print(f"{title}: F1 at the threshold shown: {shown}")
        axes.set_title(f"{title} · F1: {shown}", fontsize=10, loc="left")
        axes.set(ylim=(-0.03, 1.08), yticks=[], ylabel="score", xlim=(0, n))
    clean(rows[1])
    rows[1].fill_between(np.arange(n), label, step="mid", color=ALARM, alpha=0.85, lw=0)
    rows[1].set(ylim=(0, 1.15), yticks=[0, 1])
    rows[1].set_title("(b) the alarms of both, after point adjustment", fontsize=10, loc="left")
    rows[2].set_xlabel("row")
    save(figure, "evaluate-point-adjustment.png")


def zone_worth() -> None:
    """What an alarm is worth at each moment, and how zones divide time."""
    label = np.zeros(120, dtype=np.int64)
    label[20:32] = 1
    label[80:84] = 1
    zones = zones_of(label == 1)
    cells = cut_into_cells(zones, label.size)
    worth = np.bincount(cells.row, cells.worth)
    alarm = np.zeros(120, dtype=np.int64)
    alarm[29:35] = 1
    alarm[72:74] = 1
    found = metrics.affiliation(label, alarm)
    print(
        f"worked affiliation: precision {found.precision:.3f}, recall {found.recall:.3f}, "
        f"F1 {found.f1:.3f}; per event precision {found.event_precision.round(3).tolist()}, "
        f"recall {found.event_recall.round(3).tolist()}"
    )

    figure = Figure(figsize=(10, 3.6), dpi=130, layout="constrained")
    axes = figure.subplots()
    clean(axes)
    for s, e in ((20, 32), (80, 84)):
        axes.axvspan(s, e, ymax=(1.0 + 0.14) / 1.34, color=EVENT, lw=0, alpha=0.8)
    rows = np.flatnonzero(alarm)
    axes.bar(rows + 0.5, worth[rows], 1.0, color=GOOD, alpha=0.35, lw=0)
    axes.stairs(worth, np.arange(121), baseline=None, color=GOOD, lw=1.8)
    axes.axvline(zones.high[0], color=INK, lw=1, ls=(0, (2, 3)))
    axes.text(zones.high[0] + 1, 1.12, "here the zones meet", fontsize=9, color=INK)
    for s, e in ((29, 35), (72, 74)):
        axes.plot([s, e], [-0.07, -0.07], color=ALARM, lw=6, solid_capstyle="butt")
    axes.text(36, -0.075, "alarms", va="center", fontsize=9, color=ALARM)
    for place, event in ((26, 0), (82, 1)):
        axes.text(
            place,
            1.04,
            f"precision {found.event_precision[event]:.2f} · "
            f"recall {found.event_recall[event]:.2f}",
            ha="center",
            fontsize=9,
            color=INK,
        )
    axes.set(xlim=(0, 120), ylim=(-0.14, 1.2), yticks=np.arange(0, 1.1, 0.25))
    axes.set(xlabel="row", ylabel="worth of an alarm here")
    save(figure, "evaluate-affiliation.png")


def chance_levels() -> None:
    """The same series by every metric: what chance reaches, and what a detector adds."""
    label, score = plant(0)
    found = metrics.evaluate(label, score, i_know_it_misleads=True, repeats=100)
    names = [
        ("best threshold", f"{metric} F1")
        for metric in ("point-adjusted", "affiliation", "range", "event", "point")
    ] + [("all thresholds", name) for name in ("AUC-ROC", "VUS-ROC", "AUC-PR", "VUS-PR")]
    print(f"{found.rows} rows, {found.events} events, {found.anomalous:.1%} anomalous")
    print("| metric | score | random | always | above chance |\n|---|---:|---:|---:|---:|")
    figure = Figure(figsize=(10, 4), dpi=130, layout="constrained")
    axes = figure.subplots()
    clean(axes)
    for i, key in enumerate(names):
        line = found[key]
        assert line.value is not None
        assert line.random is not None
        assert line.always is not None
        spread = line.random_std or 0.0
        above = "–" if line.above_chance is None else f"{line.above_chance:.2f}"
        print(
            f"| {line.name} | {line.value:.3f} | {line.random:.3f} ± {spread:.3f} | "
            f"{line.always:.3f} | {above} |"
        )
        for offset, value, above_bar, color, name in (
            (-0.27, line.always, 0.0, "#d9dce0", "an alarm that never ends"),
            (0.0, line.random, spread, LUCK, "random scores (mean ± standard deviation of 100)"),
            (0.27, line.value, 0.0, GOOD, "a score that works"),
        ):
            axes.bar(i + offset, value, 0.25, color=color, label=name if i == 0 else None)
            top = value + above_bar + 0.015
            axes.text(i + offset, top, f"{value:.2f}", ha="center", fontsize=7, color=INK)
        axes.errorbar(i, line.random, spread, color=INK, lw=1, capsize=2)
    axes.set_xticks(range(len(names)), [name for _, name in names], fontsize=9)
    axes.set(ylim=(0, 1.12), yticks=np.arange(0, 1.01, 0.25))
    axes.legend(frameon=False, fontsize=9, ncols=3, loc="lower left", bbox_to_anchor=(0, 1))
    save(figure, "evaluate-chance-levels.png")


def overview() -> None:
    """The picture that ``alora-ts evaluate --plot`` draws, for the same series."""
    label, score = plant(0)
    plot_evaluation(label, score, IMAGES / "evaluate-overview.png", threshold=6.0)
    print("wrote docs/images/evaluate-overview.png")


if __name__ == "__main__":
    point_adjustment()
    zone_worth()
    chance_levels()
    overview()
