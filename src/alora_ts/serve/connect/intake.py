"""Rows and separate signals of one connector, on their way into the store."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass

from alora_ts.serve.assemble import Assembler, Grid, Keeper, Sample, SilenceWatch
from alora_ts.serve.connect.storing import store
from alora_ts.serve.rows.interface import Host, Progress, Rejection, Row

__all__ = ["Intake", "Taken"]

_BATCH = 1000


@dataclass(frozen=True)
class Taken:
    """What was refused of some rows and samples; everything else is durable."""

    rows: tuple[Rejection, ...] = ()
    samples: tuple[Rejection, ...] = ()


class Intake:
    """Stores rows, makes rows of samples, and notices which signals are silent.

    Parameters
    ----------
    host : Host
    progress : Progress
    source : str
    signals : sequence of str
        The variables of the source.
    grid : Grid, optional
        How rows are made of samples; without it only whole rows are taken.
    keeper : callable giving Keeper
        Who keeps samples until their row is stored; asked for when there is a grid.
    silent_after : float
        Seconds without a value after which a signal is silent; 0: never.
    now : int
        What time it is, in microseconds.
    """

    def __init__(
        self,
        host: Host,
        progress: Progress,
        source: str,
        signals: Sequence[str],
        *,
        grid: Grid | None,
        keeper: Callable[[], Keeper],
        silent_after: float,
        now: int,
    ) -> None:
        self._host = host
        self._progress = progress
        self._source = source
        self.signals = tuple(signals)
        self._grid = grid
        self._watch = (
            SilenceWatch(signals, after=round(silent_after * 1e6), now=now)
            if silent_after
            else None
        )
        self._silent: dict[str, int | None] | None = None
        self._growing: set[str] | None = None
        self._assembler: Assembler | None = None
        self._make_keeper = keeper
        self._keeper: Keeper | None = None

    async def start(self, *, now: int) -> None:
        """Restore what an earlier process left: kept samples, and the last values."""
        if self._grid is None:
            return
        last = await self._host.last_row(self._source)
        held = dict[str, Sample]()
        if last is not None:
            held = {
                name: Sample(name, last.time, value)
                for name, value in last.values.items()
                if value is not None
            }
        self._assembler = Assembler(self.signals, self._grid, held=held)
        self._keeper = await asyncio.to_thread(self._make_keeper)
        used, useless = set[int](), set[int]()
        for sample in await asyncio.to_thread(self._keeper.load):
            refusal = self._assembler.add(sample, now=max(now, sample.time))
            point = self._grid.point(sample.time)
            if point is not None:
                (used if refusal is None else useless).add(point)
        await asyncio.to_thread(self._keeper.drop, sorted(useless - used))
        await self.tick(now=now)

    async def take(self, rows: Sequence[Row], samples: Iterable[Sample], *, now: int) -> Taken:
        """Make rows and samples durable; whoever sent them may forget them afterwards."""
        for row in rows:
            self._hear((name for name, value in row.values.items() if value is not None), row, now)
        rejected: tuple[Rejection, ...] = ()
        if rows:
            receipt = await store(self._host, self._progress, rows, source=self._source)
            rejected = receipt.rejected
        kept, refused = list[tuple[int, Sample]](), list[Rejection]()
        for index, sample in enumerate(samples):
            if self._assembler is None or self._grid is None:
                refusal: str | None = "a signal where only rows are expected"
            else:
                refusal = self._assembler.add(sample, now=now)
            if refusal is not None:
                self._progress.reject(refusal)
                refused.append(Rejection(index, refusal))
                continue
            if self._watch is not None and sample.value is not None:
                self._watch.hear(sample.signal, time=sample.time, now=now)
            point = None if self._grid is None else self._grid.point(sample.time)
            if point is not None:
                kept.append((point, sample))
        if kept and self._keeper is not None:
            await asyncio.to_thread(self._keeper.keep, kept)
        return Taken(rejected, tuple(refused))

    async def tick(self, *, now: int) -> None:
        """Store the rows that are ready, and report which signals are silent."""
        if self._assembler is not None and self._keeper is not None:
            ready = self._assembler.take(now=now)
            for start in range(0, len(ready), _BATCH):
                batch = ready[start : start + _BATCH]
                # A row of signals that all ended says nothing.
                some = [row for row in batch if any(v is not None for v in row.values.values())]
                if some:
                    await store(self._host, self._progress, some, source=self._source)
                await asyncio.to_thread(self._keeper.drop, [row.time for row in batch])
        if self._watch is not None:
            silent = self._watch.silent(now=now)
            # The signals of a dead gateway fall silent within moments: reported together.
            settled = silent.keys() == self._growing
            self._growing = set(silent)
            if settled and silent != self._silent:
                await self._host.silent(self._source, self._progress.name, silent)
                self._silent = silent

    def close(self) -> None:
        """Let the keeper go."""
        if self._keeper is not None:
            self._keeper.close()

    def _hear(self, names: Iterable[str], row: Row, now: int) -> None:
        if self._watch is not None:
            for name in names:
                if name in self.signals:
                    self._watch.hear(name, time=row.time, now=now)
