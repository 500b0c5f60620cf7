"""What verdicts on a pattern mean for its incidents.

Incidents of the same pattern have the same leading culprits and directions
(:mod:`alora_ts.diagnosis.repeats`). While a pattern is silenced, its incidents are found, kept and
shown, but neither alarm nor notify, unless one is much worse than what was called normal.
"""

from __future__ import annotations

import asyncio
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from sqlalchemy import Connection

from alora_ts.serve.http.describe import show_incident
from alora_ts.serve.operate.events import News
from alora_ts.serve.store.incidents import find_incident, set_silenced
from alora_ts.serve.store.judgements import judgements_on, open_anomalies
from alora_ts.serve.store.outbox import post, was_told
from alora_ts.serve.store.record import Record
from alora_ts.serve.times import now_micros

if TYPE_CHECKING:
    from alora_ts.serve.service import Service

__all__ = ["WORSE", "Standing", "announce", "is_silenced", "review", "standing", "watch_patterns"]

WORSE = 3.0
"""An incident so many times as high as the highest that was called normal alarms all the same.

About one step of severity (1 to 3, 3 to 10), wherever in its step an incident lies.
"""

_LOOK = 5.0


@dataclass(frozen=True)
class Standing:
    """What all judgements on a pattern come to.

    Attributes
    ----------
    protected : bool
        Whether any of its incidents was a real problem: then it cannot be silenced.
    until : int or None
        Until when it is silenced, as far as it is not protected.
    peak : float
        The highest of its incidents that were called normal by judgements in force.
    """

    protected: bool
    until: int | None
    peak: float

    @classmethod
    def of(cls, judgements: Iterable[Record], now: int) -> Standing:
        """Add up judgements; those that have expired say nothing."""
        all_ = list(judgements)
        normal = [one for one in all_ if one.verdict == "normal" and one.until_us > now]
        return cls(
            protected=any(one.verdict == "real" for one in all_),
            until=max((one.until_us for one in normal), default=None),
            peak=max((one.peak for one in normal), default=0.0),
        )

    @property
    def alarms_above(self) -> float:
        """The score above which an incident alarms all the same."""
        return WORSE * self.peak

    @property
    def silenced(self) -> bool:
        """Whether it is silenced now."""
        return self.until is not None and not self.protected

    def silences(self, peak: float) -> bool:
        """Whether an incident as high as this does not alarm."""
        return self.silenced and peak <= self.alarms_above


def standing(connection: Connection, source: int, pattern: str) -> Standing:
    """What people say of a pattern of a source now."""
    return Standing.of(judgements_on(connection, source, pattern), now_micros())


def is_silenced(connection: Connection, record: dict[str, Any]) -> bool:
    """Whether an incident is kept from alarming."""
    if record["kind"] != "anomaly" or record["pattern"] is None:
        return False
    said = standing(connection, record["source_id"], record["pattern"])
    return said.silences(record["detail"]["peak"] or 0.0)


def review(
    connection: Connection, found: Iterable[Record], channels: Sequence[str]
) -> list[dict[str, Any]]:
    """Bring open incidents in line with what is said of their patterns now.

    Whoever was told of one hears that it is silenced; one that alarms from now on is news.

    Returns
    -------
    list of dict
        Those that changed, as they are shown.
    """
    changed = []
    for one in found:
        silenced = is_silenced(connection, one._asdict())
        if silenced == one.silenced:
            continue
        set_silenced(connection, one.id, silenced)
        record = find_incident(connection, one.id)
        assert record is not None
        shown = show_incident(record._asdict(), record.source)
        told = was_told(connection, one.id)
        if told or not silenced:
            post(connection, channels, "updated" if told else "opened", shown)
        changed.append(shown)
    return changed


def announce(service: Service, changed: Iterable[dict[str, Any]]) -> None:
    """Tell pages and metrics of incidents that were silenced or alarm again."""
    for shown in changed:
        service.metrics.alarmed(shown["source"], not shown["silenced"], {})
        service.bus.publish(News("incident", shown["source"], {"change": "judged", **shown}))


def check_silences(service: Service) -> None:
    """Let open incidents alarm whose silence has run out."""
    with service.store.reading() as connection:
        found = [
            one for one in open_anomalies(connection) if not is_silenced(connection, one._asdict())
        ]
    if found:
        channels, lease = service.channels(), service.share.lease("task", "patterns")
        changed = service.store.writer.run(lambda c: review(c, found, channels), lease=lease)
        announce(service, changed)


async def watch_patterns(service: Service) -> None:
    """Look every few seconds until cancelled."""
    while True:
        await asyncio.to_thread(check_silences, service)
        await asyncio.sleep(_LOOK)
