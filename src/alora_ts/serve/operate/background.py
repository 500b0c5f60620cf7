"""What runs beside the requests: connectors, notifications, and what is due from time to time."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Coroutine
from typing import TYPE_CHECKING, Any

from alora_ts.errors import AloraError
from alora_ts.serve.connect import build_connectors
from alora_ts.serve.incidents.arrivals import watch_arrivals
from alora_ts.serve.incidents.mutes import watch_mutes
from alora_ts.serve.incidents.patterns import watch_patterns
from alora_ts.serve.notify import Channel, Dispatcher, build_channels
from alora_ts.serve.notify.dispatcher import ChannelState
from alora_ts.serve.operate.retention import keep_clean
from alora_ts.serve.store.outbox import StoredOutbox

if TYPE_CHECKING:
    from alora_ts.serve.rows.interface import Connector
    from alora_ts.serve.service import Service

__all__ = ["Tasks"]

_log = logging.getLogger("alora_ts.serve")


class Tasks:
    """Starts and stops the tasks that the settings ask for.

    Parameters
    ----------
    service : Service
    """

    def __init__(self, service: Service) -> None:
        self._service = service
        self._running: list[asyncio.Task[None]] = []
        self.connectors: list[Connector] = []
        self.channels: list[str] = []
        self._channels: list[Channel] = []

    def prepare(self) -> None:
        """Make connectors and channels; an error in their settings shows here."""
        settings = self._service.settings
        self.connectors = [*build_connectors(settings.connect), *self._service.feeds]
        self._channels = build_channels(settings.notify)
        self.channels = [channel.name for channel in self._channels]

    def channel_states(self) -> dict[str, ChannelState]:
        """How each channel is."""
        return {channel.name: channel.state for channel in self._channels}

    def channel(self, name: str) -> Channel | None:
        """One channel of the settings."""
        return next((one for one in self._channels if one.name == name), None)

    def start(self) -> None:
        """Run what was prepared."""
        outbox = StoredOutbox(self._service.store)
        for connector in self.connectors:
            self._begin(f"connector {connector.name}", connector.run(self._service))
        if self._channels:
            self._begin("notifications", Dispatcher(outbox, self._channels).run())
        self._begin("clean-up", keep_clean(self._service))
        self._begin("silence", watch_arrivals(self._service))
        self._begin("patterns", watch_patterns(self._service))
        self._begin("mutes", watch_mutes(self._service))
        if self._service.settings.recalibrate_every > 0:
            self._begin("recalibration", self._recalibrate())

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
        for task in self._running:
            task.cancel()
        await asyncio.gather(*self._running, return_exceptions=True)
        self._running = []

    def _begin(self, name: str, work: Coroutine[Any, Any, None]) -> None:
        task = asyncio.create_task(work, name=name)
        task.add_done_callback(_log_failure)
        self._running.append(task)


def _log_failure(task: asyncio.Task[None]) -> None:
    if not task.cancelled() and task.exception() is not None:
        _log.error("%s ended: %s", task.get_name(), task.exception())
