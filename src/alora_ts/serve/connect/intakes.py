"""The intakes of one connector: one for each source that it feeds."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Collection, Sequence
from pathlib import Path

from alora_ts.serve.assemble import Grid, Journal, Keeper, Sample
from alora_ts.serve.connect.intake import Intake, Taken
from alora_ts.serve.problems import BacklogError
from alora_ts.serve.rows.interface import Host, Progress, Row

__all__ = ["Intakes", "known_signals"]

_SLOW = 1.0  # seconds that a look at unfinished rows waits for a store that is full


def known_signals(host: Host, source: str) -> Collection[str] | None:
    """The signals that a source watches; None where it collects and takes all that come."""
    return None if host.collecting(source) else host.variables(source)


class Intakes:
    """Opens an intake when its source is first heard of, and again when its model changes.

    Sources do not wait for each other: one whose rows cannot be stored holds up itself.

    Parameters
    ----------
    host : Host
    progress : Progress
    grid : Grid, optional
        How rows are made of samples; without it only whole rows are taken.
    silent_after : float
        Seconds without a value after which a signal is silent; 0: never.
    keeper : callable giving Keeper, optional
        Who keeps the samples of a source until their row is stored; by default the host,
        or a journal in its folder.
    """

    def __init__(
        self,
        host: Host,
        progress: Progress,
        *,
        grid: Grid | None,
        silent_after: float,
        keeper: Callable[[str], Keeper] | None = None,
    ) -> None:
        self._host = host
        self._progress = progress
        self._grid = grid
        self._silent_after = silent_after
        self._keeper = keeper or self._stays
        self._open: dict[str, Intake] = {}
        self._locks: dict[str, asyncio.Lock] = {}
        self._ticks: dict[str, asyncio.Task[None]] = {}

    async def open(self, source: str, *, now: int) -> None:
        """Begin with a source before anything of it arrives."""
        async with self._lock(source):
            await self._current(source, now)

    async def take(
        self,
        source: str,
        rows: Sequence[Row],
        samples: Sequence[Sample],
        *,
        now: int,
        patience: float | None = None,
    ) -> Taken:
        """Make rows and samples durable; whoever sent them may forget them afterwards.

        Raises
        ------
        BacklogError
            When earlier rows of the source could not be stored for ``patience`` seconds; nothing
            was taken then.
        """
        lock = self._lock(source)
        try:
            async with asyncio.timeout(patience):
                await lock.acquire()
        except TimeoutError:
            raise BacklogError(
                f"earlier rows of {source!r} wait to be stored; send this again later"
            ) from None
        try:
            if self._host.collecting(source):
                await self._host.learn(source, {sample.signal for sample in samples})
            intake = await self._current(source, now)
            return await intake.take(rows, samples, now=now)
        finally:
            lock.release()

    async def tick(self, *, now: int) -> None:
        """Store the rows that are ready, and report which signals are silent."""
        for source in self._open:
            if source not in self._ticks:
                self._ticks[source] = asyncio.create_task(self._tick(source, now))
        if not self._ticks:
            return
        await asyncio.wait(self._ticks.values(), timeout=_SLOW)
        for source in [name for name, task in self._ticks.items() if task.done()]:
            self._ticks.pop(source).result()

    async def close(self) -> None:
        """End; what is not stored yet stays with the keepers."""
        for task in self._ticks.values():
            task.cancel()
        await asyncio.gather(*self._ticks.values(), return_exceptions=True)
        self._ticks = {}
        for intake in self._open.values():
            intake.close()
        self._open = {}

    async def _tick(self, source: str, now: int) -> None:
        async with self._lock(source):
            await (await self._current(source, now)).tick(now=now)

    def _lock(self, source: str) -> asyncio.Lock:
        return self._locks.setdefault(source, asyncio.Lock())

    async def _current(self, source: str, now: int) -> Intake:
        signals = tuple(self._host.variables(source))
        intake = self._open.get(source)
        if intake is not None and intake.signals == signals:
            return intake
        if intake is not None:
            # Another model was activated: kept samples find their new rows.
            intake.close()
        fresh = Intake(
            self._host,
            self._progress,
            source,
            signals,
            grid=self._grid,
            keeper=lambda: self._keeper(source),
            silent_after=self._silent_after,
            now=now,
        )
        self._open[source] = fresh
        await fresh.start(now=now)
        return fresh

    def _stays(self, source: str) -> Keeper:
        name = self._progress.name
        alone = source == self._progress.source
        # Two connectors may feed one source, and one connector many.
        within = f"{name}.journal" if alone else f"{name}.journals/{source}.journal"
        path = self._host.folder / within
        shared = self._host.keeper(name, source)
        if shared is None:
            return Journal(path)
        if path.exists():
            self._move(path, shared)
        return shared

    def _move(self, path: Path, shared: Keeper) -> None:
        """Take over what was kept here before the store was shared."""
        assert self._grid is not None
        journal = Journal(path)
        pairs = ((self._grid.point(sample.time), sample) for sample in journal.load())
        shared.keep([(point, sample) for point, sample in pairs if point is not None])
        journal.close()
        path.unlink()
