"""Deleting what is no longer kept, a little at a time."""

from __future__ import annotations

from collections.abc import Sequence

from sqlalchemy import Column, Connection, Table, and_, delete, exists, func, select, text

from alora_ts.serve.rows.extremes import COARSE
from alora_ts.serve.store.partitions import WEEK
from alora_ts.serve.store.record import Record
from alora_ts.serve.store.schema import (
    activations,
    fits,
    incidents,
    models,
    outbox,
    readings,
    sources,
    summaries,
)
from alora_ts.serve.store.schema import rows as rows_table

__all__ = [
    "delete_models",
    "delete_notifications",
    "delete_readings",
    "delete_rows",
    "delete_summaries",
    "give_back",
    "kept_from",
    "oldest_of_all",
]

_AT_ONCE = 2000
_DAY = 86_400_000_000
_PAGES = 2000


def oldest_of_all(connection: Connection) -> Sequence[Record]:
    """The times of every source's oldest row, reading and summary; None where there is none.

    One question: of thousands of sources, few have anything that is too old.
    """
    firsts = [
        select(func.min(time)).where(table.c.source_id == sources.c.id).scalar_subquery()
        for table, time in (
            (rows_table, rows_table.c.time_us),
            (readings, readings.c.time_us),
        )
    ]
    # Both levels of a summary begin together.
    first = select(func.min(summaries.c.start_us)).where(
        summaries.c.source_id == sources.c.id, summaries.c.level == COARSE
    )
    named = zip(("rows", "readings", "summaries"), (*firsts, first.scalar_subquery()), strict=True)
    return connection.execute(select(sources.c.id, *(one.label(name) for name, one in named))).all()


def kept_from(kind: str, before: int) -> int:
    """The same time, or where weeks are dropped as a whole the start of one.

    Sources that are within a day of each other leave it to the dropping.

    Parameters
    ----------
    kind : {"sqlite", "postgresql"}
    before : int

    Examples
    --------
    >>> kept_from("sqlite", 5 * WEEK + 3), kept_from("postgresql", 5 * WEEK + 3) // WEEK
    (3024000000003, 4)
    """
    return before if kind == "sqlite" else (before - _DAY) // WEEK * WEEK


def delete_rows(connection: Connection, source: int, before: int) -> int:
    """Delete the oldest rows of a source from before a time, with their readings.

    Returns
    -------
    int
        How many went; call again while it is above 0.
    """
    whole = kept_from(connection.dialect.name, before)
    end = _end(connection, rows_table, rows_table.c.time_us, source, whole)
    _delete(connection, readings, readings.c.time_us, source, end)
    return _delete(connection, rows_table, rows_table.c.time_us, source, end)


def delete_readings(connection: Connection, source: int, before: int) -> int:
    """Delete the oldest readings of a source from before a time."""
    whole = kept_from(connection.dialect.name, before)
    end = _end(connection, readings, readings.c.time_us, source, whole)
    return _delete(connection, readings, readings.c.time_us, source, end)


def delete_summaries(connection: Connection, source: int, before: int) -> int:
    """Delete the oldest summaries of a source from before a time."""
    end = _end(connection, summaries, summaries.c.start_us, source, before)
    return _delete(connection, summaries, summaries.c.start_us, source, end)


def delete_notifications(connection: Connection, before: int) -> int:
    """Delete notifications that were sent or given up before a time, unless they still count."""
    # Whether somebody was told of an incident matters while it is open.
    lasts = exists().where(incidents.c.id == outbox.c.incident_id, incidents.c.state == "open")
    old = (
        select(outbox.c.id)
        .where(outbox.c.state != "pending", outbox.c.created_us < before, ~lasts)
        .order_by(outbox.c.id)
        .limit(_AT_ONCE)
    )
    return connection.execute(delete(outbox).where(outbox.c.id.in_(old))).rowcount


def delete_models(connection: Connection, before: int) -> int:
    """Delete models from before a time that no source ever used and nothing refers to."""
    used = [
        exists().where(table.c.model_id == models.c.id) for table in (activations, incidents, fits)
    ]
    unused = and_(models.c.created_us < before, *(~one for one in used))
    return connection.execute(delete(models).where(unused)).rowcount


def give_back(connection: Connection) -> None:
    """Return some freed pages of an SQLite store to the disk; PostgreSQL does so by itself."""
    if connection.dialect.name == "sqlite":
        connection.execute(text(f"PRAGMA incremental_vacuum({_PAGES})"))


def _end(connection: Connection, table: Table, time: Column[int], source: int, before: int) -> int:
    """The time before which at most so many of the oldest entries lie."""
    next_one = (
        select(time)
        .where(table.c.source_id == source, time < before)
        .order_by(time)
        .offset(_AT_ONCE)
        .limit(1)
    )
    found: int | None = connection.scalar(next_one)
    return before if found is None else found


def _delete(connection: Connection, table: Table, time: Column[int], source: int, end: int) -> int:
    gone = delete(table).where(table.c.source_id == source, time < end)
    return connection.execute(gone).rowcount
