"""Samples of rows that are not stored yet, kept in a store that several workers share.

A connector may move to another machine; the journal that it keeps where it runs alone
(assemble/journal.py) would stay behind.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from sqlalchemy import Connection, delete, select
from sqlalchemy.dialects import postgresql

from alora_ts.serve.assemble import Sample
from alora_ts.serve.store.leases import Lease
from alora_ts.serve.store.schema import samples
from alora_ts.serve.store.store import Store

__all__ = ["StoredSamples"]


class StoredSamples:
    """The unfinished rows of one source of one connector, as a journal keeps them.

    Parameters
    ----------
    store : Store
    connector, source : str
    lease : Lease
        The connector's; whoever has lost it keeps and drops nothing.
    """

    def __init__(self, store: Store, connector: str, source: str, lease: Lease) -> None:
        self._store = store
        self._place = {"connector": connector, "source": source}
        self._mine = (samples.c.connector == connector) & (samples.c.source == source)
        self._lease = lease

    def keep(self, some: Iterable[tuple[int, Sample]]) -> None:
        """Make samples durable, each with the row that it serves; the first of equals stays."""
        records = [
            {
                **self._place,
                "point_us": point,
                "signal": each.signal,
                "time_us": each.time,
                "value": each.value,
            }
            for point, each in some
        ]

        def write(connection: Connection) -> None:
            connection.execute(postgresql.insert(samples).on_conflict_do_nothing(), records)

        if records:
            self._store.writer.run(write, lease=self._lease)

    def drop(self, points: Sequence[int]) -> None:
        """Forget the samples of rows that are stored."""
        stored = delete(samples).where(self._mine, samples.c.point_us.in_(points))
        if points:
            self._store.writer.run(lambda c: c.execute(stored) and None, lease=self._lease)

    def load(self) -> list[Sample]:
        """Return the samples that an earlier process left, in order of time."""
        query = select(samples.c.signal, samples.c.time_us, samples.c.value).where(self._mine)
        with self._store.reading() as connection:
            return [Sample(*row) for row in connection.execute(query.order_by(samples.c.time_us))]

    def close(self) -> None:
        """Nothing is open."""
