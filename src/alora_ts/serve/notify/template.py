"""Messages in a form of the user's own."""

from __future__ import annotations

import json
from collections.abc import Mapping
from string import Template
from typing import Any

from alora_ts.serve.notify.interface import IncidentEvent
from alora_ts.serve.notify.message import headline, link_to, story

__all__ = ["check_template", "render"]

_WORDS = (
    "event",
    "headline",
    "id",
    "link",
    "peak",
    "severity",
    "signal",
    "source",
    "start",
    "story",
)


def check_template(template: str) -> str:
    """Return the template if every word in it is known.

    Examples
    --------
    >>> check_template("$source: $headline")
    '$source: $headline'
    >>> check_template("$sorce")
    Traceback (most recent call last):
    ValueError: a template has no $sorce; there are $event, $headline, $id, $link, $peak, ...
    """
    parsed = Template(template)
    if not parsed.is_valid():
        raise ValueError("a $ in a template begins a word such as $headline; write $$ for the sign")
    unknown = [word for word in parsed.get_identifiers() if word not in _WORDS]
    if unknown:
        known = ", ".join(f"${word}" for word in _WORDS)
        raise ValueError(f"a template has no ${unknown[0]}; there are {known}")
    return template


def render(template: str, event: IncidentEvent, *, page: object = None) -> str:
    """Fill a template in; in one that is JSON, words are written as parts of JSON strings.

    Examples
    --------
    >>> event = IncidentEvent("7", "opened", {"source": "plant", "culprits": []})
    >>> render('{"text": "$headline"}', event)
    '{"text": "plant: anomaly began"}'
    """
    words = _words(event, page)
    if _is_json(template):
        words = {name: json.dumps(text)[1:-1] for name, text in words.items()}
    return Template(template).substitute(words)


def _words(event: IncidentEvent, page: object) -> dict[str, str]:
    incident: Mapping[str, Any] = event.incident
    culprits = incident.get("culprits") or []
    peak = incident.get("peak")
    return {
        "event": event.kind,
        "headline": headline(event),
        "id": str(incident.get("id", "")),
        "link": link_to(event, page) or "",
        "peak": f"{peak:.2f}" if isinstance(peak, int | float) else "",
        "severity": str(incident.get("severity") or ""),
        "signal": str(culprits[0]["variable"]) if culprits else "",
        "source": str(incident.get("source", "")),
        "start": str(incident.get("start", "")),
        "story": story(event, page=page),
    }


def _is_json(template: str) -> bool:
    try:
        json.loads(Template(template).substitute(dict.fromkeys(_WORDS, "0")))
    except ValueError:
        return False
    return True
