"""The whole period at a glance: score, rank, error, and how far every signal was away."""

from __future__ import annotations

from collections.abc import Sequence, Set
from html import escape
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from alora_ts.metrics.events import runs
from alora_ts.report.chart import Band, Line, chart
from alora_ts.report.counterfactual import Counterfactual
from alora_ts.report.moments import Clock, number
from alora_ts.report.png import shade_png
from alora_ts.report.sampling import sample_rows
from alora_ts.report.scales import Scale
from alora_ts.report.story import Story

if TYPE_CHECKING:
    from alora_ts.diagnosis.diagnosis import Diagnosis

__all__ = [
    "fingerprint",
    "gap_bands",
    "incident_bands",
    "label_bands",
    "largest_within",
    "timeline",
    "traces",
]

_POINTS = 4000
_COLUMNS = 900
_SIGNALS = 40
_HOT = (200, 40, 48)
_AWAY = 3.0  # deviations at which a signal is surely away, as for its onset
_LEAST_FULL = 3.0  # times that: the smallest deviation in full colour


def incident_bands(
    stories: Sequence[Story], clock: Clock, *, flagged: Set[int] = frozenset()
) -> list[Band]:
    """Shade the incidents; those whose numbers are flagged link to their sections."""
    bands = []
    for story in stories:
        first, last = story.incident.start, story.incident.end - 1
        title = f"Incident {story.number}: {clock.at(first)}, {story.culprit}"
        bands.append(
            Band(
                float(clock.moments[first]),
                float(clock.moments[last]),
                flag=str(story.number) if story.number in flagged else "",
                link=f"incident-{story.number}",
                title=title,
                weight=story.incident.score,
            )
        )
    return bands


def gap_bands(diagnosis: Diagnosis, clock: Clock) -> list[Band]:
    """Shade the stretches without data, from the last row before to the first row after."""
    stamps = diagnosis.timestamps
    bands = []
    for gap in diagnosis.gaps:
        ends = np.array([gap.start, gap.end])
        at = ends.astype(np.int64) if stamps is None else np.searchsorted(np.sort(stamps), ends)
        start, end = clock.moments[np.clip(at, 0, len(clock.moments) - 1)].tolist()
        bands.append(Band(start, end, style="gap"))
    return bands


def label_bands(diagnosis: Diagnosis, clock: Clock) -> list[Band]:
    """Mark the rows that the caller's label marks."""
    if diagnosis.labels is None:
        return []
    starts, ends = runs(diagnosis.labels)
    return [
        Band(float(clock.moments[start]), float(clock.moments[end - 1]), style="truth")
        for start, end in zip(starts.tolist(), ends.tolist(), strict=True)
    ]


def timeline(
    diagnosis: Diagnosis, stories: Sequence[Story], clock: Clock, *, flagged: Set[int]
) -> str:
    """Draw the score over the whole period, with flags at the incidents that have a section."""
    score = np.where(diagnosis.warm_up, 0.0, diagnosis.score)
    return chart(
        clock=clock,
        low=float(clock.moments[0]),
        high=float(clock.moments[-1]),
        scale=Scale.for_scores(score),
        lines=[_thin("score", "score", clock, score)],
        bands=[
            *gap_bands(diagnosis, clock),
            *label_bands(diagnosis, clock),
            *incident_bands(stories, clock, flagged=flagged),
        ],
        label=f"Anomaly score over time; {len(stories)} incidents exceed the alarm level 1",
        style="tall sync",
    )


def traces(diagnosis: Diagnosis, stories: Sequence[Story], clock: Clock) -> str:
    """Draw the two factors of the score: the attention's rank and the error."""
    bands = incident_bands(stories, clock)
    low, high = float(clock.moments[0]), float(clock.moments[-1])
    rank = diagnosis.rank.astype(np.float64)
    error: NDArray[np.float64] = np.log10(np.maximum(diagnosis.error.sum(axis=1), 1e-12))
    usual = float(np.median(error))
    # Far below its median an error says nothing more, but it would squeeze all the rest.
    error = np.maximum(error, usual - 1.5)
    parts = []
    for title, name, values in (
        ("Rank of the attention", "rank", rank),
        ("Reconstruction error of all signals, as a power of ten", "error", error),
    ):
        parts.append(f"<h3>{title}</h3>")
        parts.append(
            chart(
                clock=clock,
                low=low,
                high=high,
                scale=Scale.over(values),
                lines=[_thin(name, name, clock, values)],
                bands=bands,
                label=f"{title} over time, from {number(float(values.min()))} "
                f"to {number(float(values.max()))}",
                style="sync",
                time_axis=name == "error",
            )
        )
    return "".join(parts)


def _thin(name: str, style: str, clock: Clock, values: NDArray[np.float64]) -> Line:
    rows = sample_rows(values, points=_POINTS)
    return Line(name, style, clock.moments[rows], values[rows])


def largest_within(
    deviation: NDArray[np.floating], borders: NDArray[np.int64]
) -> NDArray[np.float64]:
    """The largest deviation of each signal within stretches of rows.

    Parameters
    ----------
    deviation : ndarray of shape (N, d)
    borders : ndarray of int, shape (stretches + 1,)
        Rising, from 0 to N.

    Returns
    -------
    ndarray of shape (d, stretches)

    Examples
    --------
    >>> largest_within(np.array([[1.0, 9.0], [2.0, 3.0], [4.0, 5.0]]), np.array([0, 2, 3]))
    array([[2., 4.],
           [9., 5.]])
    """
    return np.maximum.reduceat(deviation, borders[:-1]).T.astype(np.float64)


def fingerprint(diagnosis: Diagnosis, stories: Sequence[Story], judged: Counterfactual) -> str:
    """Draw which signals deviated when: one row of pixels per signal.

    The signals blamed most are shown, each pixel the largest deviation of its stretch from what the
    signals that behaved imply, on one logarithmic scale that reaches from three deviations to the
    99.5th percentile within incidents.
    """
    rows = len(diagnosis.score)
    borders = np.unique(np.linspace(0, rows, min(rows, _COLUMNS) + 1).astype(np.int64))
    order = judged.order[:_SIGNALS]
    cells = np.maximum(largest_within(judged.deviation[:, order], borders) / _AWAY, 1.0)
    inside = np.zeros(rows, dtype=np.bool_)
    for story in stories:
        inside[story.incident.start : story.incident.end] = True
    hot = np.maximum.reduceat(inside, borders[:-1])
    full = float(np.quantile(cells[:, hot] if hot.any() else cells, 0.995))
    above = np.log(cells) / np.log(max(full, _LEAST_FULL))
    picture = shade_png(np.minimum(above, 1), hue=_HOT)
    names = "".join(
        f'<span title="{escape(diagnosis.variables[i])}">{escape(diagnosis.variables[i])}</span>'
        for i in order
    )
    strongest = ", ".join(diagnosis.variables[i] for i in order[:5])
    said = f"Deviation by signal over time, most blamed first: {strongest}"
    return (
        f'<div class="fingerprint"><div class="rows"><div class="names">{names}</div>'
        f'<div class="picture"><img alt="{escape(said)}" src="{picture}"></div></div></div>'
    )
