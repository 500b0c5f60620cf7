"""Sources to which no row comes any more, whoever sent them."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING

from alora_ts.serve.times import now_micros

if TYPE_CHECKING:
    from alora_ts.serve.service import Service

__all__ = ["check_arrivals", "watch_arrivals"]

_LOOK = 2.0


def check_arrivals(service: Service, *, now: int) -> None:
    """Open and close the silence of every source as a whole.

    Connectors that watch their own signals say more than this could, so the sources they feed
    are left to them. Rows that came before the start of the service say nothing about a sender
    that could not reach it: the waiting begins anew, unless the silence was known already.
    """
    after = service.settings.silent_after * 1e6
    watched = service.settings.connect.watched()
    silences, lease = service.silences, service.share.lease("task", "silence")
    for source in service.sources.all():
        known = bool(silences.of(source.name, None))
        # By the clock of this process alone; rows came by those of others.
        since = source.heard if known else max(source.heard, service.started)
        stopped = (
            bool(after)
            and source.newest is not None
            and source.name not in watched
            and now - since > after
        )
        if stopped != known:
            gone = dict.fromkeys(source.wanted, source.newest) if stopped else {}
            silences.hear(source, None, gone, lease)
    present = {connector.name for connector in service.tasks.connectors}
    for name, connector in silences.known():
        if connector is not None and connector not in present:
            silences.hear(service.sources.get(name), connector, {}, lease)


async def watch_arrivals(service: Service) -> None:
    """Look every few seconds until cancelled."""
    while True:
        await asyncio.to_thread(check_arrivals, service, now=now_micros())
        await asyncio.sleep(_LOOK)
