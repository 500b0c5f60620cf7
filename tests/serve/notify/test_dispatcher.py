"""The outbox is drained: sent once, tried again with growing pauses, given up visibly."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import Collection, Sequence
from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from alora_ts.serve.notify import Channel, Dispatcher, IncidentEvent, OutboxEntry
from alora_ts.serve.notify.dispatcher import pause_before
from alora_ts.serve.notify.settings import ChannelSection
from alora_ts.serve.notify.webhook import DeliveryError, RefusedError
from tests.serve.connect.host import until


class MemoryOutbox:
    def __init__(self, *entries: OutboxEntry) -> None:
        self.waiting = {entry.id: (0.0, entry) for entry in entries}
        self.done: list[int] = []
        self.given_up: dict[int, str] = {}
        self.broken = False
        self.asked = 0

    async def due(
        self, now: float, limit: int, *, channel: str | None, known: Collection[str]
    ) -> Sequence[OutboxEntry]:
        self.asked += 1
        if self.broken:
            raise OSError("the database is gone")
        return [
            entry
            for at, entry in self.waiting.values()
            if at <= now
            and (entry.channel == channel if channel is not None else entry.channel not in known)
        ][:limit]

    async def fold(self, now: float, **_: object) -> None:
        del now

    async def take(self, entry: int, now: float) -> bool:
        return self.waiting[entry][0] <= now

    async def hurry(self, now: float, *, channel: str) -> None:
        for key, (at, waiting) in self.waiting.items():
            if waiting.channel == channel:
                self.waiting[key] = (min(at, now), waiting)

    async def lasting(self, channel: str) -> Sequence[IncidentEvent]:
        return [one.event for _, one in self.waiting.values() if one.channel == channel]

    async def sent(self, entry: int) -> None:
        self.done.append(self.waiting.pop(entry)[1].id)

    async def retry(self, entry: int, *, at: float, attempts: int, error: str) -> None:
        assert error
        self.waiting[entry] = (at, replace(self.waiting[entry][1], attempts=attempts))

    async def dead(self, entry: int, *, error: str) -> None:
        self.given_up[self.waiting.pop(entry)[1].id] = error


class Receiver:
    def __init__(self, name: str, *failures: Exception) -> None:
        self.name = name
        self.failures = list(failures)
        self.got: list[str] = []

    async def notify(self, event: IncidentEvent) -> None:
        await asyncio.sleep(0)
        if self.failures:
            raise self.failures.pop(0)
        self.got.append(event.id)


def entry(number: int, channel: str = "pager", source: str = "plant") -> OutboxEntry:
    event = IncidentEvent(f"e{number}", "opened", {"source": source})
    return OutboxEntry(number, channel, 0, event)


async def drain(dispatcher: Dispatcher, now: float) -> bool:
    """Attempt what is due in every queue."""
    return any(await asyncio.gather(*(dispatcher.drain(one, now) for one in dispatcher.queues)))


def channel(receiver: Receiver, **settings: object) -> Channel:
    section = ChannelSection.model_validate({"name": receiver.name, **settings})
    return Channel(receiver, section)


def test_failures_are_tried_again_later_and_order_is_kept() -> None:
    receiver = Receiver("pager", DeliveryError("busy"), TimeoutError())
    outbox = MemoryOutbox(entry(1))
    dispatcher = Dispatcher(outbox, [channel(receiver)], seed=0)

    async def story() -> list[float]:
        now, pauses = 100.0, list[float]()
        while outbox.waiting:
            assert await drain(dispatcher, now)
            if outbox.waiting:
                at = outbox.waiting[1][0]
                assert not await drain(dispatcher, at - 0.01), "not before its time"
                pauses.append(at - now)
                now = at
        return pauses

    first, second = asyncio.run(story())
    assert receiver.got == ["e1"]
    assert 1 <= first <= 2 <= second <= 4


def test_refusals_and_too_many_attempts_become_dead_letters() -> None:
    stubborn = Receiver("pager", *[DeliveryError("busy")] * 3)
    refusing = Receiver("bus", RefusedError("the receiver answered 410"))
    outbox = MemoryOutbox(entry(1), entry(2, "bus"), entry(3, "gone"))
    dispatcher = Dispatcher(outbox, [channel(stubborn, attempts=3), channel(refusing)])

    async def story() -> None:
        for now in (0.0, 1e4, 2e4, 3e4):
            await drain(dispatcher, now)

    asyncio.run(story())
    assert not outbox.waiting
    assert outbox.given_up == {
        1: "busy",
        2: "the receiver answered 410",
        3: "the settings have no such channel now",
    }


def test_a_slow_receiver_does_not_hold_up_the_others() -> None:
    class Slow(Receiver):
        async def notify(self, event: IncidentEvent) -> None:
            await asyncio.wait_for(other.arrived.wait(), 240)
            await super().notify(event)

    class Quick(Receiver):
        def __init__(self) -> None:
            super().__init__("quick")
            self.arrived = asyncio.Event()

        async def notify(self, event: IncidentEvent) -> None:
            await super().notify(event)
            self.arrived.set()

    other, slow = Quick(), Slow("slow")
    outbox = MemoryOutbox(entry(1, "slow"), entry(2, "quick"))
    asyncio.run(drain(Dispatcher(outbox, [channel(slow), channel(other)]), 0.0))
    assert sorted(outbox.done) == [1, 2]


def test_a_hanging_receiver_delays_nobody() -> None:
    """Also when its own queue is long: 50 hanging entries used to be awaited with the others."""

    class Hanging(Receiver):
        async def notify(self, event: IncidentEvent) -> None:
            del event
            await asyncio.Event().wait()

    healthy = Receiver("pager")
    outbox = MemoryOutbox(*[entry(number, "hanging") for number in range(200)], entry(900))
    dispatcher = Dispatcher(outbox, [channel(Hanging("hanging")), channel(healthy)])

    async def story() -> None:
        task = asyncio.create_task(dispatcher.run())
        await until(lambda: healthy.got)
        outbox.waiting[901] = (0.0, entry(901))
        await until(lambda: len(healthy.got) == 2)
        task.cancel()
        with contextlib.suppress(asyncio.CancelledError):
            await task

    asyncio.run(story())
    assert healthy.got == ["e900", "e901"]


def test_events_nobody_wants_any_more_are_not_sent() -> None:
    receiver = Receiver("pager")
    outbox = MemoryOutbox(entry(1, source="boiler"), entry(2))
    asyncio.run(drain(Dispatcher(outbox, [channel(receiver, sources=["plant"])]), 0.0))
    assert (receiver.got, outbox.done) == (["e2"], [1, 2])


def test_a_store_that_fails_for_a_while_is_asked_again() -> None:
    receiver = Receiver("pager")
    outbox = MemoryOutbox(entry(1))
    outbox.broken = True
    dispatcher = Dispatcher(outbox, [channel(receiver)])

    async def story() -> None:
        task = asyncio.create_task(dispatcher.run())
        await until(lambda: outbox.asked)
        assert not receiver.got
        outbox.broken = False
        await until(lambda: receiver.got)
        task.cancel()
        with contextlib.suppress(asyncio.CancelledError):
            await task

    asyncio.run(story())
    assert receiver.got == ["e1"]


@given(attempt=st.integers(2, 10_000), chance=st.floats(0, 1))
def test_pauses_grow_and_stay_within_bounds(attempt: int, chance: float) -> None:
    pause = pause_before(attempt, chance=chance)
    whole = 2.0
    for _ in range(min(attempt - 2, 20)):
        whole *= 2
    assert pause == pytest.approx(min(whole, 300) * (1 + chance) / 2)
