"""The written parts of a report: the list of incidents, the data, the model, how to read it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from html import escape
from typing import Any

from alora_ts.diagnosis.severity import by_severity
from alora_ts.report.moments import Clock, number
from alora_ts.report.story import Story

__all__ = [
    "GUIDE",
    "health_notes",
    "incident_table",
    "model_card",
    "preparation_notes",
    "worst_first",
]

GUIDE = """<dl class="guide">
<dt>Score</dt><dd>How unusual the last stretch of all signals together is. It is scaled so that 1
is the alarm level: a row above 1 alarms, and 4 means four times that level.</dd>
<dt>Incident</dt><dd>A stretch of alarms. Short breaks inside it are bridged, so one disturbance is
reported once.</dd>
<dt>Culprits</dt><dd>The fewest signals that explain an incident, with their shares of the
evidence. The first is where to look first. Signals that depend on it may follow with smaller
shares.</dd>
<dt>Expectation</dt><dd>What a signal would have been, judging by the signals that behaved. Those
that did not are set aside, so that they bend nothing. The wider the shaded space between measured
and expected, the clearer the case.</dd>
<dt>Rank</dt><dd>In normal operation the model needs one or few patterns to describe a window, and
the rank of its attention is low. Unknown behaviour breaks the patterns and the rank rises.</dd>
<dt>Contributions</dt><dd>How strongly a deviation of one signal moves what the model expects of
another. They show learned dependence, which need not be physical cause.</dd>
<dt>Limits</dt><dd>The model knows the behaviour it was trained on. A new but harmless mode of
operation also scores high; a fault that was present in training does not.</dd>
</dl>"""


def incident_table(stories: Sequence[Story], clock: Clock, *, linked: set[int]) -> str:
    """List all incidents, the worst first; those with a section of their own are linked to it."""
    rows = []
    for story in worst_first(stories):
        incident = story.incident
        name = f"Incident {story.number}"
        if story.number in linked:
            name = f'<a href="#incident-{story.number}">{name}</a>'
        span = clock.span(incident.start, incident.end)
        main = [c for c in incident.culprits[:3] if c.share >= 0.05] or incident.culprits[:1]
        culprits = ", ".join(f"{escape(c.variable)} ({c.share:.0%})" for c in main)
        rows.append(
            f"<tr><td>{name}</td><td>{clock.at(incident.start)}</td><td>{span}</td>"
            f'<td class="n">{number(incident.score)}×</td><td>{incident.severity}</td>'
            f"<td>{culprits}</td></tr>"
        )
    return (
        '<div class="scroll" tabindex="0" role="region" aria-label="All incidents"><table>'
        '<thead><tr><th scope="col">Incident</th><th scope="col">Began</th>'
        '<th scope="col">Lasted</th><th scope="col" class="n">Peak</th>'
        '<th scope="col">Severity</th>'
        '<th scope="col">Main culprits</th></tr></thead>'
        f"<tbody>{''.join(rows)}</tbody></table></div>"
    )


def worst_first(stories: Sequence[Story]) -> list[Story]:
    """Stories by severity, then by score."""
    order = {id(one): at for at, one in enumerate(by_severity([s.incident for s in stories]))}
    return sorted(stories, key=lambda story: order[id(story.incident)])


def health_notes(health: Sequence[str]) -> str:
    """Write what should make a reader doubt the result; nothing where there is nothing."""
    if not health:
        return ""
    items = "".join(f"<li>{escape(line)}</li>" for line in health)
    return (
        '<section class="card" aria-label="Doubts"><h2>Before you trust this</h2>'
        f'<ul class="plain">{items}</ul></section>'
    )


def preparation_notes(report: object) -> str:
    """Write what was done to the data before they were scored, line by line."""
    lines = [line for line in str(report).splitlines() if line.strip()]
    items = "".join(f"<li>{escape(line)}</li>" for line in lines)
    return f'<ul class="plain">{items}</ul>'


def model_card(card: Mapping[str, Any]) -> str:
    """Write the facts of a model as a list of terms."""
    facts = "".join(
        f"<dt>{escape(str(name).replace('_', ' ').capitalize())}</dt><dd>{_value(value)}</dd>"
        for name, value in card.items()
    )
    return f'<dl class="facts">{facts}</dl>'


def _value(value: Any) -> str:
    if isinstance(value, Mapping):
        return escape("; ".join(f"{k}: {_plain(v)}" for k, v in value.items()))
    if isinstance(value, list | tuple):
        shown = [_plain(item) for item in value[:30]]
        rest = len(value) - len(shown)
        return escape(", ".join(shown) + (f" and {rest} more" if rest > 0 else ""))
    return escape(_plain(value))


def _plain(value: Any) -> str:
    if value is None:
        return "none"
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, int):
        return f"{value:,}"
    return number(value) if isinstance(value, float) else str(value)
