"""Scores of several methods over one event, with the time until each raised its first alarm."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from alora_ts.bench.contestant import ALORA
from alora_ts.bench.figures.style import BLUE, GREY, HOT, INK, PAGE, bend_scores, shade, styled
from alora_ts.bench.figures.workshop import MissingMaterialError, Result, Workshop
from alora_ts.diagnosis.alarms import Alarms
from alora_ts.errors import nearest
from alora_ts.metrics.events import runs

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

__all__ = ["EventScores", "MethodScore", "draw", "measure", "waiting_rows"]

# Those the paper draws come first, then the rows that show what chance does.
_PREFERRED = (ALORA, "sarad", "npsr", "memto", "anomaly-transformer", "knn", "norm", "random")
_MOST = 7


@dataclass(frozen=True)
class MethodScore:
    """One method's score around the event.

    Attributes
    ----------
    label : str
        As the results name the row.
    ours : bool
        Whether it is ALoRa.
    score : ndarray of shape (rows,)
        Calibrated without labels: above 1 alarms.
    waiting : int or None
        Rows from the event's start to the first alarm within it; None without one.
    """

    label: str
    ours: bool
    score: NDArray[np.float64]
    waiting: int | None


@dataclass(frozen=True)
class EventScores:
    """Several methods around the longest event of one entity.

    Attributes
    ----------
    place : str
    first : int
        The first row shown.
    label : ndarray of bool, shape (rows,)
    event : tuple of int
        First row and row after the last.
    methods : tuple of MethodScore
    """

    place: str
    first: int
    label: NDArray[np.bool_]
    event: tuple[int, int]
    methods: tuple[MethodScore, ...]

    @property
    def caption(self) -> str:
        """What was found."""
        waits = ", ".join(
            f"{one.label} {'none' if one.waiting is None else one.waiting}" for one in self.methods
        )
        return (
            f"Scores over the longest event of {self.place} (rows {self.event[0]:,} to "
            f"{self.event[1] - 1:,}), each in times of its own alarm level, which was set on "
            "normal rows without labels. Rows from the start of the event to the first alarm in "
            f"it: {waits}."
        )


def waiting_rows(alarm: NDArray[np.bool_]) -> int | None:
    """How many rows of an event pass before the first alarm; None when there is none.

    Examples
    --------
    >>> waiting_rows(np.array([False, False, True])), waiting_rows(np.array([False]))
    (2, None)
    """
    rows = np.flatnonzero(alarm)
    return int(rows[0]) if len(rows) else None


def measure(workshop: Workshop) -> EventScores:
    """Read the scores of the place with the most methods, or of the one asked for.

    Raises
    ------
    MissingMaterialError
        When the results have no scores of at least two methods on one entity, or none of the
        entity that was asked for.
    """
    by_place: dict[str, dict[str, Result]] = {}
    for result in workshop.results:
        record = result.record
        if record.detection and result.scores.is_file():
            place = f"{record.dataset}/{record.entity}" if record.entity else record.dataset
            rows = by_place.setdefault(place, {})
            # The lowest seed stands for a method that was run with several.
            if record.label not in rows or record.seed < rows[record.label].record.seed:
                rows[record.label] = result
    wanted = workshop.asked_place
    if wanted is not None and by_place and wanted not in by_place:
        raise MissingMaterialError(
            f"the results have no scores of {wanted!r}{nearest(wanted, by_place)}"
        )
    enough = {place: rows for place, rows in by_place.items() if len(rows) > 1}
    if not enough or (wanted is not None and wanted not in enough):
        raise MissingMaterialError(
            "needs scores of at least two methods on one entity; make them with "
            "`alora-ts bench run cpu` and name their folder (of scores only those of ASD omi-2 are "
            "kept in version control)"
        )
    # Of places with as many methods the first by name.
    place = wanted or min(enough, key=lambda name: (-len(enough[name]), name))
    return _around_longest_event(place, _choose(enough[place]))


def _choose(rows: dict[str, Result]) -> list[Result]:
    def order(result: Result) -> tuple[int, str]:
        method = result.record.method
        known = _PREFERRED.index(method) if method in _PREFERRED else len(_PREFERRED)
        return known, result.record.label

    chosen, seen = [], set()
    for result in sorted(rows.values(), key=order):
        # One row per method: ablations of ours would fill the page.
        if result.record.method not in seen and result.record.method != "always-alarm":
            seen.add(result.record.method)
            chosen.append(result)
    return chosen[:_MOST]


def _around_longest_event(place: str, results: list[Result]) -> EventScores:
    frames = [result.read_scores() for result in results]
    label = frames[0]["label"].to_numpy().astype(bool)
    starts, ends = runs(label)
    longest = int(np.argmax(ends - starts))
    start, end = int(starts[longest]), int(ends[longest])
    margin = max(60, (end - start) // 2)
    part = slice(max(0, start - margin), min(len(label), end + margin))
    methods = []
    for result, frame in zip(results, frames, strict=True):
        score = frame["score"].to_numpy().astype(np.float64)
        record = result.record
        waiting = waiting_rows(Alarms().take(score)[start:end])
        methods.append(MethodScore(record.label, record.method == ALORA, score[part], waiting))
    return EventScores(
        place.replace("/", " "), part.start, label[part], (start, end), tuple(methods)
    )


@styled
def draw(material: EventScores) -> Figure:
    """Draw one line of panels, ours first."""
    from matplotlib.figure import Figure

    count = len(material.methods)
    figure = Figure(figsize=(PAGE, 0.5 + 0.85 * count))
    panels = figure.subplots(count, 1, sharex=True, squeeze=False)[:, 0]
    rows = material.first + np.arange(len(material.label))
    for axes, method in zip(panels, material.methods, strict=True):
        for first, after in zip(*runs(material.label), strict=True):
            shade(axes, rows[0] + first, rows[0] + after)
        axes.plot(rows, method.score, color=BLUE if method.ours else GREY, linewidth=0.8)
        axes.axhline(1.0, color=INK, linestyle="--", linewidth=0.7)
        bend_scores(axes, max(float(method.score.max()), 1.0))
        axes.set_title(method.label, fontweight="bold" if method.ours else "normal")
        axes.set_xlim(rows[0], rows[-1])
        _mark_wait(axes, material.event, method)
    panels[-1].set_xlabel("row")
    figure.supylabel("score, in times of the alarm level", fontsize=8)
    return figure


def _mark_wait(axes: Axes, event: tuple[int, int], method: MethodScore) -> None:
    if method.waiting is None:
        said = "no alarm in the event"
    else:
        said = f"waiting time {method.waiting} rows"
        across = axes.get_xaxis_transform()
        axes.plot(
            [event[0], event[0] + method.waiting],
            [0.92, 0.92],
            color=HOT,
            linewidth=2.2,
            transform=across,
            solid_capstyle="butt",
        )
        axes.plot(event[0] + method.waiting, 0.92, "v", color=HOT, markersize=4.5, transform=across)
    axes.set_title(said, loc="right", color=HOT, fontsize=7)
