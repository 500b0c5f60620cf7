"""How far each source is: kept with its rows, so that any process knows without counting them."""

from __future__ import annotations

from sqlalchemy import Connection, func, select, update

from alora_ts.serve.store.schema import rows, sources

__all__ = [
    "count_waiting",
    "lock_sources",
    "newest_of",
    "note_rows",
    "note_scored",
    "recount_rows",
]


def lock_sources(connection: Connection, some: set[int]) -> None:
    """Keep others from writing rows or scores of these sources until the transaction ends.

    All at once and in one order: two transactions can then not wait for each other.
    """
    if connection.dialect.name == "postgresql" and some:
        query = select(sources.c.id).where(sources.c.id.in_(some)).order_by(sources.c.id)
        connection.execute(query.with_for_update(key_share=True)).all()


def newest_of(connection: Connection, source: int) -> int | None:
    """The time of a source's last row."""
    newest: int | None = connection.scalar(
        select(sources.c.newest_us).where(sources.c.id == source)
    )
    return newest


def note_rows(connection: Connection, source: int, times: list[int], *, arrived: int) -> None:
    """Count rows that were just stored."""
    low, high = min(times), max(times)
    newest, oldest = sources.c.newest_us, sources.c.oldest_us
    greater, less = (
        (func.max, func.min) if connection.dialect.name == "sqlite" else (func.greatest, func.least)
    )
    connection.execute(
        update(sources)
        .where(sources.c.id == source)
        .values(
            newest_us=greater(func.coalesce(newest, high), high),
            oldest_us=less(func.coalesce(oldest, low), low),
            row_count=sources.c.row_count + len(times),
            unscored=sources.c.unscored + len(times),
            arrived_us=arrived,
        )
    )


def note_scored(connection: Connection, source: int, count: int, *, until: int, last: bool) -> int:
    """Take scored rows off what waits.

    Parameters
    ----------
    connection : Connection
    source, count : int
    until : int
        Every row before this time is scored.
    last : bool
        Whether few rows can be left: then they are counted.

    Returns
    -------
    int
        How many wait.
    """
    if last:
        return count_waiting(connection, source, since=until)
    here = select(sources.c.unscored).where(sources.c.id == source)
    left = max(0, (connection.scalar(here) or 0) - count)
    connection.execute(update(sources).where(sources.c.id == source).values(unscored=left))
    return left


def count_waiting(connection: Connection, source: int, *, since: int) -> int:
    """Count the rows from a time on and keep that as what waits; returns it."""
    mine = select(func.count()).where(rows.c.source_id == source, rows.c.time_us >= since)
    left = int(connection.scalar(mine) or 0)
    connection.execute(update(sources).where(sources.c.id == source).values(unscored=left))
    return left


def recount_rows(connection: Connection, source: int) -> tuple[int, int | None]:
    """Count a source's rows again after some were deleted; returns count and oldest."""
    mine = select(func.count(), func.min(rows.c.time_us)).where(rows.c.source_id == source)
    count, oldest = connection.execute(mine).one()
    connection.execute(
        update(sources).where(sources.c.id == source).values(row_count=count, oldest_us=oldest)
    )
    return count, oldest
