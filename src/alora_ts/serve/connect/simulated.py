"""Rows of the demo's simulated plant, one a second, with the clock."""

from __future__ import annotations

import asyncio
import time

import numpy as np
from numpy.typing import NDArray

from alora_ts.datasets.synthetic_live import LivePlant
from alora_ts.serve.connect.storing import persist, store
from alora_ts.serve.rows.interface import ConnectorStatus, Host, Progress, Row

__all__ = ["SimulatedPlant"]

_AT_ONCE = 1000


class SimulatedPlant:
    """Lets the plant run from some minutes ago until now, and then on with the clock.

    No row is ahead of the clock. After a pause (a laptop that slept) the rows of that time follow.

    Parameters
    ----------
    plant : LivePlant
    source : str
    history : int
        Seconds before the start that the rows begin.
    """

    kind = "simulated"
    name = "simulated-plant"

    def __init__(self, plant: LivePlant, *, source: str, history: int) -> None:
        self._plant = plant
        self._source = source
        self._history = history
        self._progress = Progress(self.name, self.kind, source)
        self._last: int | None = None

    def status(self) -> ConnectorStatus:
        """Say how many rows came so far."""
        return self._progress.status()

    async def run(self, host: Host) -> None:
        """Go on until cancelled."""
        await persist(self._progress, lambda: self._stream(host))

    async def _stream(self, host: Host) -> None:
        if self._last is None:
            known = await host.last_row(self._source)
            self._last = int(time.time()) - self._history
            if known is not None:
                # The demo was here before: its time goes on, it is not written over.
                self._last = max(self._last, known.time // 1_000_000)
        while True:
            due = min(int(time.time()) - self._last, _AT_ONCE)
            if due > 0:
                rows = _as_rows(
                    self._plant.advance(due), self._plant.variables, first=self._last + 1
                )
                self._last += due
                self._progress.received(due)
                await store(host, self._progress, rows)
            self._progress.enter("connected")
            await asyncio.sleep(max(0.0, self._last + 1 - time.time()))


def _as_rows(values: NDArray[np.float64], variables: tuple[str, ...], *, first: int) -> list[Row]:
    return [
        Row((first + at) * 1_000_000, dict(zip(variables, row, strict=True)))
        for at, row in enumerate(values.round(4).tolist())
    ]
