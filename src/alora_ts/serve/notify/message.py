"""An incident as machines read it, and in words."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

from alora_ts.diagnosis.fields import facts
from alora_ts.serve.notify.interface import IncidentEvent

__all__ = ["as_json", "headline", "story"]


def as_json(event: IncidentEvent) -> bytes:
    """Return the event as JSON, the same bytes at every attempt.

    Examples
    --------
    >>> as_json(IncidentEvent("7-opened", "opened", {"id": 7}))
    b'{"event":"opened","id":"7-opened","incident":{"id":7}}'
    """
    body = {"event": event.kind, "id": event.id, "incident": dict(event.incident)}
    return json.dumps(body, sort_keys=True, separators=(",", ":"), allow_nan=False).encode()


def headline(event: IncidentEvent) -> str:
    """Say in one line what happened where, and who is suspected.

    Examples
    --------
    >>> headline(IncidentEvent("7-opened", "opened", {"source": "plant", "kind": "anomaly",
    ...     "culprits": [{"variable": "pump", "share": 0.8, "direction": "above"}]}))
    'plant: anomaly began, first suspect pump'
    """
    incident: Mapping[str, Any] = event.incident
    what = "a signal is silent" if incident.get("kind") == "silence" else "anomaly began"
    happened = {"opened": what, "updated": "incident changed", "closed": "incident is over"}
    text = f"{incident.get('source', 'unknown source')}: {happened[event.kind]}"
    culprits = incident.get("culprits") or []
    return f"{text}, first suspect {culprits[0]['variable']}" if culprits else text


def story(event: IncidentEvent, *, page: str | None = None) -> str:
    """Describe the incident as a short plain text.

    Examples
    --------
    >>> print(story(IncidentEvent("7-opened", "opened", {"id": 7, "source": "plant",
    ...     "kind": "anomaly", "start": "2026-05-01T12:00:00Z", "end": None, "peak": 3.2,
    ...     "culprits": [{"variable": "pump", "share": 0.8, "direction": "above"}],
    ...     "origin": {"variable": "valve", "share": 0.7}})))
    plant: anomaly began, first suspect pump
    <BLANKLINE>
    began: 2026-05-01T12:00:00Z
    ended: not yet
    highest score: 3.20 (above 1 is an alarm)
    likely origin: valve (70 %)
    suspects:
      pump, 80 % of the deviation, too high
    """
    incident: Mapping[str, Any] = event.incident
    lines = [headline(event), "", f"began: {incident.get('start', 'unknown')}"]
    lines.append(f"ended: {incident.get('end') or 'not yet'}")
    if isinstance(peak := incident.get("peak"), int | float):
        lines.append(f"highest score: {peak:.2f} (above 1 is an alarm)")
    lines += [f"{fact.label}: {fact.text}" for fact in facts(incident)]
    culprits = incident.get("culprits") or []
    if culprits:
        lines.append("suspects:")
    for culprit in culprits:
        side = {"above": ", too high", "below": ", too low"}.get(str(culprit.get("direction")), "")
        share = round(100 * float(culprit.get("share", 0)))
        lines.append(f"  {culprit['variable']}, {share} % of the deviation{side}")
    if page is not None:
        lines += ["", f"{page.rstrip('/')}/#/incidents/{incident.get('id')}"]
    return "\n".join(lines)
