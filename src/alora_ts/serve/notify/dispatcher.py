"""Draining the outbox: attempts, growing pauses, and giving up visibly."""

from __future__ import annotations

import asyncio
import logging
import random
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from alora_ts.serve.notify.interface import IncidentEvent, Keeper, Notifier, Outbox, OutboxEntry
from alora_ts.serve.notify.settings import ChannelSection
from alora_ts.serve.notify.webhook import RefusedError

__all__ = ["Channel", "ChannelState", "Dispatcher", "pause_before"]

_log = logging.getLogger(__name__)
_FIRST_PAUSE = 2.0
_LONGEST_PAUSE = 300.0
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
    150.0
    """
    # The exponent is bounded too: attempts may be many, floats end.
    whole = min(_FIRST_PAUSE * 2.0 ** min(attempt - 2, 30), _LONGEST_PAUSE)
    return whole * (0.5 + 0.5 * chance)


@dataclass
class ChannelState:
    """How a channel is, as far as this run of the service knows.

    Attributes
    ----------
    failing_since : float or None
        Seconds since 1970; None while it works.
    error : str or None
        What the last attempt met.
    """

    failing_since: float | None = None
    error: str | None = None

    def failed(self, why: str, now: float) -> None:
        """Take note of a failure."""
        self.error = why
        if self.failing_since is None:
            self.failing_since = now

    def worked(self) -> bool:
        """Take note of a success; say whether it is the first after failures."""
        before, self.failing_since, self.error = self.failing_since, None, None
        return before is not None


class Channel:
    """A notifier, the events that it wants, how often it retries, and how it is."""

    def __init__(self, notifier: Notifier, settings: ChannelSection) -> None:
        self.notifier = notifier
        self.name = notifier.name
        self.attempts = settings.attempts
        self.state = ChannelState()
        self._events = frozenset(settings.events)
        self._sources = frozenset(settings.sources)

    def wants(self, event: IncidentEvent) -> bool:
        """Say whether the event is to be sent here."""
        if event.kind == "missed":
            return "opened" in self._events
        source = event.incident.get("source")
        return event.kind in self._events and (not self._sources or source in self._sources)


class Dispatcher:
    """Sends what the outbox holds; what fails is retried later, and finally given up.

    Every channel has a queue of its own: its entries are attempted in order, and a receiver that
    hangs keeps news from nobody else. What failed is overtaken by what succeeds, but nothing of an
    incident by what happened to it later. What began and ended while its receiver could not be
    reached is summed up in one message, and whatever lasts is told as soon as the receiver is back.

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
        keepers = [one for one in self._channels.values() if isinstance(one.notifier, Keeper)]
        await asyncio.gather(
            *(self._run(name) for name in self.queues), *(self._keep(one) for one in keepers)
        )

    async def _keep(self, channel: Channel) -> None:
        """Say again what lasts, until cancelled."""
        keeper = channel.notifier
        assert isinstance(keeper, Keeper)

        async def lasting() -> list[IncidentEvent]:
            return [one for one in await self._outbox.lasting(channel.name) if channel.wants(one)]

        while True:
            try:
                await keeper.keep(lasting)
            except Exception as error:
                why = str(error) or type(error).__name__
                _log.warning("%s: %s", channel.name, why)
                channel.state.failed(why, time.time())
            else:
                await self._worked(channel, time.time())
            await asyncio.sleep(keeper.resend)

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
        entries = await self._due(queue, now)
        if entries and queue is not None:
            own = self._channels[queue]
            await self._outbox.fold(
                now,
                channel=queue,
                wants=own.wants,
                sum_up=not isinstance(own.notifier, Keeper),
            )
            entries = await self._due(queue, now)
        waiting = set[object]()
        for entry in entries:
            incident = entry.event.incident.get("id")
            if incident in waiting or not await self._outbox.take(entry.id, now):
                continue
            channel = self._channels.get(entry.channel)
            if channel is None:
                await self._outbox.dead(entry.id, error="the settings have no such channel now")
            elif not channel.wants(entry.event):
                await self._outbox.sent(entry.id)
            elif not await self._send(channel, entry, now) and incident is not None:
                waiting.add(incident)
        return bool(entries)

    async def _due(self, queue: str | None, now: float) -> Sequence[OutboxEntry]:
        return await self._outbox.due(now, _BATCH, channel=queue, known=self._channels.keys())

    async def _worked(self, channel: Channel, now: float) -> None:
        if channel.state.worked():
            _log.info("%s: works again", channel.name)
            await self._outbox.hurry(now, channel=channel.name)

    async def _send(self, channel: Channel, entry: OutboxEntry, now: float) -> bool:
        """Make an attempt; say whether the entry is done with."""
        attempts = entry.attempts + 1
        try:
            await channel.notifier.notify(entry.event)
        except Exception as error:
            why = str(error) or type(error).__name__
            channel.state.failed(why, now)
            if isinstance(error, RefusedError) or attempts >= channel.attempts:
                _log.error("%s: gave up event %s: %s", channel.name, entry.event.id, why)
                await self._outbox.dead(entry.id, error=why)
                return True
            _log.warning("%s: event %s: %s", channel.name, entry.event.id, why)
            pause = pause_before(attempts + 1, chance=self._chance.random())
            await self._outbox.retry(entry.id, at=now + pause, attempts=attempts, error=why)
            return False
        await self._outbox.sent(entry.id)
        await self._worked(channel, now)
        return True
