"""Incidents and what people say of them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from sqlalchemy import Connection, Select, and_, func, or_, select, update

from alora_ts.serve.store.record import Record
from alora_ts.serve.store.schema import incidents, sources
from alora_ts.serve.store.upsert import upsert

__all__ = [
    "count_severities",
    "find_incident",
    "incidents_from",
    "judged",
    "judged_sources",
    "last_incident_before",
    "list_incidents",
    "open_incidents",
    "open_silences",
    "save_incident",
    "set_verdict",
    "set_work",
]

_NAMED = select(*incidents.c, sources.c.name.label("source")).join(sources)


def save_incident(connection: Connection, record: dict[str, Any]) -> dict[str, Any]:
    """Keep a new incident or the present state of a known one; returns what people said of it."""
    # That is theirs, and may have come while the incident went on.
    upsert(connection, incidents, [record], keep=("verdict", "work"))
    said = select(incidents.c.verdict, incidents.c.work).where(incidents.c.id == record["id"])
    return connection.execute(said).one()._asdict()


def find_incident(connection: Connection, key: str) -> Record | None:
    """One incident with the name of its source."""
    return connection.execute(_NAMED.where(incidents.c.id == key)).first()


def list_incidents(
    connection: Connection,
    *,
    source: int | None,
    state: str | None,
    severity: str | None = None,
    start: int | None,
    end: int | None,
    before: tuple[int, str] | None,
    limit: int,
) -> Sequence[Record]:
    """Incidents that touch [start, end), the newest first; ``before`` continues a page."""
    query: Select[Any] = _NAMED.where(incidents.c.state != "withdrawn")
    if source is not None:
        query = query.where(incidents.c.source_id == source)
    if state is not None:
        query = query.where(incidents.c.state == state)
    if severity is not None:
        query = query.where(incidents.c.severity == severity)
    if start is not None:
        query = query.where(or_(incidents.c.end_us >= start, incidents.c.state == "open"))
    if end is not None:
        query = query.where(incidents.c.start_us < end)
    if before is not None:
        time, key = before
        query = query.where(
            or_(
                incidents.c.start_us < time,
                and_(incidents.c.start_us == time, incidents.c.id < key),
            )
        )
    order = (incidents.c.start_us.desc(), incidents.c.id.desc())
    return connection.execute(query.order_by(*order).limit(limit)).all()


def last_incident_before(connection: Connection, source: int, time: int) -> Record | None:
    """The last anomaly that began before ``time``."""
    return connection.execute(
        select(incidents)
        .where(
            incidents.c.source_id == source,
            incidents.c.kind == "anomaly",
            incidents.c.state != "withdrawn",
            incidents.c.start_us < time,
        )
        .order_by(incidents.c.start_us.desc())
        .limit(1)
    ).first()


def incidents_from(connection: Connection, source: int, time: int) -> Sequence[Record]:
    """Anomalies that began at or after ``time``."""
    return connection.execute(
        select(incidents)
        .where(
            incidents.c.source_id == source,
            incidents.c.kind == "anomaly",
            incidents.c.state != "withdrawn",
            incidents.c.start_us >= time,
        )
        .order_by(incidents.c.start_us)
    ).all()


def open_silences(connection: Connection) -> Sequence[Record]:
    """Silences that last, with the names of their sources."""
    open_now = incidents.c.kind == "silence", incidents.c.state == "open"
    return connection.execute(_NAMED.where(*open_now)).all()


def open_incidents(connection: Connection, source: int | None = None) -> dict[int, list[Record]]:
    """Open incidents of each source that has any, or of one."""
    query = _NAMED.where(incidents.c.state == "open").order_by(incidents.c.start_us)
    if source is not None:
        query = query.where(incidents.c.source_id == source)
    found: dict[int, list[Record]] = {}
    for record in connection.execute(query):
        found.setdefault(record.source_id, []).append(record)
    return found


def count_severities(connection: Connection) -> dict[tuple[str, str, str], int]:
    """Open incidents by source, kind and severity."""
    counted = connection.execute(
        select(sources.c.name, incidents.c.kind, incidents.c.severity, func.count())
        .join(sources)
        .where(incidents.c.state == "open")
        .group_by(sources.c.name, incidents.c.kind, incidents.c.severity)
    )
    return {(source, kind, severity): count for source, kind, severity, count in counted}


def set_verdict(connection: Connection, key: str, verdict: str | None) -> None:
    """Keep or take back what a person said of an incident."""
    connection.execute(update(incidents).where(incidents.c.id == key).values(verdict=verdict))


def set_work(connection: Connection, key: str, work: dict[str, Any]) -> None:
    """Keep what people do about an incident."""
    connection.execute(update(incidents).where(incidents.c.id == key).values(work=work))


def judged(connection: Connection, source: int, model: str) -> Sequence[Record]:
    """Anomalies of a source under a model that a person has judged."""
    return connection.execute(
        select(incidents).where(
            incidents.c.source_id == source,
            incidents.c.model_id == model,
            incidents.c.kind == "anomaly",
            incidents.c.verdict.is_not(None),
        )
    ).all()


def judged_sources(connection: Connection) -> set[int]:
    """Sources of which a person has judged an incident."""
    query = select(incidents.c.source_id).where(incidents.c.verdict.is_not(None)).distinct()
    return set(connection.scalars(query))
