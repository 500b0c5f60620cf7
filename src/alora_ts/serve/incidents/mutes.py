"""Maintenance windows and mutes: incidents that are found, kept and shown, but not told."""

from __future__ import annotations

import asyncio
import functools
import logging
import secrets
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from sqlalchemy import Connection
from sqlalchemy.exc import SQLAlchemyError

from alora_ts.errors import DataError, nearest
from alora_ts.serve.http.describe import show_incident
from alora_ts.serve.problems import ConflictError, NotFoundError
from alora_ts.serve.store.audit import Entry
from alora_ts.serve.store.incidents import find_incident, lock_incident
from alora_ts.serve.store.leases import LeaseLostError
from alora_ts.serve.store.mutes import (
    add_mute,
    find_mute,
    held_incidents,
    mute_of,
    pattern_in,
    release,
    remove_mute,
)
from alora_ts.serve.store.outbox import post
from alora_ts.serve.store.record import Record
from alora_ts.serve.store.sources import all_sources
from alora_ts.serve.store.store import Store
from alora_ts.serve.times import from_micros, now_micros

if TYPE_CHECKING:
    from alora_ts.serve.service import Service

__all__ = ["end_mute", "make_mute", "show_mute", "tell_held", "watch_mutes"]

_log = logging.getLogger("alora_ts.serve")
_LOOK = 2.0
_HOUR = 3_600_000_000
_LONGEST = 366 * 24 * _HOUR


def make_mute(
    store: Store,
    *,
    source: str | None = None,
    incident: str | None = None,
    start: int | None = None,
    end: int,
    reason: str = "",
) -> dict[str, Any]:
    """Let nobody be told of some incidents for a while.

    Parameters
    ----------
    store : Store
    source : str, optional
        The only source it is for; without it all of them.
    incident : str, optional
        The mute is for incidents of the same pattern in the same source only.
    start, end : int
        Microseconds since 1970; from now on if there is no start.
    reason : str
    """
    now = now_micros()
    start = now if start is None else start
    if end <= max(start, now):
        raise DataError("a mute must end after it begins, and after now")
    if end - now > _LONGEST:
        raise DataError("a mute may last for a year; make another when it ends")
    key, who = f"m_{secrets.token_hex(6)}", Entry.now("", "").who
    detail = {"source": source, "incident": incident, "end": from_micros(end), "reason": reason}

    def write(connection: Connection) -> dict[str, Any]:
        found, pattern, what = source, None, None
        if incident is not None:
            record = find_incident(connection, incident)
            if record is None:
                raise NotFoundError(f"there is no incident {incident[:60]!r}")
            if source is not None and source != record.source:
                raise ConflictError(f"the incident {incident} is one of {record.source!r}")
            found = record.source
            pattern, what = pattern_in(show_incident(record._asdict(), record.source))
            if pattern is None:
                raise ConflictError("no signal leads in this incident, so it has no pattern")
        known = [row.name for row in all_sources(connection)]
        if found is not None and found not in known:
            raise NotFoundError(f"there is no source {found[:60]!r}{nearest(found, known)}")
        made = {
            "id": key,
            "source": found,
            "pattern": pattern,
            "what": what,
            "start_us": start,
            "end_us": end,
            "reason": reason,
            "made_by": who,
            "created_us": now,
            "removed_us": None,
        }
        add_mute(connection, made)
        return made

    return show_mute(store.change("mute made", key, write, detail))


def end_mute(store: Store, key: str) -> dict[str, Any]:
    """End a mute before its time; what it held and still lasts is told then."""

    def write(connection: Connection) -> Record:
        if not remove_mute(connection, key):
            raise NotFoundError(f"there is no mute {key[:60]!r} in force or to come")
        record = find_mute(connection, key)
        assert record is not None
        return record

    return show_mute(store.change("mute removed", key, write))


def show_mute(found: Record | dict[str, Any], *, holds: int = 0) -> dict[str, Any]:
    """A mute as JSON; ``holds`` is how many open incidents nobody was told of because of it."""
    record = found if isinstance(found, dict) else found._asdict()
    now = now_micros()
    if record["removed_us"] is not None:
        state = "removed"
    elif now >= record["end_us"]:
        state = "over"
    else:
        state = "planned" if now < record["start_us"] else "active"
    removed = record["removed_us"]
    return {
        "id": record["id"],
        "source": record["source"],
        "pattern": record["pattern"],
        "what": record["what"],
        "start": from_micros(record["start_us"]),
        "end": from_micros(record["end_us"]),
        "reason": record["reason"],
        "by": record["made_by"],
        "created": from_micros(record["created_us"]),
        "removed": None if removed is None else from_micros(removed),
        "state": state,
        "holds": holds,
    }


def tell_held(service: Service) -> int:
    """Tell of open incidents whose mute has ended; returns how many."""
    with service.store.reading() as connection:
        keys = held_incidents(connection)
    lease = service.share.lease("task", "mutes")
    # One by one: whoever scores the incident waits for no others.
    works = [functools.partial(_tell, key=key, channels=service.channels()) for key in keys]
    return sum(service.store.writer.run(work, lease=lease) for work in works)


def _tell(connection: Connection, *, key: str, channels: Sequence[str]) -> bool:
    lock_incident(connection, key)
    record = find_incident(connection, key)
    if record is None or record.state != "open":
        release(connection, key)
        return False
    shown = show_incident(record._asdict(), record.source)
    if record.silenced or mute_of(connection, shown) is not None:
        return False
    post(connection, channels, "opened", shown)
    return True


async def watch_mutes(service: Service) -> None:
    """Look every few seconds until cancelled."""
    while True:
        try:
            await asyncio.to_thread(tell_held, service)
        except (SQLAlchemyError, LeaseLostError) as error:
            _log.warning("cannot look for ended mutes: %s", type(error).__name__)
        await asyncio.sleep(_LOOK)
