"""Notifications to be sent, written with the change they report."""

from __future__ import annotations

import asyncio
import secrets
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from typing import Any

from sqlalchemy import ColumnElement, Connection, func, insert, select, update

from alora_ts.serve.notify.interface import EventKind, IncidentEvent, OutboxEntry
from alora_ts.serve.store.leases import Lease
from alora_ts.serve.store.record import Record
from alora_ts.serve.store.schema import outbox
from alora_ts.serve.store.store import Store
from alora_ts.serve.times import now_micros

__all__ = [
    "StoredOutbox",
    "count_by_channel",
    "count_dead",
    "count_pending",
    "dead_letters",
    "post",
    "was_told",
]


_HIDDEN = 120_000_000  # microseconds: longer than any channel waits for its receiver


def post(
    connection: Connection,
    channels: Iterable[str],
    kind: EventKind,
    incident: Mapping[str, Any],
) -> None:
    """Queue an event for every channel, in the caller's transaction."""
    now = now_micros()
    event = {"id": f"e_{secrets.token_hex(8)}", "kind": kind, "incident": dict(incident)}
    entries = [
        {
            "channel": channel,
            "incident_id": incident["id"],
            "event": event,
            "created_us": now,
            "attempts": 0,
            "next_try_us": now,
            "state": "pending",
            "error": None,
        }
        for channel in channels
    ]
    if entries:
        connection.execute(insert(outbox), entries)


def was_told(connection: Connection, incident: str) -> bool:
    """Whether anything about an incident was ever queued, as far as it is kept."""
    query = select(outbox.c.id).where(outbox.c.incident_id == incident).limit(1)
    return connection.execute(query).first() is not None


def dead_letters(connection: Connection, limit: int) -> Sequence[Record]:
    """Notifications that were given up, the newest first."""
    return connection.execute(
        select(outbox).where(outbox.c.state == "dead").order_by(outbox.c.id.desc()).limit(limit)
    ).all()


def count_dead(connection: Connection) -> int:
    """How many notifications were given up."""
    return _count(connection, "dead")


def count_pending(connection: Connection) -> int:
    """How many notifications are on their way."""
    return _count(connection, "pending")


def _count(connection: Connection, state: str) -> int:
    counted = select(func.count()).select_from(outbox).where(outbox.c.state == state)
    return int(connection.scalar(counted) or 0)


def count_by_channel(connection: Connection) -> dict[str, dict[str, int]]:
    """How many notifications of each channel are pending, sent and given up."""
    found: dict[str, dict[str, int]] = {}
    query = select(outbox.c.channel, outbox.c.state, func.count())
    for channel, state, count in connection.execute(
        query.group_by(outbox.c.channel, outbox.c.state)
    ):
        found.setdefault(channel, {})[state] = count
    return found


class StoredOutbox:
    """The outbox as the dispatcher of notifications uses it.

    Parameters
    ----------
    store : Store
    lease : callable, optional
        Gives the right to send, where several processes could.
    """

    def __init__(self, store: Store, lease: Callable[[], Lease | None] = lambda: None) -> None:
        self._store = store
        self._lease = lease

    async def due(
        self, now: float, limit: int, *, channel: str | None, known: Collection[str]
    ) -> list[OutboxEntry]:
        """Give pending entries whose next attempt is not after ``now``, oldest first.

        Those of one channel; None stands for every channel that is not ``known``.
        """
        which = outbox.c.channel.not_in(known) if channel is None else outbox.c.channel == channel
        return await asyncio.to_thread(self._due, int(now * 1e6), limit, which)

    def _due(self, now: int, limit: int, which: ColumnElement[bool]) -> list[OutboxEntry]:
        query = (
            select(outbox)
            .where(outbox.c.state == "pending", outbox.c.next_try_us <= now, which)
            .order_by(outbox.c.id)
        )
        with self._store.reading() as connection:
            found = connection.execute(query.limit(limit)).all()
        lease = self._lease()
        if found and lease is not None:
            # One at a time and hidden from others meanwhile: whoever is stopped in the midst of
            # it and goes on later has no second one to send.
            def take(connection: Connection) -> Sequence[Record]:
                first = query.limit(1).with_for_update(skip_locked=True)
                taken = connection.execute(first).all()
                keys = [entry.id for entry in taken]
                hidden = update(outbox).where(outbox.c.id.in_(keys))
                connection.execute(hidden.values(next_try_us=now + _HIDDEN))
                return taken

            found = self._store.writer.run(take, lease=lease)
        return [
            OutboxEntry(entry.id, entry.channel, entry.attempts, IncidentEvent(**entry.event))
            for entry in found
        ]

    async def sent(self, entry: int) -> None:
        """Note that an entry was delivered."""
        await self._set(entry, state="sent", error=None)

    async def retry(self, entry: int, *, at: float, attempts: int, error: str) -> None:
        """Note a failed attempt and when to try again."""
        await self._set(entry, next_try_us=int(at * 1e6), attempts=attempts, error=error)

    async def dead(self, entry: int, *, error: str) -> None:
        """Give an entry up; it stays visible as a dead letter."""
        await self._set(entry, state="dead", error=error)

    async def _set(self, entry: int, **values: Any) -> None:
        def change(connection: Connection) -> None:
            here = update(outbox).where(outbox.c.id == entry, outbox.c.state == "pending")
            connection.execute(here.values(**values))

        await asyncio.wrap_future(self._store.writer.submit(change))
