"""One picture of an evaluation: the score over time, incidents, and how good each threshold is."""

from __future__ import annotations

import os
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from alora_ts.errors import AloraError
from alora_ts.files import write_atomically
from alora_ts.metrics import (
    Curve,
    IncidentCurve,
    IncidentJudgement,
    at_threshold,
    best_f1,
    curve,
    incident_curve,
    judge_incidents,
)
from alora_ts.metrics.events import runs
from alora_ts.metrics.incidents import GAP, WIDENING, per_day
from alora_ts.metrics.inputs import as_binary
from alora_ts.report.sampling import sample_rows

if TYPE_CHECKING:
    from matplotlib.axes import Axes

__all__ = ["plot_evaluation"]

SUFFIXES = (".pdf", ".png", ".svg")
POINTS = 4000
INK, BAND, SCORE, BEST, GIVEN, CHANCE = (
    "#24292f",
    "#f4b8b0",
    "#2a6f97",
    "#c1121f",
    "#7b2cbf",
    "#9aa0a6",
)


def plot_evaluation(
    label: ArrayLike,
    score: ArrayLike,
    path: str | os.PathLike[str],
    *,
    threshold: float | None = None,
    alarm: ArrayLike | None = None,
    seconds_per_row: float | None = None,
    gap: int = GAP,
    widening: int = WIDENING,
    metric: str = "affiliation",
    seed: int = 0,
) -> None:
    """Draw score, events, thresholds, incidents and the curves of one metric into a file.

    Parameters
    ----------
    label, score : array_like of shape (n,)
        As for :func:`~alora_ts.metrics.curve`.
    path : path-like
        A .png, .svg or .pdf file.
    threshold : float, optional
        A threshold chosen without labels, drawn beside the best one.
    alarm : array_like of shape (n,), optional
        In its place alarms, 0 or 1 per row.
    seconds_per_row : float, optional
        Counts false incidents by the day.
    gap, widening : int
        See :mod:`alora_ts.metrics.incidents`.
    metric : str
        Whose curves to draw.
    seed : int
        Of the random score whose curves are drawn in grey for comparison.

    Raises
    ------
    AloraError
        When the file's suffix is unknown, matplotlib is missing, or the file cannot be written.
    DataError
        When the arrays are unusable or only one class occurs.

    Examples
    --------
    >>> import tempfile
    >>> target = Path(tempfile.mkdtemp()) / "out.png"
    >>> plot_evaluation([0, 0, 1, 1, 0, 0], [0.1, 0.2, 0.9, 0.8, 0.3, 0.1], target)
    >>> target.read_bytes()[1:4]
    b'PNG'
    """
    target = Path(path)
    if target.suffix.lower() not in SUFFIXES:
        raise AloraError(f"cannot draw {target}: its name must end in {', '.join(SUFFIXES)}")
    found = curve(label, score, metric)
    best = best_f1(label, score, metric)
    events = np.asarray(label, dtype=bool)
    values = np.asarray(score, dtype=np.float64)
    drawn = np.random.default_rng(seed).random(values.size)
    chance = curve(events, drawn, metric)
    alarms = None if threshold is None else values > threshold
    if alarm is not None:
        alarms = as_binary(alarm, "alarm")
    try:
        from matplotlib.figure import Figure
    except ImportError as error:
        raise AloraError(
            "drawing needs the package matplotlib; install it with: pip install 'alora-ts[plot]'"
        ) from error

    figure = Figure(figsize=(13, 6.8), dpi=130, layout="constrained")
    grid = figure.add_gridspec(2, 3, height_ratios=[1.1, 1])
    over_time = figure.add_subplot(grid[0, :])
    found_false = figure.add_subplot(grid[1, 0])
    trade = figure.add_subplot(grid[1, 1])
    choice = figure.add_subplot(grid[1, 2])
    for axes in (over_time, found_false, trade, choice):
        axes.spines[["top", "right"]].set_visible(False)
        axes.tick_params(colors=INK, labelsize=9)

    _draw_score(over_time, events, values, best.threshold, threshold)
    how: dict[str, Any] = {"gap": gap, "widening": widening}
    _draw_incidents(
        found_false,
        incident_curve(events, values, **how),
        incident_curve(events, drawn, **how),
        None
        if alarms is None
        else judge_incidents(events, alarms, seconds_per_row=seconds_per_row, **how),
        seconds_per_row,
    )

    kept = sample_rows(found.f1, points=POINTS)
    grey = sample_rows(chance.f1, points=POINTS)
    trade.plot(chance.recall[grey], chance.precision[grey], color=CHANCE, lw=1.2)
    trade.plot(found.recall[kept], found.precision[kept], color=SCORE, lw=1.6)
    trade.plot(best.recall, best.precision, "o", color=BEST, ms=7)
    trade.set(xlim=(-0.02, 1.02), ylim=(-0.02, 1.04), xlabel="recall", ylabel="precision")
    trade.set_title(f"{metric}: precision and recall", fontsize=10, loc="left")

    choice.plot(
        _alarmed(events.size, chance, None)[grey],
        chance.f1[grey],
        color=CHANCE,
        lw=1.2,
        label="random score",
    )
    shares = _alarmed(events.size, found, values)
    choice.plot(shares[kept], found.f1[kept], color=SCORE, lw=1.6, label="this score")
    choice.plot(
        (values > best.threshold).mean(),
        best.f1,
        "o",
        color=BEST,
        ms=7,
        label=f"best, with labels: {best.f1:.3f}",
    )
    if alarms is not None and alarms.any():
        once = at_threshold(events, alarms, 0.5, metric)
        choice.plot(alarms.mean(), once.f1, "D", color=GIVEN, ms=6, label=f"given: {once.f1:.3f}")
    choice.axvline(events.mean(), color=BAND, lw=6, alpha=0.6, zorder=0)
    choice.set(xscale="log", ylim=(-0.02, 1.04), xlabel="share of rows alarmed", ylabel="F1")
    choice.set_title(f"{metric} F1 (band: anomalous share)", fontsize=10, loc="left")
    choice.legend(frameon=False, fontsize=9, loc="best")

    with write_atomically(target) as part:
        figure.savefig(part, format=target.suffix.lower()[1:])


def _draw_incidents(
    axes: Axes,
    curve: IncidentCurve,
    chance: IncidentCurve,
    given: IncidentJudgement | None,
    seconds_per_row: float | None,
) -> None:
    """Events found against false incidents, at the thresholds worth choosing."""

    def rate(per_thousand: float) -> float:
        daily = per_day(per_thousand, seconds_per_row)
        return per_thousand if daily is None else daily

    for one, color, name in ((chance, CHANCE, "random score"), (curve, SCORE, "this score")):
        front = one.front()
        # A step: with so many false incidents allowed, no more events can be found.
        false = [0.0, *map(rate, front.per_thousand.tolist()), rate(float(one.per_thousand.max()))]
        share = [0.0, *front.recall.tolist()]
        axes.step(false, [*share, share[-1]], where="post", color=color, lw=1.6, label=name)
    best = curve.best()
    at = int(np.argmax(curve.f1))
    axes.plot(
        rate(float(curve.per_thousand[at])),
        best.recall,
        "o",
        color=BEST,
        ms=7,
        label=f"best F1, with labels: {best.f1:.3f}",
    )
    shown = [rate(float(value)) for value in curve.front().per_thousand]
    shown.append(rate(float(curve.per_thousand[at])))
    if given is not None:
        here = rate(given.per_thousand)
        axes.plot(here, given.recall, "D", color=GIVEN, ms=6, label=f"given, F1 {given.f1:.3f}")
        shown.append(here)
    unit = "1,000 normal rows" if seconds_per_row is None else "normal day"
    axes.set(
        xlim=(-0.02 * max(shown), 1.05 * max(shown)) if max(shown) > 0 else None,
        ylim=(-0.02, 1.04),
        xlabel=f"false incidents per {unit}",
        ylabel="events found",
    )
    title = f"incidents (gap {curve.gap}, widening {curve.widening} rows)"
    axes.set_title(title, fontsize=10, loc="left")
    axes.legend(frameon=False, fontsize=9, loc="lower right")


def _draw_score(
    axes: Axes,
    events: NDArray[np.bool_],
    values: NDArray[np.float64],
    best: float,
    given: float | None,
) -> None:
    rows = sample_rows(values, points=POINTS)
    # Scores of reconstruction often span decades; a straight axis would show one peak only.
    decades = values.min() > 0 and values.max() > 100 * np.median(values)
    starts, ends = runs(events)
    # The edge keeps an event of one row visible among a hundred thousand.
    axes.broken_barh(
        list(zip(starts.tolist(), (ends - starts).tolist(), strict=True)),
        (0, 1),
        transform=axes.get_xaxis_transform(),
        facecolor=BAND,
        edgecolor=BAND,
        lw=0.8,
        alpha=0.75,
        label="labelled events",
    )
    axes.plot(rows, values[rows], color=SCORE, lw=0.8)
    lines: dict[str, Any] = {"lw": 1.3, "ls": (0, (6, 3))}
    axes.axhline(best, color=BEST, label=f"best threshold, with labels: {best:.4g}", **lines)
    if given is not None:
        axes.axhline(given, color=GIVEN, label=f"given threshold: {given:.4g}", **lines)
    axes.set(xlim=(0, events.size), xlabel="row", ylabel="score")
    if decades:
        axes.set_yscale("log")
    axes.legend(frameon=False, fontsize=9, ncols=3, loc="lower left", bbox_to_anchor=(0, 1))


def _alarmed(n: int, found: Curve, values: NDArray[np.float64] | None) -> NDArray[np.float64]:
    """The share of rows above each threshold; without values, of distinct scores."""
    if values is None:
        return np.arange(1, n + 1) / n
    above = n - np.searchsorted(np.sort(values), found.threshold, side="right")
    shares: NDArray[np.float64] = above / n
    return shares
