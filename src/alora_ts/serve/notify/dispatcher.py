"""Draining the outbox: attempts, growing pauses, and giving up visibly."""

from __future__ import annotations

import asyncio
import logging
import random
import time
from collections.abc import Mapping, Sequence

from alora_ts.serve.notify.interface import IncidentEvent, Notifier, Outbox, OutboxEntry
from alora_ts.serve.notify.settings import ChannelSection
from alora_ts.serve.notify.webhook import RefusedError

__all__ = ["Channel", "Dispatcher", "pause_before"]

_log = logging.getLogger(__name__)
_FIRST_PAUSE = 2.0
_LONGEST_PAUSE = 1800.0
_LOOK = 0.5  # seconds between looks at an outbox in which nothing is due
_BATCH = 50


def pause_before(attempt: int, *, chance: float) -> float:
    """Return the seconds before an attempt: doubled each time, and between half and all of that.

    The jitter keeps many services that lost one receiver from returning all at once.

    Parameters
    ----------
    attempt : int
        2 for the first repetition.
    chance : float
        From 0 to 1.

    Examples
    --------
    >>> [pause_before(attempt, chance=1.0) for attempt in (2, 3, 4)]
    [2.0, 4.0, 8.0]
    >>> pause_before(40, chance=0.0)
    900.0
    """
    # The exponent is bounded too: attempts may be many, floats end.
    whole = min(_FIRST_PAUSE * 2.0 ** min(attempt - 2, 30), _LONGEST_PAUSE)
    return whole * (0.5 + 0.5 * chance)


class Channel:
    """A notifier, the events that it wants, and how often it retries."""

    def __init__(self, notifier: Notifier, settings: ChannelSection) -> None:
        self.notifier = notifier
        self.name = notifier.name
        self.attempts = settings.attempts
        self._events = frozenset(settings.events)
        self._sources = frozenset(settings.sources)

    def wants(self, event: IncidentEvent) -> bool:
        """Say whether the event is to be sent here."""
        source = event.incident.get("source")
        return event.kind in self._events and (not self._sources or source in self._sources)


class Dispatcher:
    """Sends what the outbox holds; what fails is retried later, and finally given up.

    Every channel has a queue of its own: its entries are attempted in order, and a receiver that
    hangs keeps news from nobody else. What failed is overtaken by what succeeds.

    Parameters
    ----------
    outbox : Outbox
    channels : sequence of Channel
    seed : int, optional
        For the jitter in the pauses.
    """

    def __init__(
        self, outbox: Outbox, channels: Sequence[Channel], *, seed: int | None = None
    ) -> None:
        self._outbox = outbox
        self._channels: Mapping[str, Channel] = {channel.name: channel for channel in channels}
        self._chance = random.Random(seed)

    async def run(self) -> None:
        """Send until cancelled."""
        await asyncio.gather(*(self._run(name) for name in self.queues))

    @property
    def queues(self) -> list[str | None]:
        """Name the queues; None is that of channels the settings no longer have."""
        return [*self._channels, None]

    async def _run(self, queue: str | None) -> None:
        while True:
            try:
                busy = await self.drain(queue, time.time())
            except Exception:
                # The store fails for a while; what it holds is not lost.
                _log.exception("cannot read the outbox")
                busy = False
            if not busy:
                await asyncio.sleep(_LOOK)

    async def drain(self, queue: str | None, now: float) -> bool:
        """Attempt what is due in a queue at ``now``; say whether there was anything."""
        entries = await self._outbox.due(now, _BATCH, channel=queue, known=self._channels.keys())
        for entry in entries:
            channel = self._channels.get(entry.channel)
            if channel is None:
                await self._outbox.dead(entry.id, error="the settings have no such channel now")
            elif not channel.wants(entry.event):
                await self._outbox.sent(entry.id)
            else:
                await self._send(channel, entry, now)
        return bool(entries)

    async def _send(self, channel: Channel, entry: OutboxEntry, now: float) -> None:
        attempts = entry.attempts + 1
        try:
            await channel.notifier.notify(entry.event)
        except Exception as error:
            why = str(error) or type(error).__name__
            if isinstance(error, RefusedError) or attempts >= channel.attempts:
                _log.error("%s: gave up event %s: %s", channel.name, entry.event.id, why)
                await self._outbox.dead(entry.id, error=why)
            else:
                _log.warning("%s: event %s: %s", channel.name, entry.event.id, why)
                pause = pause_before(attempts + 1, chance=self._chance.random())
                await self._outbox.retry(entry.id, at=now + pause, attempts=attempts, error=why)
        else:
            await self._outbox.sent(entry.id)
