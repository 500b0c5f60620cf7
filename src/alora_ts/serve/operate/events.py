"""News from threads and tasks to everyone who listens."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

__all__ = ["Bus", "News", "Subscription"]

_KEPT = 1000


@dataclass(frozen=True)
class News:
    """One thing that happened.

    Attributes
    ----------
    kind : str
        reading, incident, fit or health.
    source : str or None
    data : dict
        As JSON.
    """

    kind: str
    source: str | None
    data: dict[str, Any]


class Subscription:
    """What one listener has not received yet: every incident, but of readings only the last."""

    def __init__(self) -> None:
        self._latest: dict[str | None, News] = {}
        self._others: list[News] = []
        self._arrived = asyncio.Event()
        self.missed = 0

    def put(self, news: News) -> None:
        """Add news; a listener that does not keep up loses the oldest."""
        if news.kind == "reading":
            self._latest[news.source] = news
        else:
            self._others.append(news)
            if len(self._others) > _KEPT:
                del self._others[0]
                self.missed += 1
        self._arrived.set()

    def wake(self) -> None:
        """End the waiting."""
        self._arrived.set()

    async def take(self, timeout: float) -> list[News]:
        """All that is new; nothing when ``timeout`` seconds pass."""
        with contextlib.suppress(TimeoutError):
            await asyncio.wait_for(self._arrived.wait(), timeout)
        self._arrived.clear()
        news = [*self._others, *self._latest.values()]
        self._others, self._latest = [], {}
        return news


class Bus:
    """Fans news out within the process, and through ``relay`` to others.

    Parameters
    ----------
    relay : callable, optional
        Takes news to other processes that share the store.
    """

    def __init__(self, relay: Callable[[News], None] | None = None) -> None:
        self._relay = relay
        self._loop: asyncio.AbstractEventLoop | None = None
        self._listeners: set[Subscription] = set()

    def attach(self, loop: asyncio.AbstractEventLoop | None) -> None:
        """Deliver on this loop; None stops delivering."""
        self._loop = loop

    @contextlib.contextmanager
    def subscribe(self) -> Iterator[Subscription]:
        """Listen while the block lasts."""
        subscription = Subscription()
        self._listeners.add(subscription)
        try:
            yield subscription
        finally:
            self._listeners.discard(subscription)

    @property
    def listeners(self) -> int:
        """How many listen."""
        return len(self._listeners)

    def wake(self) -> None:
        """Wake every listener, news or not."""
        for listener in self._listeners:
            listener.wake()

    def publish(self, news: News) -> None:
        """Publish to everyone, from any thread."""
        if self._relay is not None:
            self._relay(news)
        self.deliver(news)

    def deliver(self, news: News) -> None:
        """Publish to those who listen here, from any thread."""
        if self._loop is None or (news.kind == "reading" and not self._listeners):
            return
        with contextlib.suppress(RuntimeError):  # the loop closes while a scorer still works
            self._loop.call_soon_threadsafe(self._deliver, news)

    def _deliver(self, news: News) -> None:
        for listener in self._listeners:
            listener.put(news)
