"""Handing rows to the service until it has them, and continuing after a failure."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Awaitable, Callable, Sequence

from alora_ts.serve.rows.interface import Host, Progress, Receipt, Row

__all__ = ["persist", "store"]

_log = logging.getLogger(__name__)
_LONGEST_PAUSE = 30.0


async def store(
    host: Host,
    progress: Progress,
    rows: Sequence[Row],
    *,
    source: str | None = None,
    first_pause: float = 0.5,
) -> Receipt:
    """Hand rows over, again and again while the store fails; count what it refuses.

    They belong to the connector's source unless another is named.
    Whoever sent the rows may forget them when this returns, not before: giving up here would lose
    them, so a full disk or an absent database only delays them.
    """
    pause = first_pause
    while True:
        try:
            receipt = await host.accept(source or progress.source, rows)
        except Exception as error:
            _log.warning("%s: cannot store %d row(s): %s", progress.name, len(rows), error)
            progress.enter("failed", f"cannot store rows: {error}")
            await asyncio.sleep(pause)
            pause = min(2 * pause, _LONGEST_PAUSE)
            continue
        if receipt.rejected:
            progress.reject("refused by the service", len(receipt.rejected))
            progress.complain(receipt.rejected[0].reason)
        if pause != first_pause:
            progress.enter("connected")
        return receipt


async def persist(
    progress: Progress, work: Callable[[], Awaitable[None]], *, first_pause: float = 1.0
) -> None:
    """Do the work of a connector, again after each failure, until it ends or is cancelled."""
    pause = first_pause
    while True:
        began = asyncio.get_running_loop().time()
        try:
            await work()
        except Exception as error:
            _log.warning("%s: %s", progress.name, error)
            progress.enter("failed", str(error) or type(error).__name__)
        else:
            progress.enter("done")
            return
        if asyncio.get_running_loop().time() - began > _LONGEST_PAUSE:
            pause = first_pause
        await asyncio.sleep(pause)
        pause = min(2 * pause, _LONGEST_PAUSE)
