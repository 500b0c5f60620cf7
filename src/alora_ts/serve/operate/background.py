"""What runs beside the requests: connectors, notifications, and what is due from time to time."""

from __future__ import annotations

import asyncio
import functools
import logging
from collections.abc import Callable, Coroutine
from typing import TYPE_CHECKING, Any

from alora_ts.errors import AloraError
from alora_ts.serve.connect import build_connectors
from alora_ts.serve.incidents.arrivals import watch_arrivals
from alora_ts.serve.incidents.mutes import watch_mutes
from alora_ts.serve.incidents.patterns import watch_patterns
from alora_ts.serve.notify import Channel, Dispatcher, build_channels
from alora_ts.serve.notify.dispatcher import ChannelState
from alora_ts.serve.operate.retention import keep_clean
from alora_ts.serve.store.leases import Lease
from alora_ts.serve.store.outbox import StoredOutbox
from alora_ts.serve.workers.leased_host import LeasedHost

if TYPE_CHECKING:
    from alora_ts.serve.rows.interface import Connector
    from alora_ts.serve.service import Service

__all__ = ["Tasks"]

_log = logging.getLogger("alora_ts.serve")
_PATIENCE = 20.0
_Key = tuple[str, str]
# Senders reach these in the process they talk to.
_OF_THE_WEB_PART = frozenset({"stdin", "remote_write", "influx"})
_UNLEASED = ("here", "everywhere")


class Tasks:
    """Starts and stops the tasks that the settings ask for.

    Parameters
    ----------
    service : Service
    """

    def __init__(self, service: Service) -> None:
        self._service = service
        self._running: dict[_Key, tuple[Lease | None, asyncio.Task[None]]] = {}
        self._loop: asyncio.AbstractEventLoop | None = None
        self.connectors: list[Connector] = []
        self.channels: list[str] = []
        self._channels: list[Channel] = []

    def prepare(self) -> None:
        """Make connectors and channels; an error in their settings shows here."""
        settings = self._service.settings
        self.connectors = self._build()
        self._channels = build_channels(settings.notify)
        self.channels = [channel.name for channel in self._channels]

    def channel_states(self) -> dict[str, ChannelState]:
        """How each channel is, as far as this process sends by it."""
        return {channel.name: channel.state for channel in self._channels}

    def channel(self, name: str) -> Channel | None:
        """One channel of the settings."""
        return next((one for one in self._channels if one.name == name), None)

    def runs(self, connector: str) -> bool:
        """Whether a connector of this name runs in this process."""
        return any((kind, connector) in self._running for kind in ("connector", *_UNLEASED))

    def offered(self) -> dict[str, list[str]]:
        """What one process does for all that share the store, by kind of lease."""
        jobs = self._jobs()
        return {kind: [name for one, name in jobs if one == kind] for kind in ("connector", "task")}

    def start(self) -> None:
        """Run what was prepared and is this process's to do."""
        self._loop = asyncio.get_running_loop()
        for key, job in self._jobs().items():
            self._begin(key, job)

    def follow_from_outside(self) -> None:
        """Start and stop what has changed hands; returns when that is done. From any thread."""
        if self._loop is not None:
            asyncio.run_coroutine_threadsafe(self._follow(), self._loop).result(_PATIENCE)

    async def _follow(self) -> None:
        if self._loop is None:
            return
        jobs = self._jobs()
        over = [
            key
            for key, (lease, _) in self._running.items()
            if key in jobs and (not self._mine(*key) or self._lease(*key) != lease)
        ]
        ended = [self._running.pop(key)[1] for key in over]
        for task in ended:
            task.cancel()
        await asyncio.gather(*ended, return_exceptions=True)
        for key, job in jobs.items():
            if key not in self._running:
                self._begin(key, job)

    def _jobs(self) -> dict[_Key, Callable[[Lease | None], Coroutine[Any, Any, None]]]:
        service = self._service
        found: dict[_Key, Callable[[Lease | None], Coroutine[Any, Any, None]]] = {
            (self._kind(one), one.name): functools.partial(self._connect, one.name)
            for one in self.connectors
        }
        if self._channels:
            found["task", "notifications"] = self._send
        found["task", "clean-up"] = lambda _: keep_clean(service)
        found["task", "silence"] = lambda _: watch_arrivals(service)
        found["task", "patterns"] = lambda _: watch_patterns(service)
        found["task", "mutes"] = lambda _: watch_mutes(service)
        if service.settings.recalibrate_every > 0:
            found["task", "recalibration"] = lambda _: self._recalibrate()
        return found

    def _kind(self, connector: Connector) -> str:
        """Who runs a connector: whoever has its lease, the web part, or every worker."""
        settings = self._service.settings.connect
        if connector.kind in _OF_THE_WEB_PART or connector in self._service.feeds:
            return "here"
        # A consumer group shares its partitions out by itself. A member does not hear the signals
        # of others, though, so only one alone can say which are silent.
        shares = any(one.name == connector.name and not one.silent_after for one in settings.kafka)
        return "everywhere" if shares else "connector"

    def _mine(self, kind: str, name: str) -> bool:
        service = self._service
        if kind in _UNLEASED:
            return service.web if kind == "here" else service.scores
        return service.share.holds(kind, name)

    def _lease(self, kind: str, name: str) -> Lease | None:
        return None if kind in _UNLEASED else self._service.share.lease(kind, name)

    def _build(self) -> list[Connector]:
        return [*build_connectors(self._service.settings.connect), *self._service.feeds]

    async def _connect(self, name: str, lease: Lease | None) -> None:
        place = [one.name for one in self.connectors].index(name)
        if lease is not None:
            # It may have run here before; what it remembers of that is old.
            self.connectors[place] = self._build()[place]
        await self.connectors[place].run(LeasedHost(self._service, lease))

    async def _send(self, lease: Lease | None) -> None:
        outbox = StoredOutbox(self._service.store, lambda: lease)
        await Dispatcher(outbox, self._channels).run()

    async def _recalibrate(self) -> None:
        """Recalibrate every source now and then; one that cannot be yet is left alone."""
        from alora_ts.serve.models.recalibration import recalibrate

        while True:
            await asyncio.sleep(self._service.settings.recalibrate_every * 3600)
            for source in self._service.sources.all():
                if source.collecting:
                    continue
                try:
                    done = await asyncio.to_thread(recalibrate, self._service, source)
                    _log.info("recalibrated %s: %s", source.name, done["note"])
                except AloraError as error:
                    _log.info("did not recalibrate %s: %s", source.name, error)

    async def stop(self) -> None:
        """End all tasks and wait for them."""
        self._loop = None
        tasks = [task for _, task in self._running.values()]
        self._running = {}
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)

    def _begin(self, key: _Key, job: Callable[[Lease | None], Coroutine[Any, Any, None]]) -> None:
        if not self._mine(*key):
            return
        lease = self._lease(*key)
        task = asyncio.create_task(job(lease), name=" ".join(key))
        task.add_done_callback(_log_failure)
        self._running[key] = (lease, task)


def _log_failure(task: asyncio.Task[None]) -> None:
    if not task.cancelled() and task.exception() is not None:
        _log.error("%s ended: %s", task.get_name(), task.exception())
