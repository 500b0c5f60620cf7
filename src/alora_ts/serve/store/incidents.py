"""Incidents and what people say of them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from sqlalchemy import (
    ColumnElement,
    Connection,
    FromClause,
    and_,
    func,
    or_,
    select,
    update,
)

from alora_ts.diagnosis.repeats import group_repeats
from alora_ts.serve.store.record import Record
from alora_ts.serve.store.schema import incidents, sources
from alora_ts.serve.store.upsert import upsert

__all__ = [
    "count_severities",
    "find_incident",
    "incidents_from",
    "last_incident_before",
    "lasting_since",
    "list_incidents",
    "lock_incident",
    "open_incidents",
    "open_silences",
    "recent_anomalies",
    "save_incident",
    "save_incidents",
    "set_silenced",
    "set_verdict",
    "set_work",
    "was_silenced",
]

# How often incidents of a series came, and when first; by the index on it.
_same = incidents.alias()
_together = select().where(_same.c.series == incidents.c.series, _same.c.state != "withdrawn")
_RECURRING = (
    _together.add_columns(func.count()).scalar_subquery().label("count"),
    _together.add_columns(func.min(_same.c.start_us)).scalar_subquery().label("first_us"),
)
_NAMED = select(*incidents.c, sources.c.name.label("source"), *_RECURRING).join(sources)


def save_incident(connection: Connection, record: dict[str, Any]) -> dict[str, Any]:
    """Keep a new incident or the present state of a known one; returns what people said of it."""
    stored = {name: value for name, value in record.items() if name in incidents.c}
    # That is theirs, and may have come while the incident went on.
    upsert(connection, incidents, [stored], keep=("verdict", "work", "series"))
    said = select(incidents.c.verdict, incidents.c.work).where(incidents.c.id == record["id"])
    return connection.execute(said).one()._asdict()


def save_incidents(
    connection: Connection, records: Sequence[dict[str, Any]], *, within: int
) -> None:
    """Keep anomalies of one source and put those together that recur.

    The records learn what people said of them and how often they came.

    Parameters
    ----------
    connection : Connection
    records : sequence of dict
        In order of time.
    within : int
        Microseconds between two of the same pattern at most.
    """
    touched: dict[str, int] = {}
    for record in records:
        known = connection.execute(
            select(incidents.c.pattern, incidents.c.start_us).where(incidents.c.id == record["id"])
        ).first()
        record.update(save_incident(connection, record))
        for pattern, start in ((record["pattern"], record["start_us"]), known or (None, 0)):
            if pattern is not None:
                touched[pattern] = min(start, touched.get(pattern, start))
    for pattern, since in touched.items():
        _put_together(connection, records[0]["source_id"], pattern, since=since, within=within)
    for record in records:
        counted = select(incidents.c.series, *_RECURRING).where(incidents.c.id == record["id"])
        record.update(connection.execute(counted).one()._asdict())


def _put_together(
    connection: Connection, source: int, pattern: str, *, since: int, within: int
) -> None:
    """Say of a pattern's incidents from a time on which series they belong to."""
    query = (
        select(incidents.c.id, incidents.c.series, incidents.c.start_us, incidents.c.end_us)
        .where(
            incidents.c.source_id == source,
            incidents.c.pattern == pattern,
            incidents.c.state != "withdrawn",
        )
        .order_by(incidents.c.start_us, incidents.c.id)
    )
    newest_first = query.order_by(None).order_by(incidents.c.start_us.desc(), incidents.c.id.desc())
    before = connection.execute(newest_first.where(incidents.c.start_us < since).limit(1)).all()
    found = connection.execute(query.where(incidents.c.start_us >= since)).all()
    groups = group_repeats(
        [*before, *found],
        pattern=lambda _: pattern,
        between=lambda one, following: following.start_us - one.end_us,
        within=within,
    )
    for group in groups:
        # The one from before has its series; every other group begins with its own first.
        series = group[0].series if group[0] in before else group[0].id
        wrong = [one.id for one in group if one.series != series]
        if wrong:
            change = update(incidents).where(incidents.c.id.in_(wrong))
            connection.execute(change.values(series=series))


def find_incident(connection: Connection, key: str) -> Record | None:
    """One incident with the name of its source."""
    return connection.execute(_NAMED.where(incidents.c.id == key)).first()


def list_incidents(
    connection: Connection,
    *,
    source: int | None,
    state: str | None,
    severity: str | None = None,
    silenced: bool | None = None,
    series: str | None = None,
    grouped: bool = False,
    start: int | None,
    end: int | None,
    before: tuple[int, str] | None,
    limit: int,
) -> Sequence[Record]:
    """Incidents that touch [start, end), the newest first; ``before`` continues a page.

    ``grouped`` gives only the newest of those that recur.
    """

    def wanted(table: FromClause) -> list[ColumnElement[bool]]:
        equal: Mapping[str, Any] = {
            "source_id": source,
            "state": state,
            "severity": severity,
            "silenced": silenced,
            "series": series,
        }
        chosen = [table.c[name] == value for name, value in equal.items() if value is not None]
        if start is not None:
            chosen.append(or_(table.c.end_us >= start, table.c.state == "open"))
        if end is not None:
            chosen.append(table.c.start_us < end)
        return [table.c.state != "withdrawn", *chosen]

    query = _NAMED.where(*wanted(incidents))
    if grouped:
        later = incidents.alias()
        newer = or_(
            later.c.start_us > incidents.c.start_us,
            and_(later.c.start_us == incidents.c.start_us, later.c.id > incidents.c.id),
        )
        again = select(later.c.id).where(later.c.series == incidents.c.series, newer)
        query = query.where(~again.where(*wanted(later)).exists())
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


def lock_incident(connection: Connection, key: str) -> None:
    """Keep others from changing an incident until the transaction ends."""
    connection.execute(select(incidents.c.id).where(incidents.c.id == key).with_for_update())


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


def lasting_since(connection: Connection, source: int, time: int) -> int:
    """When the lasting incident began that one which began at ``time`` is a part of."""
    earlier = last_incident_before(connection, source, time)
    while earlier is not None and earlier.detail.get("ending") == "another":
        time = earlier.start_us
        earlier = last_incident_before(connection, source, time)
    return time


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


def count_severities(connection: Connection, *, silenced: bool) -> dict[tuple[str, str, str], int]:
    """Open incidents by source, kind and severity, silenced ones or the others."""
    counted = connection.execute(
        select(sources.c.name, incidents.c.kind, incidents.c.severity, func.count())
        .join(sources)
        .where(incidents.c.state == "open", incidents.c.silenced == silenced)
        .group_by(sources.c.name, incidents.c.kind, incidents.c.severity)
    )
    return {(source, kind, severity): count for source, kind, severity, count in counted}


def set_verdict(connection: Connection, key: str, verdict: str | None) -> None:
    """Keep or take back what a person said of an incident."""
    connection.execute(update(incidents).where(incidents.c.id == key).values(verdict=verdict))


def set_work(connection: Connection, key: str, work: dict[str, Any]) -> None:
    """Keep what people do about an incident."""
    connection.execute(update(incidents).where(incidents.c.id == key).values(work=work))


def set_silenced(connection: Connection, key: str, silenced: bool) -> None:
    """Say whether an incident is kept from alarming."""
    connection.execute(update(incidents).where(incidents.c.id == key).values(silenced=silenced))


def was_silenced(connection: Connection, key: str) -> bool:
    """Whether an incident, if it is known, is kept from alarming."""
    return bool(connection.scalar(select(incidents.c.silenced).where(incidents.c.id == key)))


def recent_anomalies(
    connection: Connection, source: int, *, since: int, limit: int
) -> Sequence[Record]:
    """The newest anomalies of a source that were going on at or after a time."""
    query = select(incidents).where(
        incidents.c.source_id == source,
        incidents.c.kind == "anomaly",
        incidents.c.state != "withdrawn",
        incidents.c.end_us >= since,
    )
    return connection.execute(query.order_by(incidents.c.start_us.desc()).limit(limit)).all()
