"""A service that keeps rows in memory, for connectors to talk to."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import AsyncIterator, Callable, Iterable, Mapping, Sequence
from pathlib import Path

from alora_ts.errors import AloraError
from alora_ts.serve.rows.interface import Connector, Receipt, Rejection, Row


class MemoryHost:
    """Stores the first row of each time; can be told to fail."""

    def __init__(self, folder: Path, *variables: str) -> None:
        self.folder = folder
        self.names = variables
        self.rows: dict[int, Mapping[str, float | None]] = {}
        self.duplicates = 0
        self.silences: list[dict[str, int | None]] = []
        self.failures = 0
        self.refused = set[int]()

    def keeper(self, connector: str, source: str) -> None:
        pass

    def variables(self, source: str) -> Sequence[str]:
        if source != "plant":
            raise AloraError(f"unknown source {source!r}")
        return self.names

    def collecting(self, _: str) -> bool:
        return False

    async def learn(self, source: str, names: Iterable[str]) -> None:
        pass

    async def accept(self, source: str, rows: Sequence[Row]) -> Receipt:
        assert source == "plant"
        await asyncio.sleep(0)
        if self.failures:
            self.failures -= 1
            raise OSError("no space left on device")
        accepted, rejected = 0, list[Rejection]()
        for index, row in enumerate(rows):
            if not set(row.values) <= set(self.names):
                rejected.append(Rejection(index, "unknown variable"))
            elif row.time in self.refused:
                rejected.append(Rejection(index, "not wanted"))
            elif row.time in self.rows:
                self.duplicates += 1
            else:
                self.rows[row.time] = dict(row.values)
                accepted += 1
        duplicates = len(rows) - accepted - len(rejected)
        return Receipt(accepted, duplicates, rejected=tuple(rejected))

    async def last_row(self, source: str) -> Row | None:
        assert source == "plant"
        if not self.rows:
            return None
        newest = max(self.rows)
        return Row(newest, self.rows[newest])

    async def silent(self, source: str, connector: str, signals: Mapping[str, int | None]) -> None:
        assert (source, bool(connector)) == ("plant", True)
        self.silences.append(dict(signals))


@contextlib.asynccontextmanager
async def running(connector: Connector, host: MemoryHost) -> AsyncIterator[None]:
    """Run a connector beside the block."""
    task = asyncio.create_task(connector.run(host))
    try:
        yield
    finally:
        task.cancel()
        with contextlib.suppress(asyncio.CancelledError):
            await task


async def until(condition: Callable[[], object], *, seconds: float = 240.0) -> None:
    """Wait for something to become true."""
    async with asyncio.timeout(seconds):
        while not condition():
            await asyncio.sleep(0.02)
