"""One incident: who is to blame, and the signals against what was expected of them."""

from __future__ import annotations

from html import escape
from typing import TYPE_CHECKING

import numpy as np

from alora_ts.report.chart import Band, Line, chart
from alora_ts.report.moments import Clock, number
from alora_ts.report.sampling import sample_rows
from alora_ts.report.scales import Scale
from alora_ts.report.spread import spread_drawing
from alora_ts.report.story import Story, sentence

if TYPE_CHECKING:
    from alora_ts.diagnosis.diagnosis import Diagnosis

__all__ = ["incident_section", "stretch_around"]

_CULPRITS = 6
_SIGNALS = 5
_POINTS = 700
_KEY = (
    '<ul class="key"><li><i class="blue"></i>measured</li>'
    '<li><i class="dash calm"></i>expected</li></ul>'
)
_ARROWS = {"above": "▲", "below": "▼"}


def stretch_around(diagnosis: Diagnosis, story: Story) -> tuple[int, int]:
    """Rows to show: the incident and half as much before and after it, at least 30 rows."""
    start, end = story.incident.start, story.incident.end
    room = max(30, (end - start) // 2)
    return max(0, start - room), min(len(diagnosis.score), end + room)


def incident_section(diagnosis: Diagnosis, story: Story, clock: Clock) -> str:
    """Write the section of one incident."""
    incident = story.incident
    last = incident.end - 1
    span = clock.span(incident.start, incident.end)
    told = escape(sentence(story, clock))
    return (
        f'<section class="card incident" id="incident-{story.number}" '
        f'aria-labelledby="incident-{story.number}-title">'
        f'<header><h2 id="incident-{story.number}-title">Incident {story.number}: '
        f"{escape(story.culprit)}</h2>"
        f'<span class="when">{clock.at(incident.start)} to {clock.at(last)} ({span})</span>'
        f'<span class="grade {incident.severity}">{incident.severity}</span>'
        f'</header><p class="story">It {told}.</p>{_facts(diagnosis, story)}'
        f"{_spread(diagnosis, story, clock)}"
        '<div class="pair"><div class="blame"><h3>Culprits</h3>'
        f"{_culprits(story, clock)}{_KEY}</div>"
        f'<div class="signals">{_signals(diagnosis, story, clock)}</div></div></section>'
    )


def _facts(diagnosis: Diagnosis, story: Story) -> str:
    return "".join(
        f'<p class="fact">{escape(fact.label.capitalize())}: <b>{escape(fact.text)}</b>. '
        f"{escape(fact.note)}</p>"
        for fact in diagnosis.facts(story.incident)
    )


def _spread(diagnosis: Diagnosis, story: Story, clock: Clock) -> str:
    structure, incident = diagnosis.structure, story.incident
    ways = structure.ways(incident.spread, diagnosis.variables)
    if not ways:
        return ""
    rows = {one.variable: one.row for one in story.reached}
    reached = structure.first_reached(incident.spread, diagnosis.variables)
    start = min(rows.values(), default=incident.start)
    moments = {
        name: "first" if rows[by] == start else f"{clock.between(start, rows[by])} later"
        for name, by in reached.items()
        if by in rows
    }
    return spread_drawing(ways, moments, order=list(reached))


def _culprits(story: Story, clock: Clock) -> str:
    reached = {one.variable: one.row for one in story.reached}
    first = story.reached[0] if story.reached else None
    items = []
    shown = story.incident.culprits[:_CULPRITS]
    for culprit in shown:
        way = f"{_ARROWS.get(culprit.direction, '')} {culprit.direction} expectation"
        row = reached.get(culprit.variable)
        if first is not None and row is not None and row > first.row:
            way += f", {clock.between(first.row, row)} later"
        items.append(
            f'<li><div class="who"><b>{escape(culprit.variable)}</b>'
            f"<span>{culprit.share:.0%}</span></div>"
            f'<div class="bar"><i style="width:{min(max(culprit.share, 0), 1):.1%}"></i></div>'
            f'<div class="way">{escape(way)}</div></li>'
        )
    rest = 1 - sum(culprit.share for culprit in shown)
    if rest > 0.005:
        items.append(f'<li class="way">all other signals together: {rest:.0%}</li>')
    return f'<ol class="culprits">{"".join(items)}</ol>'


def _signals(diagnosis: Diagnosis, story: Story, clock: Clock) -> str:
    first, after = stretch_around(diagnosis, story)
    incident = story.incident
    band = Band(float(clock.moments[incident.start]), float(clock.moments[incident.end - 1]))
    parts = []
    implied = diagnosis.implied(incident, first, after)
    for culprit in incident.culprits[:_SIGNALS]:
        column = diagnosis.variables.index(culprit.variable)
        actual = diagnosis.values[first:after, column]
        expected = implied[:, column]
        # The same rows for both, or the space between them could not be shaded.
        rows = np.union1d(
            sample_rows(actual, points=_POINTS), sample_rows(expected, points=_POINTS)
        )
        moments = clock.moments[first:after][rows]
        inside = slice(incident.start - first, incident.end - first)
        gap = np.abs(actual[inside] - expected[inside])
        far = float(np.nanmax(gap)) if np.isfinite(gap).any() else float("nan")
        parts.append(
            f"<h3><b>{escape(culprit.variable)}</b>"
            f"<span>up to {number(far)} from expectation</span></h3>"
        )
        parts.append(
            chart(
                clock=clock,
                low=float(clock.moments[first]),
                high=float(clock.moments[after - 1]),
                scale=Scale.over(actual, expected),
                lines=[
                    Line("measured", "actual", moments, actual[rows]),
                    Line("expected", "expected", moments, expected[rows]),
                ],
                bands=[band],
                between=True,
                label=f"{culprit.variable} during incident {story.number}, measured and expected",
            )
        )
    return "".join(parts)
