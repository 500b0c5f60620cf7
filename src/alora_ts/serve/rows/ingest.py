"""Rows in: checked, stored once, acknowledged when they are on the disk."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray
from sqlalchemy import Connection

from alora_ts.serve.operate.metrics import Metrics
from alora_ts.serve.problems import BacklogError
from alora_ts.serve.rows.interface import Receipt, Rejection, Row
from alora_ts.serve.rows.values import RowError, read_values
from alora_ts.serve.scoring.source import Source, Sources
from alora_ts.serve.store.cells import pack_cells
from alora_ts.serve.store.leases import Lease
from alora_ts.serve.store.progress import newest_of, note_rows
from alora_ts.serve.store.rows import fill_rows, insert_rows, known_rows
from alora_ts.serve.store.sources import note_late, set_variables, variables_of
from alora_ts.serve.store.store import Store
from alora_ts.serve.times import from_micros, now_micros

__all__ = ["Ingest"]

_FEW = 500
_MOST_VARIABLES = 2000  # of a source that has no model to say which
_LONGEST_NAME = 200
_EARLIEST = 0  # 1970: older times are clocks that were never set


@dataclass
class _Batch:
    """Rows of one call on their way into the store."""

    source: Source
    # Index, time, numbers.
    rows: list[tuple[int, int, NDArray[np.float64]]] = field(default_factory=list)
    rejected: list[tuple[int, str, str]] = field(default_factory=list)  # index, code, message
    duplicates: int = 0
    late: int = 0
    fresh: dict[int, NDArray[np.float64]] = field(default_factory=dict)
    merged: dict[int, NDArray[np.float64]] = field(default_factory=dict)


class Ingest:
    """Takes rows for any source.

    Parameters
    ----------
    store : Store
    sources : Sources
    metrics : Metrics
    late_limit : callable giving float
        Seconds that a row may be older than the newest of its source.
    future_limit : callable giving float
        Seconds that a row may be ahead of this machine's clock.
    backlog_limit : callable giving int
        Rows of one source that may wait to be scored.
    wake : callable
        Called with the source once rows are stored.
    """

    def __init__(
        self,
        store: Store,
        sources: Sources,
        metrics: Metrics,
        *,
        late_limit: Callable[[], float],
        future_limit: Callable[[], float],
        backlog_limit: Callable[[], int],
        wake: Callable[[Source], None],
    ) -> None:
        self._store = store
        self._sources = sources
        self._metrics = metrics
        self._late_limit = late_limit
        self._future_limit = future_limit
        self._backlog_limit = backlog_limit
        self._wake = wake

    async def accept(
        self, source: str, rows: Sequence[Row | RowError], lease: Lease | None = None
    ) -> Receipt:
        """Store rows; they are durable when this returns.

        Parameters
        ----------
        source : str
        rows : sequence of Row
            What could not even be read as a row stands there as the error that says why.
        lease : Lease, optional
            Of the connector that brings them; if it is another's by now, nothing is stored.

        Returns
        -------
        Receipt

        Raises
        ------
        BacklogError
            When too many rows of the source wait to be scored; nothing was stored.
        """
        known = self._sources.get(source)
        if known.unscored >= self._backlog_limit():
            self._metrics.pushed_back(known.name)
            raise BacklogError(
                f"{known.unscored:,} rows of {known.name!r} wait to be scored; send more later, or "
                "give the service a faster machine"
            )
        if known.collecting:
            await self.learn(known, _names(rows))
        if len(rows) > _FEW:
            # Long enough to hold up other requests.
            batch = await asyncio.to_thread(self._check, known, rows)
        else:
            batch = self._check(known, rows)
        if batch.rows:
            write = self._store.writer.submit(
                lambda c: self._write(c, batch), self._written, source=known.id, lease=lease
            )
            await asyncio.wrap_future(write)
        receipt = Receipt(
            accepted=len(batch.fresh),
            duplicates=batch.duplicates,
            merged=len(batch.merged),
            late=batch.late,
            rejected=tuple(Rejection(index, why) for index, _, why in sorted(batch.rejected)),
        )
        self._metrics.received(batch.source.name, receipt, [code for _, code, _ in batch.rejected])
        return receipt

    async def learn(self, source: Source, names: Iterable[str]) -> None:
        """Let a source without a model have these variables, as far as there is room."""
        known = frozenset(source.variables)
        fresh = [name for name in dict.fromkeys(names) if name not in known]
        if not source.collecting or not fresh:
            return

        def write(connection: Connection) -> tuple[str, ...]:
            # From the store: other processes may have heard of other names.
            there = variables_of(connection, source.id)
            more = [name for name in fresh if name not in there and _can_name(name)]
            if more and source.collecting:
                there = (*there, *more)[:_MOST_VARIABLES]
                set_variables(connection, source.id, there)
            return there

        def written(there: tuple[str, ...]) -> None:
            if source.collecting and len(there) > len(source.variables):
                source.variables = source.wanted = there

        await asyncio.wrap_future(self._store.writer.submit(write, written, source=source.id))

    def _check(self, source: Source, rows: Sequence[Row | RowError]) -> _Batch:
        batch = _Batch(source)
        places = {name: place for place, name in enumerate(source.variables)}
        latest = now_micros() + int(self._future_limit() * 1e6)
        for index, row in enumerate(rows):
            try:
                if isinstance(row, RowError):
                    raise row
                if row.time > latest:
                    raise RowError(
                        "future",
                        f"the time {from_micros(min(row.time, 2**57))} lies ahead of this "
                        f"machine's clock by more than {self._future_limit():g} s; set the "
                        "sender's clock or raise future_limit",
                    )
                if row.time < _EARLIEST:
                    raise RowError("bad-time", "the time lies before 1970")
                numbers = read_values(row.values, places, source.wanted)
                batch.rows.append((index, row.time, numbers))
            except RowError as error:
                batch.rejected.append((index, error.code, str(error)))
        return batch

    def _write(self, connection: Connection, batch: _Batch) -> _Batch:
        source = batch.source
        # From the store: other processes may have stored rows of the source.
        newest = newest_of(connection, source.id)
        seen: dict[int, NDArray[np.float64]] = {}
        if newest is not None:
            old = [time for _, time, _ in batch.rows if time <= newest]
            if old:
                # Others may know of more variables than this process did when it checked.
                width = max(len(variables_of(connection, source.id)), len(source.variables))
                seen = known_rows(connection, source.id, width, old)
        limit = int(self._late_limit() * 1e6)
        for index, time, checked in batch.rows:
            there, numbers = seen.get(time), checked
            if there is not None and len(checked) < len(there):
                numbers = np.full(len(there), np.nan)
                numbers[: len(checked)] = checked
            # Two gateways may each send a part of a row; what is there stays.
            fills = None if there is None else np.isnan(there) & ~np.isnan(numbers)
            if fills is not None and not fills.any():
                batch.duplicates += 1
                continue
            if newest is not None and time < newest - limit:
                batch.rejected.append(
                    (
                        index,
                        "too-late",
                        f"the time {from_micros(time)} is more than {limit / 1e6:g} s older than "
                        "the newest row of the source; raise late_limit to take it",
                    )
                )
                continue
            if there is not None and fills is not None:
                seen[time] = np.where(fills, numbers, there)
                (batch.fresh if time in batch.fresh else batch.merged)[time] = seen[time]
                continue
            seen[time] = batch.fresh[time] = numbers
            if newest is not None and time < newest:
                batch.late += 1
        if batch.merged:
            fill_rows(connection, source.id, _packed(batch.merged))
            # Scored again from there, as if the whole row had come late.
            note_late(connection, source.id, min(batch.merged))
        if not batch.fresh:
            return batch
        now, times = now_micros(), list(batch.fresh)
        insert_rows(connection, source.id, _packed(batch.fresh), now)
        note_rows(connection, source.id, times, arrived=now)
        if newest is not None and min(times) < newest:
            note_late(connection, source.id, min(times))
        return batch

    def _written(self, batch: _Batch) -> None:
        """Update memory to match the store; on the writer's thread, after the commit."""
        source = batch.source
        if not batch.fresh:
            if batch.merged:
                source.arrived = source.heard = now_micros()
                self._wake(source)
            return
        times = list(batch.fresh)
        source.rows += len(times)
        # Nothing waits to be scored where there is no model.
        source.note_waiting(0 if source.collecting else source.unscored + len(times))
        source.arrived = source.heard = now_micros()
        source.newest = max(times) if source.newest is None else max(source.newest, *times)
        source.first = min(times) if source.first is None else min(source.first, *times)
        oldest = source.rows_from
        source.rows_from = min(times) if oldest is None else min(oldest, *times)
        self._wake(source)


def _names(rows: Sequence[Row | RowError]) -> Iterable[str]:
    """What rows call their numbers, in the order they came."""
    return (
        name
        for row in rows
        if isinstance(row, Row) and isinstance(row.values, Mapping)
        for name, value in row.values.items()
        if value is None or (isinstance(value, int | float) and not isinstance(value, bool))
    )


def _can_name(name: object) -> bool:
    """Whether people and databases can do with a name."""
    return isinstance(name, str) and 0 < len(name) <= _LONGEST_NAME and name.isprintable()


def _packed(rows: Mapping[int, NDArray[np.float64]]) -> list[tuple[int, bytes]]:
    return [(time, pack_cells(numbers)) for time, numbers in rows.items()]
