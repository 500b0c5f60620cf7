"""An incident as machines read it, and in words."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import Any

from alora_ts.diagnosis.fields import facts
from alora_ts.diagnosis.incident import DIFFUSE
from alora_ts.serve.notify.interface import IncidentEvent

__all__ = ["as_json", "headline", "link_to", "story"]

_NAMED = 3


def link_to(event: IncidentEvent, page: object) -> str | None:
    """Return the address of the incident's page; None where nobody said where the dashboard is.

    Examples
    --------
    >>> link_to(IncidentEvent("1", "opened", {"id": "i_7"}), "https://alora.example.org/")
    'https://alora.example.org/#/incidents/i_7'
    """
    if page is None:
        return None
    every = f"{str(page).rstrip('/')}/#/incidents"
    return every if event.kind == "missed" else f"{every}/{event.incident.get('id')}"


def as_json(event: IncidentEvent, *, page: object = None) -> bytes:
    """Return the event as JSON, the same bytes at every attempt.

    Examples
    --------
    >>> as_json(IncidentEvent("7-opened", "opened", {"id": 7}))
    b'{"event":"opened","id":"7-opened","incident":{"id":7}}'
    """
    body: dict[str, Any] = {
        "event": event.kind,
        "id": event.id,
        "incident": dict(event.incident),
    }
    if event.kind == "missed":
        body["incidents"] = body.pop("incident")["incidents"]
    if (link := link_to(event, page)) is not None:
        body["link"] = link
    return json.dumps(body, sort_keys=True, separators=(",", ":"), allow_nan=False).encode()


def headline(event: IncidentEvent) -> str:
    """Say in one line what happened where, and who is suspected.

    Examples
    --------
    >>> headline(IncidentEvent("7-opened", "opened", {"source": "plant", "kind": "anomaly",
    ...     "culprits": [{"variable": "pump", "share": 0.8, "direction": "above"}]}))
    'plant: anomaly began, first suspect pump'
    >>> headline(IncidentEvent("8-opened", "opened", {"source": "plant", "kind": "anomaly",
    ...     "culprits": [{"variable": "pump", "share": 0.05, "direction": "above"}]}))
    'plant: anomaly began, no single suspect'
    """
    incident: Mapping[str, Any] = event.incident
    if event.kind == "missed":
        return _how_many(incident["incidents"])
    source = incident.get("source", "unknown source")
    if incident.get("kind") == "test":
        return f"a test of the channel {source}: all is well"
    culprits = incident.get("culprits") or []
    if incident.get("kind") == "silence":
        names = [str(culprit["variable"]) for culprit in culprits]
        if event.kind == "closed":
            return f"{source}: values of {_some(names)} come again"
        return f"{source}: no value comes of {_some(names)}"
    happened = {
        "opened": "anomaly began",
        "updated": "incident changed",
        "closed": "incident is over",
    }
    if incident.get("ending") == "gap":
        happened["closed"] = "data stopped during an incident"
    if incident.get("ending") == "another":
        happened["closed"] = "incident gave way to another"
    if (count := _times(incident)) > 1:
        happened["opened"] = f"anomaly began again, the {_ordinal(count)} time"
    text = f"{source}: {happened[event.kind]}"
    if incident.get("silenced"):
        text += " (silenced)"
    return f"{text}{_suspect(culprits)}"


def _suspect(culprits: Sequence[Mapping[str, Any]]) -> str:
    if not culprits:
        return ""
    if all(float(culprit.get("share", 1.0)) < DIFFUSE for culprit in culprits):
        return ", no single suspect"
    return f", first suspect {culprits[0]['variable']}"


def _times(incident: Mapping[str, Any]) -> int:
    """How often incidents of its pattern came, this one included."""
    return int((incident.get("recurring") or {}).get("count", 1))


def _ordinal(number: int) -> str:
    """As in "22nd".

    Examples
    --------
    >>> [_ordinal(number) for number in (2, 3, 4, 11, 21)]
    ['2nd', '3rd', '4th', '11th', '21st']
    """
    teen = number % 100 // 10 == 1
    return f"{number}{'th' if teen else {1: 'st', 2: 'nd', 3: 'rd'}.get(number % 10, 'th')}"


def _how_many(missed: Sequence[Mapping[str, Any]]) -> str:
    sources = _some(sorted({str(one.get("source")) for one in missed}))
    return (
        f"{sources}: {len(missed)} incident{'s' * (len(missed) > 1)} began and ended while this "
        "channel could not be reached"
    )


def _some(names: Sequence[str]) -> str:
    """The first names, and how many more there are."""
    shown = ", ".join(names[:_NAMED])
    more = len(names) - _NAMED
    return f"{shown} and {more} more" if more > 0 else shown or "no signal"


def story(event: IncidentEvent, *, page: object = None) -> str:
    """Describe the incident as a short plain text.

    Examples
    --------
    >>> print(story(IncidentEvent("7-opened", "opened", {"id": 7, "source": "plant",
    ...     "kind": "anomaly", "start": "2026-05-01T12:00:00Z", "end": None, "peak": 3.2,
    ...     "culprits": [{"variable": "pump", "share": 0.8, "direction": "above"}],
    ...     "origin": {"variable": "valve", "certainty": 0.7}})))
    plant: anomaly began, first suspect pump
    <BLANKLINE>
    began: 2026-05-01T12:00:00Z
    ended: not yet
    highest score: 3.20 (above 1 is an alarm)
    likely origin: valve (70 % certain)
    suspects:
      pump, 80 % of the deviation, too high
    """
    incident: Mapping[str, Any] = event.incident
    if event.kind == "missed":
        told = [IncidentEvent(event.id, "closed", one) for one in incident["incidents"]]
        lines = [f"{one.incident.get('start')} {headline(one)}" for one in told]
        return "\n".join([headline(event), "", *lines, *_linked(event, page)])
    lines = [headline(event), "", f"began: {incident.get('start', 'unknown')}"]
    lines.append(f"ended: {incident.get('end') or 'not yet'}")
    if incident.get("kind") == "silence":
        names = [str(culprit["variable"]) for culprit in incident.get("culprits") or []]
        if incident.get("connector"):
            lines.append(f"connector: {incident['connector']}")
        lines += ["silent signals:", *(f"  {name}" for name in names)]
        return "\n".join([*lines, *_linked(event, page)])
    if isinstance(peak := incident.get("peak"), int | float):
        lines.append(f"highest score: {peak:.2f} (above 1 is an alarm)")
    if (count := _times(incident)) > 1:
        lines.append(f"recurring: {count} times since {incident['recurring']['first']}")
    if incident.get("silenced"):
        lines.append("silenced: a verdict says that this pattern is normal")
    lines += [f"{fact.label}: {fact.text}" for fact in facts(incident)]
    culprits = incident.get("culprits") or []
    if culprits:
        lines.append("suspects:")
    for culprit in culprits:
        side = {"above": ", too high", "below": ", too low"}.get(str(culprit.get("direction")), "")
        share = round(100 * float(culprit.get("share", 0)))
        lines.append(f"  {culprit['variable']}, {share} % of the deviation{side}")
    return "\n".join([*lines, *_linked(event, page)])


def _linked(event: IncidentEvent, page: object) -> list[str]:
    link = link_to(event, page)
    return [] if link is None else ["", link]
