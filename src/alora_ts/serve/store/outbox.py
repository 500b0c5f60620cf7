"""Notifications to be sent, written with the change they report."""

from __future__ import annotations

import asyncio
import secrets
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from typing import Any

from sqlalchemy import ColumnElement, Connection, delete, exists, func, insert, select, update

from alora_ts.serve.notify.interface import EventKind, IncidentEvent, OutboxEntry
from alora_ts.serve.store.leases import Lease
from alora_ts.serve.store.mutes import is_muted
from alora_ts.serve.store.record import Record
from alora_ts.serve.store.schema import incidents, outbox
from alora_ts.serve.store.store import Store
from alora_ts.serve.times import now_micros

__all__ = [
    "StoredOutbox",
    "count_by_channel",
    "count_dead",
    "count_pending",
    "dead_letters",
    "dead_reasons",
    "post",
    "revive",
    "was_told",
]

# Seconds after which a message about what is over by then is old news.
_HELD_UP = 300.0
_HIDDEN = 120_000_000  # microseconds: longer than any channel waits for its receiver


def post(
    connection: Connection,
    channels: Iterable[str],
    kind: EventKind,
    incident: Mapping[str, Any],
) -> None:
    """Queue an event for every channel, in the caller's transaction, unless a mute forbids it."""
    if is_muted(connection, kind, incident):
        return
    # An incident begins once; the end of a mute and its next row may both say so.
    if kind == "opened" and was_told(connection, incident["id"]):
        return
    _queue(connection, channels, {"kind": kind, "incident": dict(incident)}, incident["id"])


def _queue(
    connection: Connection, channels: Iterable[str], event: Mapping[str, Any], incident: str
) -> None:
    now = now_micros()
    event = {"id": f"e_{secrets.token_hex(8)}", **event}
    entries = [
        {
            "channel": channel,
            "incident_id": incident,
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


def dead_reasons(connection: Connection) -> dict[str, str]:
    """Why the last one of each channel was given up."""
    last = select(func.max(outbox.c.id)).where(outbox.c.state == "dead").group_by(outbox.c.channel)
    query = select(outbox.c.channel, outbox.c.error).where(outbox.c.id.in_(last))
    return {row.channel: row.error for row in connection.execute(query)}


def revive(connection: Connection, channel: str) -> int:
    """Let what a channel gave up be tried again; returns how many."""
    given_up = (outbox.c.channel == channel) & (outbox.c.state == "dead")
    again = {"state": "pending", "attempts": 0, "next_try_us": now_micros()}
    return connection.execute(update(outbox).where(given_up).values(**again)).rowcount


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
    """How many notifications of each channel are pending, sent, given up, summed up."""
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

        Those of one channel; None stands for every channel that is not ``known``. An entry waits
        for earlier ones of its incident.
        """
        which = outbox.c.channel.not_in(known) if channel is None else outbox.c.channel == channel
        return await asyncio.to_thread(self._due, int(now * 1e6), limit, which)

    def _due(self, now: int, limit: int, which: ColumnElement[bool]) -> list[OutboxEntry]:
        earlier = outbox.alias()
        waits = exists().where(
            earlier.c.state == "pending",
            earlier.c.channel == outbox.c.channel,
            earlier.c.incident_id == outbox.c.incident_id,
            earlier.c.id < outbox.c.id,
            earlier.c.next_try_us > now,
        )
        with self._store.reading() as connection:
            found = connection.execute(
                select(outbox)
                .where(outbox.c.state == "pending", outbox.c.next_try_us <= now, which, ~waits)
                .order_by(outbox.c.id)
                .limit(limit)
            ).all()
        return [
            OutboxEntry(entry.id, entry.channel, entry.attempts, IncidentEvent(**entry.event))
            for entry in found
        ]

    async def take(self, entry: int, now: float) -> bool:
        """Say whether an entry may be sent now; other processes do not see it meanwhile.

        Whoever is stopped in the midst of it and goes on later has no second one to send.
        """
        lease = self._lease()
        if lease is None:
            return True
        mine = (outbox.c.id == entry) & (outbox.c.state == "pending")
        due = mine & (outbox.c.next_try_us <= int(now * 1e6))
        # Those before it may have taken long.
        until = max(int(now * 1e6), now_micros()) + _HIDDEN
        hidden = update(outbox).where(due).values(next_try_us=until)
        work = self._store.writer.submit(lambda c: c.execute(hidden).rowcount == 1, lease=lease)
        return await asyncio.wrap_future(work)

    async def fold(
        self,
        now: float,
        *,
        channel: str,
        wants: Callable[[IncidentEvent], bool],
        sum_up: bool,
    ) -> None:
        """Take out what began and ended without a word reaching the receiver for minutes.

        One entry that sums it all up takes its place if asked for.
        """
        before = int((now - _HELD_UP) * 1e6)
        if await asyncio.to_thread(self._over, channel, before, wants):
            work = self._store.writer.submit(
                lambda c: _fold(c, channel, before, wants, sum_up), lease=self._lease()
            )
            await asyncio.wrap_future(work)

    def _over(self, channel: str, before: int, wants: Callable[[IncidentEvent], bool]) -> bool:
        with self._store.reading() as connection:
            return bool(_over_untold(connection, channel, before, wants))

    async def hurry(self, now: float, *, channel: str) -> None:
        """Let everything that waits for its next attempt be due."""
        await self._update(
            outbox.c.channel == channel, lease=self._lease(), next_try_us=int(now * 1e6)
        )

    async def lasting(self, channel: str) -> list[IncidentEvent]:
        """Give the newest event of every open incident that this channel is told of."""
        return await asyncio.to_thread(self._lasting, channel)

    def _lasting(self, channel: str) -> list[IncidentEvent]:
        newest = (
            select(func.max(outbox.c.id))
            .join(incidents, incidents.c.id == outbox.c.incident_id)
            .where(outbox.c.channel == channel, incidents.c.state == "open")
            .group_by(outbox.c.incident_id)
        )

        def read(connection: Connection) -> list[IncidentEvent]:
            found = connection.execute(select(outbox.c.event).where(outbox.c.id.in_(newest)))
            return [IncidentEvent(**event) for (event,) in found]

        lease = self._lease()
        if lease is not None:
            # Whoever may no longer send must not say again what is over by now.
            return self._store.writer.run(read, lease=lease)
        with self._store.reading() as connection:
            return read(connection)

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
        await self._update(outbox.c.id == entry, **values)

    async def _update(
        self, which: ColumnElement[bool], *, lease: Lease | None = None, **values: Any
    ) -> None:
        def change(connection: Connection) -> None:
            # What is settled stays so, whoever comes late with other news of it.
            here = update(outbox).where(outbox.c.state == "pending", which)
            connection.execute(here.values(**values))

        await asyncio.wrap_future(self._store.writer.submit(change, lease=lease))


def _over_untold(
    connection: Connection, channel: str, before: int, wants: Callable[[IncidentEvent], bool]
) -> dict[str, list[Record]]:
    """Entries of incidents that are over and whose beginning has waited since ``before``."""
    found: dict[str, list[Record]] = {}
    query = select(outbox).where(outbox.c.channel == channel, outbox.c.state == "pending")
    for entry in connection.execute(query.order_by(outbox.c.id)):
        if wants(IncidentEvent(**entry.event)):
            found.setdefault(entry.incident_id, []).append(entry)
    return {
        key: entries
        for key, entries in found.items()
        if entries[0].event["kind"] == "opened"
        and entries[0].created_us < before
        and entries[-1].event["kind"] == "closed"
    }


def _fold(
    connection: Connection,
    channel: str,
    before: int,
    wants: Callable[[IncidentEvent], bool],
    sum_up: bool,
) -> None:
    over = _over_untold(connection, channel, before, wants)
    gone = [entry.id for entries in over.values() for entry in entries]
    missed = [entries[-1].event["incident"] for entries in over.values()]
    # What was summed up before and not sent either belongs to the same sum.
    sums = select(outbox).where(
        outbox.c.channel == channel, outbox.c.state == "pending", outbox.c.incident_id == ""
    )
    for entry in connection.execute(sums).all():
        connection.execute(delete(outbox).where(outbox.c.id == entry.id))
        missed = [*entry.event["incident"]["incidents"], *missed]
    values = {"state": "missed", "error": "it was over before the receiver could be reached"}
    connection.execute(update(outbox).where(outbox.c.id.in_(gone)).values(**values))
    if sum_up and missed:
        sources = {one["source"] for one in missed}
        source = sources.pop() if len(sources) == 1 else "several"
        event = {"kind": "missed", "incident": {"source": source, "incidents": missed}}
        _queue(connection, [channel], event, "")
