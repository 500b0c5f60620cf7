"""Settings that change while a process runs."""

from __future__ import annotations

import asyncio
import logging
import signal
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path

from alora_ts.errors import AloraError
from alora_ts.serve.service import Service
from alora_ts.serve.settings import Settings

__all__ = ["stamp_of", "take_up", "watch_settings"]

_LOOK = 2.0
_log = logging.getLogger("alora_ts.serve")


async def watch_settings(
    service: Service,
    read: Callable[[], Settings],
    file: Path | None,
    *,
    looked: Callable[[bool], None] = lambda _: None,
    taken: Callable[[Settings], None] = lambda _: None,
) -> None:
    """Take up new settings at SIGHUP and when their file has changed, until cancelled.

    Parameters
    ----------
    service : Service
    read : callable
        Reads them.
    file : Path, optional
        The file to watch.
    looked : callable
        Called at every look, with whether it was asked for by SIGHUP.
    taken : callable
        Called with settings that the service has taken up.
    """
    asked = asyncio.Event()
    asyncio.get_running_loop().add_signal_handler(signal.SIGHUP, asked.set)
    stamp = stamp_of(file)
    while True:
        with suppress(TimeoutError):
            await asyncio.wait_for(asked.wait(), _LOOK)
        looked(asked.is_set())
        if not asked.is_set() and stamp_of(file) == stamp:
            continue
        asked.clear()
        stamp = stamp_of(file)
        if (settings := await take_up(service, read)) is not None:
            taken(settings)


async def take_up(service: Service, read: Callable[[], Settings]) -> Settings | None:
    """Apply new settings and return them; None, and the old ones, where these are invalid."""
    try:
        settings = read()
        await service.reload(settings)
    except AloraError as error:
        service.settings_error = str(error)
        _log.error("kept the previous settings: %s", error)
        return None
    _log.info("took up the changed settings")
    return settings


def stamp_of(file: Path | None) -> tuple[int, int] | None:
    """What differs when a file has changed; None where there is none."""
    try:
        found = None if file is None else file.stat()
    except OSError:
        return None
    return None if found is None else (found.st_mtime_ns, found.st_size)
