"""Weeks of rows and readings as tables of their own (PostgreSQL): dropped, not deleted row by row.

Live rows fall into the partition of their week, made some weeks ahead. What is older or further
ahead (a replay, a store from before there were partitions) is in the default partition.
"""

from __future__ import annotations

from collections.abc import Mapping
from datetime import UTC, datetime

from sqlalchemy import Connection, bindparam, select, text

from alora_ts.serve.store.schema import readings, rows, sources
from alora_ts.serve.times import now_micros

__all__ = ["WEEK", "drop_partitions", "prepare_partitions"]

WEEK = 7 * 86_400_000_000
_AHEAD = 4
_TABLES = (rows.name, readings.name)
_LOCK = 7_202_612


def prepare_partitions(connection: Connection) -> None:
    """Make the partitions of this week and the next ones; rows that were there before move in."""
    if connection.dialect.name != "postgresql":
        return
    this = now_micros() // WEEK * WEEK
    wanted = [this + number * WEEK for number in range(_AHEAD + 1)]
    if all(_known(connection, table).keys() >= set(wanted) for table in _TABLES):
        return
    connection.execute(text(f"SELECT pg_advisory_xact_lock({_LOCK})"))
    for table in _TABLES:
        known = _known(connection, table)
        for start in wanted:
            if start not in known:
                _make(connection, table, start)


def drop_partitions(connection: Connection, table: str, before: Mapping[int, int]) -> int:
    """Drop the partitions of which no source keeps anything.

    Parameters
    ----------
    connection : Connection
    table : {"rows", "readings"}
    before : mapping of int to int
        By source, the time before which it keeps nothing. A source that is not named keeps all.

    Returns
    -------
    int
        How many were dropped.
    """
    if connection.dialect.name != "postgresql":
        return 0
    everyone = set(connection.scalars(select(sources.c.id)))
    dropped = 0
    for start, name in sorted(_known(connection, table).items()):
        keeping = [one for one in everyone if before.get(one, start) < start + WEEK]
        has_rows = text(
            f"SELECT 1 FROM unnest(CAST(:some AS integer[])) AS one WHERE EXISTS "
            f"(SELECT 1 FROM {name} WHERE source_id = one) LIMIT 1"
        )
        if len(keeping) == len(everyone):
            break  # later ones are kept by all, too
        if connection.scalar(has_rows, {"some": keeping}) is None:
            connection.execute(text(f"DROP TABLE {name}"))
            dropped += 1
    return dropped


def _known(connection: Connection, table: str) -> dict[int, str]:
    """The partitions of a table by the time at which they begin."""
    found = connection.scalars(
        text(
            "SELECT inhrelid::regclass::text FROM pg_inherits WHERE inhparent = :one ::regclass"
        ).bindparams(bindparam("one", table))
    )
    weeks = [name for name in found if not name.endswith("_default")]
    return {_start_of(name): name for name in weeks}


def _name_of(table: str, start: int) -> str:
    return f"{table}_{datetime.fromtimestamp(start / 1e6, UTC):%Y%m%d}"


def _start_of(name: str) -> int:
    day = datetime.strptime(name.rpartition("_")[2], "%Y%m%d").replace(tzinfo=UTC)
    return round(day.timestamp()) * 1_000_000


def _make(connection: Connection, table: str, start: int) -> None:
    name, end = _name_of(table, start), start + WEEK
    connection.execute(text(f"CREATE TABLE {name} (LIKE {table} INCLUDING ALL)"))
    connection.execute(
        text(
            f"WITH moved AS (DELETE FROM {table}_default WHERE time_us >= {start} "
            f"AND time_us < {end} RETURNING *) INSERT INTO {name} SELECT * FROM moved"
        )
    )
    connection.execute(
        text(f"ALTER TABLE {table} ATTACH PARTITION {name} FOR VALUES FROM ({start}) TO ({end})")
    )
