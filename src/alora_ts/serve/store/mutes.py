"""Mutes, and the open incidents that nobody was told of because of one."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from sqlalchemy import Connection, delete, func, insert, or_, select, update

from alora_ts.diagnosis.incident import Culprit
from alora_ts.diagnosis.repeats import pattern_key, pattern_text
from alora_ts.serve.store.record import Record
from alora_ts.serve.store.schema import held, mutes
from alora_ts.serve.store.upsert import upsert
from alora_ts.serve.times import now_micros

__all__ = [
    "add_mute",
    "all_mutes",
    "count_held",
    "find_mute",
    "held_incidents",
    "holding_mute",
    "is_muted",
    "mute_of",
    "pattern_in",
    "release",
    "remove_mute",
]


def add_mute(connection: Connection, record: Mapping[str, Any]) -> None:
    """Keep a mute."""
    connection.execute(insert(mutes), dict(record))


def find_mute(connection: Connection, key: str) -> Record | None:
    """One mute."""
    return connection.execute(select(mutes).where(mutes.c.id == key)).first()


def remove_mute(connection: Connection, key: str) -> bool:
    """End a mute before its time; whether there was one."""
    now = now_micros()
    lasts = mutes.c.id == key, mutes.c.removed_us.is_(None), mutes.c.end_us > now
    return bool(connection.execute(update(mutes).where(*lasts).values(removed_us=now)).rowcount)


def all_mutes(connection: Connection, *, past: bool, limit: int) -> Sequence[Record]:
    """Mutes in force or to come, the newest first; with ``past`` the others too."""
    query = select(mutes).order_by(mutes.c.created_us.desc(), mutes.c.id).limit(limit)
    if not past:
        query = query.where(mutes.c.removed_us.is_(None), mutes.c.end_us > now_micros())
    return connection.execute(query).all()


def pattern_in(incident: Mapping[str, Any]) -> tuple[str | None, str]:
    """The key of an incident's pattern, and the pattern in words."""
    culprits = [
        Culprit(one["variable"], one["share"], one["direction"], float("nan"), float("nan"))
        for one in incident.get("culprits") or []
    ]
    return pattern_key(culprits), pattern_text(culprits)


def mute_of(connection: Connection, incident: Mapping[str, Any]) -> Record | None:
    """The mute in force that covers an incident as it is now, the longest of several."""
    now, (pattern, _) = now_micros(), pattern_in(incident)
    every = or_(mutes.c.source.is_(None), mutes.c.source == incident.get("source"))
    same = or_(mutes.c.pattern.is_(None), mutes.c.pattern == pattern)
    query = select(mutes).where(
        mutes.c.removed_us.is_(None), mutes.c.start_us <= now, mutes.c.end_us > now, every, same
    )
    return connection.execute(query.order_by(mutes.c.end_us.desc()).limit(1)).first()


def is_muted(connection: Connection, kind: str, incident: Mapping[str, Any]) -> bool:
    """Whether an event is not to be told; an incident that opens while muted is held.

    Who heard that an incident began hears that it ended, muted or not.
    """
    key = incident["id"]
    if kind == "closed":
        return release(connection, key)
    mute = mute_of(connection, incident)
    if mute is None:
        if kind == "opened":
            release(connection, key)
            return False
        # What is held is told as opened first.
        return connection.execute(select(held).where(held.c.incident_id == key)).first() is not None
    if kind == "opened":
        upsert(connection, held, [{"incident_id": key, "mute_id": mute.id}])
    return True


def release(connection: Connection, incident: str) -> bool:
    """Hold an incident no longer; whether it was held."""
    gone = connection.execute(delete(held).where(held.c.incident_id == incident))
    return bool(gone.rowcount)


def held_incidents(connection: Connection) -> list[str]:
    """The ids of incidents that are held."""
    return list(connection.scalars(select(held.c.incident_id)))


def count_held(connection: Connection) -> dict[str, int]:
    """How many incidents each mute holds."""
    counted = select(held.c.mute_id, func.count()).group_by(held.c.mute_id)
    return {key: int(count) for key, count in connection.execute(counted)}


def holding_mute(connection: Connection, incident: str) -> Record | None:
    """The mute that holds an incident."""
    query = select(mutes).join(held, held.c.mute_id == mutes.c.id)
    return connection.execute(query.where(held.c.incident_id == incident)).first()
