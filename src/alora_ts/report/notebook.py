"""What a notebook shows of a diagnosis, an incident, a model or a backtest: a few kilobytes."""

from __future__ import annotations

from collections.abc import Sequence
from html import escape
from typing import TYPE_CHECKING, Any

import numpy as np

from alora_ts.data.report import tell_moment
from alora_ts.diagnosis.fields import describe, facts
from alora_ts.diagnosis.incident import Incident
from alora_ts.diagnosis.severity import by_severity, count_severities
from alora_ts.markup import boxed, html_table
from alora_ts.report.sampling import sample_rows

if TYPE_CHECKING:
    from alora_ts.diagnosis.diagnosis import Diagnosis
    from alora_ts.model.fitted import FittedModel

__all__ = ["diagnosis_html", "incident_html", "incident_list", "model_html", "timeline"]

_SHOWN = 10
_POINTS = 300
_WIDTH, _HEIGHT = 1000, 70
_CULPRITS = 3


def diagnosis_html(found: Diagnosis) -> str:
    """The score over time, the worst incidents, and what a reader should doubt."""
    return boxed(_headline(found), timeline(found), incident_list(found.incidents), _doubts(found))


def _headline(found: Diagnosis) -> str:
    said = f"{len(found):,} rows of {len(found.variables)} signals: "
    said += count_severities(found.incidents)
    if found.timestamps is not None and len(found):
        first, last = (tell_moment(found.timestamps[at]) for at in (0, -1))
        said += f", {first} to {last}"
    return f"<p><b>Diagnosis</b> {escape(said)}</p>"


def timeline(found: Diagnosis) -> str:
    """The score, its alarm level and the incidents as a strip that fits any width."""
    score = np.where(found.warm_up, 0.0, found.score)
    rows = sample_rows(score, points=_POINTS)
    last = max(len(score) - 1, 1)
    # The level stands a third up whatever the highest score; above it the scale is bent.
    bent = np.where(score > 1, 1 + np.log10(np.maximum(score, 1)), score)
    top = max(float(bent.max(initial=0.0)), 1.5)
    line = " ".join(
        f"{_WIDTH * row / last:.0f},{_HEIGHT * (1 - bent[row] / top):.0f}" for row in rows.tolist()
    )
    level = _HEIGHT * (1 - 1 / top)
    bands = "".join(
        f'<rect x="{_WIDTH * one.start / last:.1f}" y="0" height="{_HEIGHT}" '
        f'width="{max(_WIDTH * one.rows / last, 2):.1f}" fill="#c02530" fill-opacity=".2"/>'
        for one in by_severity(found.incidents)[:200]
    )
    return (
        f'<svg viewBox="0 0 {_WIDTH} {_HEIGHT}" preserveAspectRatio="none" role="img" '
        f'aria-label="score over time">{bands}{_labels(found, last)}'
        f'<line x1="0" x2="{_WIDTH}" y1="{level:.0f}" y2="{level:.0f}" stroke="#c02530" '
        'stroke-dasharray="6 5" vector-effect="non-scaling-stroke"/>'
        f'<polyline points="{line}" fill="none" stroke="#2158c0" '
        'vector-effect="non-scaling-stroke"/></svg>'
    )


def _labels(found: Diagnosis, last: int) -> str:
    """Rows marked by the caller, as a strip along the bottom."""
    marks = found.table.label
    if marks is None:
        return ""
    edges = np.flatnonzero(np.diff(np.r_[False, marks, False].astype(np.int8))).reshape(-1, 2)
    return "".join(
        f'<rect x="{_WIDTH * start / last:.1f}" y="{_HEIGHT - 5}" height="5" '
        f'width="{max(_WIDTH * (end - start) / last, 2):.1f}" fill="#0a766b"/>'
        for start, end in edges[:200].tolist()
    )


def incident_list(incidents: Sequence[Incident]) -> str:
    """The worst incidents as a table."""
    if not incidents:
        return ""
    rows = [
        [
            tell_moment(one.start_time),
            f"{one.rows:,}",
            f"{one.score:.1f}",
            one.severity,
            ", ".join(f"{c.variable} {c.share:.0%}" for c in one.culprits[:_CULPRITS]),
            one.origin.variable if one.origin is not None else "",
        ]
        for one in by_severity(incidents)[:_SHOWN]
    ]
    heads = ["from", "rows", "× level", "severity", "strongest signals", "likely origin"]
    table = html_table(heads, rows, numbers=(1, 2))
    for severity in ("high", "medium"):
        table = table.replace(f"<td>{severity}</td>", f'<td class="{severity}">{severity}</td>')
    rest = len(incidents) - _SHOWN
    return table + (f"<p>and {rest:,} more, less severe</p>" if rest > 0 else "")


def _doubts(found: Diagnosis) -> str:
    return "".join(f"<p>⚠ {escape(line)}</p>" for line in found.health)


def incident_html(incident: Incident) -> str:
    """When, how bad, and each culprit with its value and what was expected."""
    rows = f"{incident.rows:,} row" + ("" if incident.rows == 1 else "s")
    said = (
        f"{incident.severity}, {incident.score:.1f} times the alarm level, {rows} "
        f"from {tell_moment(incident.start_time)} to {tell_moment(incident.end_time)}"
    )
    cells = [
        [c.variable, f"{c.share:.0%}", c.direction, f"{c.value:.4g}", f"{c.expected:.4g}"]
        for c in incident.culprits
    ]
    heads = ["signal", "share", "direction", "value", "expected"]
    told = "".join(
        f"<p>{escape(fact.label)}: {escape(fact.text)}</p>" for fact in facts(describe(incident))
    )
    table = html_table(heads, cells, numbers=(1, 3, 4))
    return boxed(f"<p><b>Incident</b> {escape(said)}</p>", table, told)


def model_html(shown: str, model: FittedModel) -> str:
    """What a model was fitted on and how it judges.

    Parameters
    ----------
    shown : str
        The estimator in a line, its changed settings.
    model : FittedModel
    """
    from alora_ts.model.card import model_card

    card = model_card(model)
    period = f"{card['training_rows']:,} rows"
    if card["training_start"] is not None:
        period += f", {card['training_start']} to {card['training_end']}".replace("T", " ")
    names = model.preparation.variables
    more = f" and {len(names) - 12} more" if len(names) > 12 else ""
    rows: list[list[Any]] = [
        ["fitted on", period],
        [f"{len(names)} signals", ", ".join(names[:12]) + more],
        *([] if model.cycle is None else [["repeats", f"each {model.cycle.name}; taken off"]]),
        ["window", f"{card['window']} rows"],
        ["parameters", f"{card['parameters']:,}"],
        ["alarm level", card["threshold_note"]],
    ]
    doubts = "".join(f"<p>⚠ {escape(line)}</p>" for line in model.health)
    table = html_table(["", ""], rows).replace("<tr><th></th><th></th></tr>", "")
    wrapped = table.replace("<td>", '<td style="white-space:normal">')
    return boxed(f"<p><b>{escape(shown)}</b></p>", wrapped, doubts)
