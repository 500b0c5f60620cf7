"""A diagnosis as one HTML file that opens anywhere, without a network."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping
from functools import partial
from html import escape
from importlib import resources
from pathlib import Path
from typing import TYPE_CHECKING

from alora_ts.files import write_atomically
from alora_ts.progress import Progress, Report, Step, reporting
from alora_ts.report.browser import signal_browser
from alora_ts.report.counterfactual import counterfactual
from alora_ts.report.incident_section import incident_section
from alora_ts.report.moments import Clock, number
from alora_ts.report.notes import (
    GUIDE,
    health_notes,
    incident_table,
    model_card,
    preparation_notes,
    worst_first,
)
from alora_ts.report.overview import fingerprint, timeline, traces
from alora_ts.report.relations import contribution_map, relation_ring
from alora_ts.report.story import Story, summary, tell

if TYPE_CHECKING:
    from alora_ts.diagnosis.diagnosis import Diagnosis

__all__ = ["POLICY", "card", "render_report"]

# More sections than anyone reads would only slow the page; the table lists all incidents.
_DETAILED = 20

_DEVIATION = (
    "From what the signals that behaved imply; coloured from three deviations on. The signals most "
    "to blame come first."
)

POLICY = "default-src 'none'; style-src 'unsafe-inline'; script-src 'unsafe-inline'; img-src data:"


def render_report(
    diagnosis: Diagnosis,
    path: str | os.PathLike[str],
    *,
    title: str | None = None,
    extra: Mapping[str, str] | None = None,
    progress: Progress = None,
) -> Path:
    """Write a self-contained HTML report.

    Parameters
    ----------
    diagnosis : Diagnosis
        What to show.
    path : path-like
        The file to write; an existing one is replaced as a whole.
    title : str, optional
        Heading of the page; by default "What happened, and where it began".
    extra : mapping of str to str, optional
        Further sections to show below the summary: HTML by heading.
    progress : bool, callable or None
        See :mod:`alora_ts.progress`.

    Returns
    -------
    pathlib.Path
        The file.

    Raises
    ------
    AloraError
        When the file cannot be written, or the series is long and the package that thins lines
        is not installed.

    Examples
    --------
    >>> import tempfile
    >>> import numpy as np
    >>> from alora_ts import ALoRa, Architecture
    >>> normal = np.random.default_rng(0).standard_normal((200, 3))
    >>> model = ALoRa(window=10, architecture=Architecture(layers=1, heads=1), epochs=1)
    >>> found = model.fit(normal).diagnose(normal)
    >>> page = render_report(found, Path(tempfile.mkdtemp()) / "report.html", title="Pump 2")
    >>> "<title>Pump 2</title>" in page.read_text(encoding="utf-8")
    True
    """
    with reporting(progress) as report, write_atomically(path) as part:
        page = _page(diagnosis, title or "What happened, and where it began", extra or {}, report)
        part.write_text(page, encoding="utf-8")
    return Path(path)


def _page(diagnosis: Diagnosis, title: str, extra: Mapping[str, str], report: Report) -> str:
    clock = Clock.of(diagnosis)
    stories = tell(diagnosis)
    detailed = worst_first(stories)[:_DETAILED]
    last = len(diagnosis.score) - 1
    zone = f", times in {escape(clock.zone)}" if clock.zone else ""
    assets = resources.files("alora_ts.report") / "assets"
    parts: list[Callable[[], str]] = [
        lambda: _summary_card(diagnosis, stories, clock),
        lambda: health_notes(diagnosis.health),
        lambda: _truth_card(diagnosis),
        *(partial(card, escape(heading), "", body) for heading, body in extra.items()),
        lambda: _timeline_card(diagnosis, stories, detailed, clock),
        *(partial(incident_section, diagnosis, story, clock) for story in detailed),
        lambda: _relations_card(diagnosis, stories),
        lambda: _traces_card(diagnosis, stories, clock),
        lambda: card("Data preparation", "", preparation_notes(diagnosis.preparation)),
        lambda: card("Model card", "", model_card(diagnosis.model)),
        lambda: card("How to read this report", "", GUIDE),
    ]
    sections = []
    for done, part in enumerate(parts, start=1):
        sections.append(part())
        report(Step("reporting", done, len(parts)))
    return (
        '<!doctype html>\n<html lang="en"><head><meta charset="utf-8">'
        f'<meta http-equiv="Content-Security-Policy" content="{POLICY}">'
        '<meta name="viewport" content="width=device-width, initial-scale=1">'
        f"<title>{escape(title)}</title>"
        f"<style>{(assets / 'report.css').read_text(encoding='utf-8')}</style></head><body>"
        '<a class="skip" href="#content">Skip to content</a>'
        f'<header class="top"><div><h1>{escape(title)}</h1>'
        f'<p class="period">{clock.at(0)} to {clock.at(last)}{zone}</p></div>'
        '<button class="themer" type="button" hidden>Dark</button></header>'
        f'<main id="content">{"".join(sections)}'
        '<p class="foot">Made with alora-ts. This file loads nothing from elsewhere.</p></main>'
        f"<script>{(assets / 'report.js').read_text(encoding='utf-8')}</script></body></html>\n"
    )


def card(heading: str, note: str, body: str) -> str:
    """One section of a page; heading, note and body are HTML."""
    said = f"<p>{note}</p>" if note else ""
    return f'<section class="card"><h2>{heading}</h2>{said}{body}</section>'


def _summary_card(diagnosis: Diagnosis, stories: tuple[Story, ...], clock: Clock) -> str:
    rows, d = diagnosis.error.shape
    alarms = int(diagnosis.alarm.sum())
    tiles = [("Incidents", f"{len(stories):,}")]
    if stories:
        tiles.append(("Highest peak", f"{number(max(s.incident.score for s in stories))}×"))
    tiles += [
        ("Time in alarm", f"{alarms / rows:.1%}"),
        ("Watched", clock.span(0, rows)),
        ("Signals", f"{d:,}"),
        ("Rows", f"{rows:,}"),
    ]
    listed = "".join(f"<div><dt>{name}</dt><dd>{value}</dd></div>" for name, value in tiles)
    told = escape(summary(diagnosis, stories, clock))
    return (
        f'<section class="card" aria-label="Summary"><p class="lead">{told}</p>'
        f'<dl class="tiles">{listed}</dl></section>'
    )


def _truth_card(diagnosis: Diagnosis) -> str:
    """How the incidents agree with the labels, where there are any."""
    if not diagnosis.labelled:
        return ""
    named = escape(diagnosis.table.label_name or "the label")
    return card(f"Judged by {named}", "", f"<p>{escape(str(diagnosis.judgement()))}</p>")


def _timeline_card(
    diagnosis: Diagnosis, stories: tuple[Story, ...], detailed: list[Story], clock: Clock
) -> str:
    tools = "".join(
        f'<button type="button" data-zoom="{what}" aria-label="{said}">{sign}</button>'
        for what, said, sign in (
            ("in", "Zoom in", "+"),
            ("out", "Zoom out", "−"),
            ("left", "Earlier", "←"),
            ("right", "Later", "→"),
            ("all", "Whole period", "Whole period"),
        )
    )
    key = (
        '<ul class="key"><li><i class="blue"></i>score</li>'
        '<li><i class="dash hot-ink"></i>alarm level</li><li><i class="wash"></i>incident</li>'
    )
    key += '<li><i class="wash grey"></i>no data</li>' if diagnosis.gaps else ""
    if diagnosis.labels is not None:
        named = escape(diagnosis.table.label_name or "the label")
        key += f'<li><i class="wash truth"></i>marked by {named}</li>'
    key += "</ul>"
    shown = {story.number for story in detailed}
    body = timeline(diagnosis, stories, clock, flagged=shown) + key
    body += (
        f'<div class="tools" hidden>{tools}<span class="hint">or drag over the chart</span></div>'
    )
    judged = counterfactual(diagnosis)
    body += "<h3>Deviation by signal</h3>"
    body += f'<p class="way">{_DEVIATION}</p>'
    body += fingerprint(diagnosis, stories, judged)
    body += signal_browser(diagnosis, stories, clock, judged)
    if stories:
        body += incident_table(stories, clock, linked=shown)
        if len(shown) < len(stories):
            body += f"<p>The {len(shown)} with the highest peaks are shown in detail below.</p>"
    note = "Score of the whole system, in times of the alarm level."
    return card("Timeline", note, f'<div class="aligned">{body}</div>')


def _traces_card(diagnosis: Diagnosis, stories: tuple[Story, ...], clock: Clock) -> str:
    note = "Two things the score rests on. Shaded stretches are incidents."
    body = f'<div class="aligned">{traces(diagnosis, stories, clock)}</div>'
    return card("What the model saw", note, body)


def _relations_card(diagnosis: Diagnosis, stories: tuple[Story, ...]) -> str:
    if len(diagnosis.variables) < 2:
        return ""
    guilty = {story.culprit for story in stories if story.incident.severity != "low"}
    ring = relation_ring(diagnosis.contributions, diagnosis.variables, guilty)
    square = contribution_map(diagnosis.contributions, diagnosis.variables)
    body = (
        f'<div class="two"><div><h3>Strongest relations</h3>{ring}</div>'
        f"<div><h3>Contribution of each row to each column</h3>{square}</div></div>"
        '<ul class="key"><li><i class="blue"></i>moves along</li>'
        '<li><i class="hot-ink"></i>moves against</li></ul>'
    )
    note = "How a deviation of one signal moves what the model expects of the others."
    return card("Who influences whom", note, body)
