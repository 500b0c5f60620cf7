"""The fleet as one HTML file that opens anywhere, without a network."""

from __future__ import annotations

import json
import os
from collections.abc import Sequence
from html import escape
from importlib import resources
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from alora_ts.files import write_atomically
from alora_ts.fleet.together import Company
from alora_ts.report.html import POLICY, card
from alora_ts.report.moments import number

if TYPE_CHECKING:
    from alora_ts.fleet.view import EntityView, FleetView

__all__ = ["render_fleet"]

_SHOWN = 50
_LISTED = 10
_NAMED = 8

_HEADS = ("Entity", "Score now", "Incidents", "Highest", "Last incident", "Culprits")

_FILTERS = (
    '<div class="filters" hidden><input id="find" type="search" '
    'placeholder="Find an entity or a culprit" aria-label="Find an entity or a culprit">'
    '<select id="keep" aria-label="Which entities"><option value="all">all</option>'
    '<option value="alarm">in alarm now</option><option value="incidents">with incidents</option>'
    '<option value="quiet">quiet</option><option value="failed">failed</option></select>'
    '<select id="order" class="sorting" aria-label="Order"></select>'
    '<output id="said"></output></div>'
)
_PAGER = (
    '<div class="pager" hidden><button type="button" aria-label="First page">«</button>'
    '<button type="button" aria-label="Page before">←</button><span id="where"></span>'
    '<button type="button" aria-label="Next page">→</button>'
    '<button type="button" aria-label="Last page">»</button></div>'
)


def render_fleet(view: FleetView, path: str | os.PathLike[str], *, title: str = "Fleet") -> Path:
    """Write a self-contained page of a fleet.

    Parameters
    ----------
    view : FleetView
        What to show; 10,000 entities make a page of a few megabytes.
    path : path-like
        The file to write; an existing one is replaced as a whole.
    title : str
        Heading of the page.

    Returns
    -------
    pathlib.Path
        The file.

    Examples
    --------
    >>> import tempfile
    >>> from alora_ts.fleet.view import EntityView, FleetView
    >>> view = FleetView((EntityView("pump-1", "diagnosed", score=0.4, rows=90),))
    >>> page = render_fleet(view, Path(tempfile.mkdtemp()) / "fleet.html", title="Pumps")
    >>> "<title>Pumps</title>" in page.read_text(encoding="utf-8")
    True
    """
    with write_atomically(path) as part:
        part.write_text(_page(view, title), encoding="utf-8")
    return Path(path)


def _page(view: FleetView, title: str) -> str:
    house = resources.files("alora_ts.report") / "assets"
    own = resources.files("alora_ts.fleet") / "assets"
    style = "".join(
        (folder / name).read_text(encoding="utf-8")
        for folder, name in ((house, "report.css"), (own, "fleet.css"))
    )
    script = "".join(
        f"<script>{(folder / name).read_text(encoding='utf-8')}</script>"
        for folder, name in ((house, "report.js"), (own, "fleet.js"))
    )
    sections = _summary(view) + _together(view) + _recurring(view) + _entities(view)
    return (
        '<!doctype html>\n<html lang="en"><head><meta charset="utf-8">'
        f'<meta http-equiv="Content-Security-Policy" content="{POLICY}">'
        '<meta name="viewport" content="width=device-width, initial-scale=1">'
        f"<title>{escape(title)}</title><style>{style}</style></head><body>"
        '<a class="skip" href="#content">Skip to content</a>'
        f'<header class="top"><div><h1>{escape(title)}</h1>'
        f'<p class="period">{len(view):,} entities</p></div>'
        '<button class="themer" type="button" hidden>Dark</button></header>'
        f'<main id="content">{sections}'
        '<p class="foot">Made with alora-ts. This file loads nothing from elsewhere.</p></main>'
        f"{script}</body></html>\n"
    )


def _summary(view: FleetView) -> str:
    judged = [entity for entity in view.entities if entity.score is not None]
    alarm = [entity for entity in judged if entity.alarm]
    troubled = [entity for entity in judged if entity.incidents]
    tiles = [
        ("In alarm now", len(alarm)),
        ("With incidents", len(troubled)),
        ("Quiet", len(judged) - len(troubled)),
        ("Not judged yet", len(view) - len(judged) - len(view.failed)),
        ("Failed", len(view.failed)),
        ("Groups at once", len(view.together)),
    ]
    listed = "".join(f"<div><dt>{name}</dt><dd>{count:,}</dd></div>" for name, count in tiles)
    return (
        f'<section class="card" aria-label="Summary"><p class="lead">{_lead(view, len(alarm))}</p>'
        f'<dl class="tiles">{listed}</dl></section>'
    )


def _lead(view: FleetView, alarms: int) -> str:
    count = sum(len(entity.incidents) for entity in view.entities)
    troubled = sum(bool(entity.incidents) for entity in view.entities)
    if not count:
        return "No entity had an incident."
    said = [
        f"{_many(troubled, 'entity', 'entities')} had {_many(count, 'incident', 'incidents')}"
        + (f"; {alarms:,} {'is' if alarms == 1 else 'are'} in alarm now." if alarms else ".")
    ]
    if view.together:
        largest = view.together[0]
        said.append(
            f"{largest.at_once:,} of them misbehaved at the same time, from "
            f"{escape(moment(largest.start, timed=largest.timed))}: look for a common cause."
        )
    if view.recurring:
        first = view.recurring[0]
        said.append(
            f"<b>{escape(first.variable)}</b> led incidents in {len(first.entities):,} entities."
        )
    return " ".join(said)


def _together(view: FleetView) -> str:
    if not view.together:
        return ""
    lines = []
    for company in view.together[:_LISTED]:
        cells = [
            f"{len(company.entities):,} entities",
            moment(company.start, timed=company.timed),
            moment(company.end, timed=company.timed),
            f"{company.likeness:.0%}",
            ", ".join(_shared_culprits(view, company)) or "–",
        ]
        lines.append(_line(_TOGETHER, cells, _members(company.entities)))
    more = len(view.together) - _LISTED
    note = (
        "Entities whose incidents overlap for at least half of the time that either was in one. "
        "From and to enclose the moment when most of a group were in one."
    )
    if more > 0:
        note += f" The first {_LISTED} of {len(view.together):,} groups."
    return card("Misbehaving together", note, _table("shared", _TOGETHER, lines))


def _recurring(view: FleetView) -> str:
    if not view.recurring:
        return ""
    lines = []
    for each in view.recurring[:_LISTED]:
        cells = [
            each.variable,
            f"{len(each.entities):,}",
            f"{each.incidents:,}",
            f"{each.share:.0%}",
        ]
        lines.append(_line(_RECURRING, cells, _members(each.entities)))
    note = "Signals that were the first culprit of incidents in more than one entity."
    return card("Culprits that recur", note, _table("shared", _RECURRING, lines))


_TOGETHER = ("Group", "From", "To", "Overlap", "First culprits", "Entities")
_RECURRING = ("Signal", "In entities", "Incidents", "Mean share", "Entities")


def _entities(view: FleetView) -> str:
    rows = [_row(entity) for entity in view.entities]
    worst = sorted(rows, key=lambda row: -(row[2] if row[2] is not None else -1.0))[:_SHOWN]
    lines = [
        _line(_HEADS, [row[0], _now(row), _plain(row[3]), _times(row[4]), row[5] or "–", row[7]])
        for row in worst
    ]
    # "<" must not end the script it stands in.
    data = json.dumps(rows, separators=(",", ":"), allow_nan=False).replace("<", "\\u003c")
    note = "Scores are in times of the alarm level: more than 1 alarms."
    body = _FILTERS + _table("fleet", _HEADS, lines, identity="entities") + _PAGER
    body += f'<script type="application/json" id="rows">{data}</script>'
    return card("All entities", note, body)


def _row(entity: EntityView) -> list[Any]:
    """One line of the table, as the page's script reads it."""
    from alora_ts.fleet.view import leading_culprits

    last = entity.incidents[-1] if entity.incidents else None
    judged = entity.state == "diagnosed"
    return [
        entity.name,
        entity.state,
        None if entity.score is None else round(entity.score, 4),
        len(entity.incidents) if judged else None,
        round(max(each.score for each in entity.incidents), 4) if last else None,
        "" if last is None else _span(str(last.start), str(last.end)),
        None if last is None else last.begin,
        entity.reason if entity.state == "failed" else ", ".join(leading_culprits(entity)),
        entity.alarm,
    ]


def _now(row: list[Any]) -> str:
    if row[1] == "failed":
        return "failed"
    return "not judged" if row[2] is None else f"{number(row[2])}×"


def _plain(value: int | None) -> str:
    return "–" if value is None else f"{value:,}"


def _times(value: float | None) -> str:
    return "–" if value is None else f"{number(value)}×"


def _shared_culprits(view: FleetView, company: Company, *, most: int = 3) -> list[str]:
    """The first culprits of the group's incidents in the stretch it shares, most frequent first."""
    members, led = set(company.entities), dict[str, int]()
    for entity in view.entities:
        if entity.name not in members:
            continue
        for incident in entity.incidents:
            meets = incident.begin < company.end and incident.finish > company.start
            for variable, *_ in incident.culprits[:1] if meets else ():
                led[variable] = led.get(variable, 0) + 1
    ordered = sorted(led, key=lambda variable: (-led[variable], variable))
    return [f"{variable} ({led[variable]:,})" for variable in ordered[:most]]


def _members(names: Sequence[str]) -> str:
    listed = escape(", ".join(names[:_NAMED]))
    if len(names) <= _NAMED:
        return f'<span class="members">{listed}</span>'
    rest = escape(", ".join(names[_NAMED:]))
    return (
        f'<span class="members">{listed} <details><summary>and {len(names) - _NAMED:,} more'
        f"</summary>{rest}</details></span>"
    )


def _line(heads: Sequence[str], cells: Sequence[str], last: str | None = None) -> str:
    contents = [f"<span>{escape(cell)}</span>" for cell in cells] + ([last] if last else [])
    return (
        "<tr>"
        + "".join(
            f'<td data-label="{head}"{_right(head)}>{content}</td>'
            for head, content in zip(heads, contents, strict=True)
        )
        + "</tr>"
    )


def _table(
    style: str, heads: Sequence[str], lines: Sequence[str], *, identity: str | None = None
) -> str:
    head = "".join(f'<th scope="col"{_right(name)}>{name}</th>' for name in heads)
    named = f' id="{identity}"' if identity else ""
    return (
        '<div class="scroll" tabindex="0" role="region" aria-label="Table">'
        f'<table class="{style}"><thead><tr>{head}</tr></thead>'
        f"<tbody{named}>{''.join(lines)}</tbody></table></div>"
    )


def _right(head: str) -> str:
    numeric = {"Score now", "Incidents", "Highest", "Overlap", "In entities", "Mean share"}
    if head in numeric:
        return ' class="n"'
    return ' class="when"' if head in {"Last incident", "From", "To"} else ""


def _many(count: int, one: str, more: str) -> str:
    return f"{count:,} {one if count == 1 else more}"


def moment(value: float, *, timed: bool) -> str:
    """A moment as people write it.

    Examples
    --------
    >>> moment(1767607260e6, timed=True), moment(1200.0, timed=False)
    ('2026-01-05 10:01', '1,200')
    """
    if not timed:
        return f"{value:,.10g}"
    return _written(str(np.datetime64(round(value / 1e6), "s")))


def _written(text: str) -> str:
    text = text.removesuffix(".000000").replace("T", " ")
    # Seconds only where they say something.
    return text.removesuffix(":00") if len(text) == len("2026-01-05 10:01:00") else text


def _span(start: str, end: str) -> str:
    """From and to, the day said once where it is the same.

    Examples
    --------
    >>> _span("2026-01-05T10:01:00", "2026-01-05T11:00:00"), _span("7", "9")
    ('2026-01-05 10:01 – 11:00', '7 – 9')
    """
    start, end = _written(start), _written(end)
    if start == end:
        return start
    day = start[:11]
    same = len(day) == 11 and day.endswith(" ") and end.startswith(day)
    return f"{start} – {end[11:] if same else end}"
