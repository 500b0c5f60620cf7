"""Draws the pictures of the page "How ALoRa works": ``python docs/drawings.py``.

The first is a sketch; the others show a small model that is fitted here, so their numbers are
measured, not invented.
"""

from __future__ import annotations

from pathlib import Path

import matplotlib as mpl
import numpy as np
import torch
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.patches import Rectangle
from numpy.typing import NDArray

from alora_ts import ALoRa
from alora_ts.scoring.spectrum import singular_values

IMAGES = Path(__file__).parent / "images"
NAMES = ["inflow", "pump", "flow", "level", "valve"]
BLUE, HOT, SOFT, INK = "#2563a8", "#c2410c", "#8a94a3", "#1f2937"
WINDOW, FAULT, LASTS = 20, 300, 40

mpl.rcParams |= {
    "font.size": 11,
    "svg.fonttype": "none",
    "svg.hashsalt": "alora-ts",
    "axes.spines.top": False,
    "axes.spines.right": False,
    "text.color": INK,
    "axes.labelcolor": INK,
    "xtick.color": INK,
    "ytick.color": INK,
}


def plant(rows: int, seed: int) -> NDArray[np.float64]:
    """Five signals: an inflow drives a pump, the pump a flow, the flow a level and a valve."""
    rng = np.random.default_rng(seed)
    at = np.arange(rows + 8) + 1000 * seed
    inflow = np.sin(at / 11) + 0.5 * np.sin(at / 37)
    pump = np.roll(inflow, 2) * 1.2
    flow = np.roll(pump, 2) * 0.8
    level = np.roll(flow, 3) * -0.9
    valve = 0.6 * np.roll(level, 1) + 0.3 * flow
    values = np.column_stack([inflow, pump, flow, level, valve])[8:]
    return values + 0.05 * rng.normal(size=values.shape)


def save(figure: Figure, name: str) -> None:
    """Write a picture on white, which both themes of the site show alike."""
    IMAGES.mkdir(exist_ok=True)
    figure.savefig(IMAGES / name, metadata={"Date": None}, facecolor="white")


def _grid(axes: Axes, left: float, bottom: float, shades: NDArray[np.float64], title: str) -> None:
    rows, columns = shades.shape
    for row in range(rows):
        for column in range(columns):
            axes.add_patch(
                Rectangle(
                    (left + column * 0.32, bottom + (rows - 1 - row) * 0.32),
                    0.3,
                    0.3,
                    color=BLUE,
                    alpha=0.08 + 0.85 * float(shades[row, column]),
                    lw=0,
                )
            )
    middle = left + columns * 0.16
    axes.text(middle, bottom + rows * 0.32 + 0.15, title, ha="center", va="bottom")


def draw_star() -> None:
    """The sketch: time weights × window × series weights."""
    figure = Figure(figsize=(9.6, 3.4))
    axes = figure.add_axes((0, 0, 1, 1))
    axes.set(xlim=(0, 9.6), ylim=(0, 3.4))
    axes.axis("off")
    rng = np.random.default_rng(4)
    lags = np.exp(-np.abs(np.subtract.outer(np.arange(6), np.arange(6))) / 1.3)
    _grid(axes, 0.4, 0.85, lags, "A: which moments")
    _grid(axes, 3.1, 0.85, rng.uniform(size=(6, 5)), "the window")
    _grid(axes, 5.5, 1.01, np.eye(5) * 0.6 + 0.3 * rng.uniform(size=(5, 5)), "B: which signals")
    _grid(axes, 7.75, 0.85, rng.uniform(0.1, 0.8, size=(6, 5)), "one term")
    for at, sign in ((2.7, "×"), (5.1, "×"), (7.4, "=")):
        axes.text(at, 1.75, sign, ha="center", va="center", size=20)
    axes.text(1.36, 0.55, "moment × moment", ha="center", color=SOFT)
    axes.text(3.9, 0.55, "moment × signal", ha="center", color=SOFT)
    axes.text(6.3, 0.55, "signal × signal", ha="center", color=SOFT)
    axes.text(0.4, 0.15, "attention: anew for each window", color=HOT)
    axes.text(6.3, 0.15, "weights: learned once, then fixed", ha="center", color=HOT)
    save(figure, "how-star.svg")


def draw_rank(model: ALoRa, today: NDArray[np.float64]) -> None:
    """Singular values of a normal and of a faulty window, and the rank of every row."""
    fitted = model.model_
    scaled = fitted.preparation.standardiser.apply(today).astype(np.float32)
    ends = (FAULT - 20, FAULT + 9)
    windows = np.stack([scaled[end - WINDOW + 1 : end + 1] for end in ends])
    attention = fitted.engine.last_rows(torch.from_numpy(windows)).attention
    sigma, level = singular_values(attention), fitted.calibration.rank_level
    ranks = (sigma > level).sum(1)
    figure = Figure(figsize=(9.6, 3.4), layout="constrained")
    left, right = figure.subplots(1, 2, width_ratios=(1, 1.5))
    places = np.arange(1, 11)
    left.semilogy(places, sigma[1, :10], "o-", color=HOT, label=f"fault: rank {ranks[1]}")
    left.semilogy(places, sigma[0, :10], "o-", color=BLUE, label=f"normal: rank {ranks[0]}")
    left.axhline(level, color=INK, ls="--", lw=1)
    left.text(10.2, level * 1.3, "h1", ha="right")
    left.set(title="singular values of two windows", xlabel="place", xticks=places)
    left.legend(frameon=False)
    shown = slice(FAULT - 80, FAULT + 100)
    rows = np.arange(shown.start, shown.stop)
    right.axvspan(FAULT, FAULT + LASTS - 1, color=HOT, alpha=0.12, lw=0)
    right.text(FAULT + LASTS / 2, 7.3, "fault", ha="center", color=HOT)
    right.step(rows, model.diagnose(today).rank[shown], where="mid", color=BLUE)
    right.set(title="rank of each row's window", xlabel="row", ylim=(0, 8))
    save(figure, "how-rank.svg")


def draw_contributions(model: ALoRa, today: NDArray[np.float64]) -> None:
    """Errors, weights C and the shares of blame they give."""
    found = model.diagnose(today)
    rows = slice(FAULT + 5, FAULT + 15)
    error, blame = found.error[rows].mean(0), found.localization[rows].mean(0)
    weights = np.abs(model.contributions_.reconstruction)
    figure = Figure(figsize=(9.6, 3.6), layout="constrained")
    left, middle, right = figure.subplots(1, 3, width_ratios=(1, 1.25, 1))
    places = np.arange(len(NAMES))
    for axes, values, name in (
        (left, error / error.sum(), "who deviates"),
        (right, blame / blame.sum(), "who is blamed"),
    ):
        colours = [HOT if at == int(values.argmax()) else SOFT for at in places]
        axes.barh(places, values, color=colours)
        axes.set(title=name, xlabel="share", xlim=(0, 1), yticks=places, yticklabels=NAMES)
        axes.invert_yaxis()
    middle.imshow(weights, cmap="Blues", vmin=0)
    middle.set(title="|C|: who moves whom", yticks=places, yticklabels=NAMES, xticks=places)
    middle.set_xticklabels(NAMES, rotation=35, ha="right")
    middle.set(ylabel="a change of", xlabel="moves the expectation of")
    for row, column in np.ndindex(weights.shape):
        bright = weights[row, column] > 0.6 * weights.max()
        middle.text(
            column,
            row,
            f"{weights[row, column]:.2f}",
            ha="center",
            va="center",
            size=8,
            color="white" if bright else INK,
        )
    save(figure, "how-contributions.svg")


def main() -> None:
    """Fit the small model and draw everything."""
    model = ALoRa(window=WINDOW, seed=0, localization="blend").fit(plant(3000, 0))
    today = plant(600, 1)
    today[FAULT : FAULT + LASTS, 2] += 4
    draw_star()
    draw_rank(model, today)
    draw_contributions(model, today)


if __name__ == "__main__":
    main()
