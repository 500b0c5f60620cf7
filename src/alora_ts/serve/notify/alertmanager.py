"""Incidents as alerts of Prometheus's Alertmanager, by its v2 API."""

from __future__ import annotations

import asyncio
import json
import time
from collections.abc import Awaitable, Callable, Mapping, Sequence
from typing import Any

from alora_ts.serve.notify.interface import IncidentEvent
from alora_ts.serve.notify.message import headline, link_to, story
from alora_ts.serve.notify.settings import AlertmanagerSettings
from alora_ts.serve.notify.template import render
from alora_ts.serve.notify.webhook import Post
from alora_ts.serve.times import from_micros, to_micros

__all__ = ["AlertmanagerNotifier", "as_alert", "labels_of"]

_NAMES = {"anomaly": "AloraIncident", "silence": "AloraSilence", "test": "AloraTest"}
_LASTS = 4  # times `resend`, as Prometheus does


def labels_of(incident: Mapping[str, Any], own: Mapping[str, str]) -> dict[str, str]:
    """Say what an alert is known by: labels that a route or a silence can ask for.

    The incident's id is one of them, so that two incidents of a source are two alerts. Signals
    are not: they change while an incident lasts.

    Examples
    --------
    >>> labels_of({"id": "i_7", "kind": "anomaly", "source": "plant", "severity": "high"},
    ...     {"team": "night"})
    {'team': 'night', 'alertname': 'AloraIncident', 'source': 'plant', 'severity': 'high', ...}
    """
    kind = str(incident.get("kind", "anomaly"))
    return {
        **own,
        "alertname": _NAMES.get(kind, _NAMES["anomaly"]),
        "source": str(incident.get("source", "")),
        "severity": str(incident.get("severity") or ""),
        "incident": str(incident.get("id", "")),
    }


def as_alert(
    event: IncidentEvent, settings: AlertmanagerSettings, *, now: float, ends: float
) -> dict[str, Any]:
    """Write an alert that fires until ``ends`` (seconds since 1970)."""
    incident, moment = event.incident, int(now * 1e6)
    began = to_micros(incident["start"]) if incident.get("start") else moment
    if settings.template is None:
        text = story(event, page=settings.page)
    else:
        text = render(settings.template, event, page=settings.page)
    notes = {"summary": headline(event), "description": text}
    alert: dict[str, Any] = {
        "labels": labels_of(incident, settings.labels),
        "annotations": notes,
        # A sender's clock may be a little ahead of ours; an alert must begin before it ends.
        "startsAt": from_micros(min(began, moment)),
        "endsAt": from_micros(int(ends * 1e6)),
    }
    if (link := link_to(event, settings.page)) is not None:
        notes["link"] = alert["generatorURL"] = link
    return alert


class AlertmanagerNotifier:
    """Keeps an alert firing while its incident is open, and resolves it with the incident.

    Parameters
    ----------
    settings : AlertmanagerSettings

    Notes
    -----
    An alert that is not heard of again ends by itself after four times ``resend``: so does one of
    a service that is gone, and one under labels that are no longer true.
    """

    def __init__(self, settings: AlertmanagerSettings) -> None:
        self._settings = settings
        self.name = settings.name
        self.resend = settings.resend
        self._post = Post(settings)
        self._url = f"{str(settings.url).rstrip('/')}/api/v2/alerts"
        # Whoever reads what lasts sends it before anyone else says that it is over.
        self._turn = asyncio.Lock()
        self._fired: dict[str, dict[str, str]] = {}

    async def notify(self, event: IncidentEvent) -> None:
        """Send the alert of one incident.

        Raises
        ------
        DeliveryError
            When Alertmanager did not take it.
        """
        async with self._turn:
            await self._send([event])

    async def keep(self, lasting: Callable[[], Awaitable[Sequence[IncidentEvent]]]) -> None:
        """Send the alerts of all open incidents again.

        Where there is none an empty list is sent: a wrong address shows before it is needed.
        """
        async with self._turn:
            await self._send(await lasting())

    async def _send(self, events: Sequence[IncidentEvent]) -> None:
        now = time.time()
        until = now + _LASTS * self._settings.resend
        alerts, fired = list[dict[str, Any]](), dict[str, dict[str, str]]()
        for event in events:
            ends = now if event.kind == "closed" else until
            alert = as_alert(event, self._settings, now=now, ends=ends)
            key, labels = str(event.incident.get("id", "")), alert["labels"]
            before = self._fired.get(key, labels)
            if before != labels:
                # Another severity is another alert to Alertmanager; the one before is over.
                alerts.append({**alert, "labels": before, "endsAt": from_micros(int(now * 1e6))})
            alerts.append(alert)
            fired[key] = labels
        await self._post.send(self._url, json.dumps(alerts).encode(), {})
        self._fired |= fired
        for event in events:
            if event.kind == "closed":
                self._fired.pop(str(event.incident.get("id", "")), None)
