"""What people said of patterns."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from sqlalchemy import Connection, delete, select

from alora_ts.serve.store.record import Record
from alora_ts.serve.store.schema import incidents, judgements, sources
from alora_ts.serve.store.upsert import upsert

__all__ = ["all_judgements", "judgements_on", "open_anomalies", "save_judgement", "take_back"]


def save_judgement(connection: Connection, record: dict[str, Any]) -> None:
    """Keep a judgement; one on the same incident is replaced."""
    upsert(connection, judgements, [record])


def take_back(connection: Connection, incident: str) -> str | None:
    """Delete the judgement on an incident; returns the pattern it was about."""
    pattern: str | None = connection.scalar(
        select(judgements.c.pattern).where(judgements.c.incident_id == incident)
    )
    connection.execute(delete(judgements).where(judgements.c.incident_id == incident))
    return pattern


def judgements_on(connection: Connection, source: int, pattern: str) -> Sequence[Record]:
    """The judgements on a pattern of a source, the newest first."""
    return connection.execute(
        select(judgements)
        .where(judgements.c.source_id == source, judgements.c.pattern == pattern)
        .order_by(judgements.c.at_us.desc())
    ).all()


def all_judgements(connection: Connection, *, limit: int) -> Sequence[Record]:
    """The newest judgements with the names of their sources."""
    return connection.execute(
        select(*judgements.c, sources.c.name.label("source"))
        .join(sources)
        .order_by(judgements.c.at_us.desc(), judgements.c.incident_id)
        .limit(limit)
    ).all()


def open_anomalies(
    connection: Connection, source: int | None = None, pattern: str | None = None
) -> Sequence[Record]:
    """Open anomalies of a source's pattern, or all that are silenced."""
    query = select(incidents, sources.c.name.label("source")).join(sources)
    query = query.where(incidents.c.kind == "anomaly", incidents.c.state == "open")
    if source is None:
        return connection.execute(query.where(incidents.c.silenced)).all()
    mine = incidents.c.source_id == source, incidents.c.pattern == pattern
    return connection.execute(query.where(*mine)).all()
