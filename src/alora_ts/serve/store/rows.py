"""Rows and their readings."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sqlalchemy import Connection, and_, bindparam, func, insert, select, true, update

from alora_ts.serve.store.cells import unpack_cells
from alora_ts.serve.store.record import Record
from alora_ts.serve.store.schema import readings, rows, sources
from alora_ts.serve.store.upsert import upsert

__all__ = [
    "SAME_ROW",
    "RowBlock",
    "fill_rows",
    "first_of_newest",
    "first_time",
    "insert_rows",
    "known_rows",
    "raw_scores_before",
    "read_readings",
    "recent_scores",
    "recent_scores_of_all",
    "row_times",
    "rows_before",
    "rows_from",
    "save_readings",
]

SAME_ROW = and_(rows.c.source_id == readings.c.source_id, rows.c.time_us == readings.c.time_us)
"""What a row and its reading have in common."""

_ASKED_AT_ONCE = 500


@dataclass(frozen=True)
class RowBlock:
    """Rows in order of time.

    Attributes
    ----------
    times : ndarray of int64, shape (N,)
    arrived : ndarray of int64, shape (N,)
    values : ndarray of float64, shape (N, d)
        In the order of the source's variables; NaN is missing.
    """

    times: NDArray[np.int64]
    arrived: NDArray[np.int64]
    values: NDArray[np.float64]

    def __len__(self) -> int:
        return len(self.times)


def known_rows(
    connection: Connection, source: int, variables: int, times: Sequence[int]
) -> dict[int, NDArray[np.float64]]:
    """The rows that the source has for some of these times."""
    known: dict[int, NDArray[np.float64]] = {}
    for at in range(0, len(times), _ASKED_AT_ONCE):
        asked = times[at : at + _ASKED_AT_ONCE]
        found = connection.execute(
            select(rows.c.time_us, rows.c.cells).where(
                rows.c.source_id == source, rows.c.time_us.in_(asked)
            )
        ).all()
        values = unpack_cells([row.cells for row in found], variables)
        known.update(zip((row.time_us for row in found), values, strict=True))
    return known


def fill_rows(connection: Connection, source: int, records: Sequence[tuple[int, bytes]]) -> None:
    """Replace the cells of rows that are there, given as (time, cells)."""
    change = (
        update(rows)
        .where(rows.c.source_id == source, rows.c.time_us == bindparam("at"))
        .values(cells=bindparam("content"))
    )
    connection.execute(change, [{"at": time, "content": cells} for time, cells in records])


def insert_rows(
    connection: Connection, source: int, records: Sequence[tuple[int, bytes]], arrived: int
) -> None:
    """Add rows that are not there yet, as (time, cells)."""
    if records:
        connection.execute(
            insert(rows),
            [
                {"source_id": source, "time_us": time, "arrived_us": arrived, "cells": cells}
                for time, cells in records
            ],
        )


def rows_from(
    connection: Connection,
    source: int,
    variables: int,
    *,
    start: int,
    end: int | None = None,
    limit: int | None = None,
) -> RowBlock:
    """The first rows at or after ``start`` and before ``end``."""
    query = (
        select(rows.c.time_us, rows.c.arrived_us, rows.c.cells)
        .where(rows.c.source_id == source, rows.c.time_us >= start)
        .order_by(rows.c.time_us)
        .limit(limit)
    )
    if end is not None:
        query = query.where(rows.c.time_us < end)
    return _block(connection.execute(query).all(), variables)


def rows_before(
    connection: Connection,
    source: int,
    variables: int,
    *,
    end: int,
    limit: int,
    start: int | None = None,
) -> RowBlock:
    """The last rows before ``end``, none of them before ``start``."""
    query = (
        select(rows.c.time_us, rows.c.arrived_us, rows.c.cells)
        .where(rows.c.source_id == source, rows.c.time_us < end)
        .order_by(rows.c.time_us.desc())
        .limit(limit)
    )
    if start is not None:
        query = query.where(rows.c.time_us >= start)
    return _block(connection.execute(query).all()[::-1], variables)


def _block(found: Sequence[Record], variables: int) -> RowBlock:
    times = np.fromiter((row[0] for row in found), np.int64, len(found))
    arrived = np.fromiter((row[1] for row in found), np.int64, len(found))
    return RowBlock(times, arrived, unpack_cells([row[2] for row in found], variables))


def row_times(
    connection: Connection, source: int, *, start: int, end: int, limit: int
) -> NDArray[np.int64]:
    """The times of the newest rows in [start, end), oldest first."""
    query = (
        select(rows.c.time_us)
        .where(rows.c.source_id == source, rows.c.time_us >= start, rows.c.time_us < end)
        .order_by(rows.c.time_us.desc())
        .limit(limit)
    )
    return np.array(connection.scalars(query).all()[::-1], dtype=np.int64)


def first_time(connection: Connection, source: int) -> int | None:
    """The time of the first row."""
    first: int | None = connection.scalar(
        select(func.min(rows.c.time_us)).where(rows.c.source_id == source)
    )
    return first


def first_of_newest(
    connection: Connection, source: int, count: int, *, end: int | None = None
) -> int | None:
    """The time of the oldest among the newest ``count`` rows (before ``end``)."""
    query = select(rows.c.time_us).where(rows.c.source_id == source)
    if end is not None:
        query = query.where(rows.c.time_us < end)
    newest = query.order_by(rows.c.time_us.desc()).limit(count).subquery()
    found: int | None = connection.scalar(select(func.min(newest.c.time_us)))
    return found


def recent_scores(connection: Connection, source: int, *, limit: int) -> Sequence[Record]:
    """Time, score and warm-up of the newest readings, oldest first."""
    return connection.execute(
        select(readings.c.time_us, readings.c.score, readings.c.warm_up)
        .where(readings.c.source_id == source)
        .order_by(readings.c.time_us.desc())
        .limit(limit)
    ).all()[::-1]


def recent_scores_of_all(
    connection: Connection, some: Sequence[int], *, limit: int
) -> dict[int, Sequence[Record]]:
    """The same of many sources; those without readings are absent."""
    if connection.dialect.name != "postgresql":
        found = {source: recent_scores(connection, source, limit=limit) for source in some}
        return {source: last for source, last in found.items() if last}
    newest = (
        select(readings.c.time_us, readings.c.score, readings.c.warm_up)
        .where(readings.c.source_id == sources.c.id)
        .order_by(readings.c.time_us.desc())
        .limit(limit)
        .lateral()
    )
    # One question instead of thousands.
    query = select(newest, sources.c.id).join(newest, true()).where(sources.c.id.in_(some))
    grouped: dict[int, list[Record]] = {}
    # All at once: to fetch fifty thousand one by one takes longer than to find them.
    for record in connection.execute(query.order_by(sources.c.id, newest.c.time_us)).all():
        grouped.setdefault(record.id, []).append(record)
    return dict(grouped)


def save_readings(connection: Connection, records: Sequence[dict[str, Any]]) -> None:
    """Keep readings; later ones of the same row replace earlier ones."""
    upsert(connection, readings, records)


def raw_scores_before(
    connection: Connection, source: int, *, end: int, arrived: int, limit: int
) -> list[tuple[float, float, float | None]]:
    """The last raw scores, novelties and spreads since a change before ``end``, oldest first.

    Of rows that came since ``arrived``; warm-up rows are left out.
    """
    query = (
        select(readings.c.raw, readings.c.novelty, readings.c.spread)
        .join(rows, SAME_ROW)
        .where(
            readings.c.source_id == source,
            readings.c.time_us < end,
            readings.c.warm_up.is_(False),
            rows.c.arrived_us >= arrived,
        )
        .order_by(readings.c.time_us.desc())
        .limit(limit)
    )
    said = [(float(raw), float(new), spread) for raw, new, spread in connection.execute(query)]
    return said[::-1]


def read_readings(
    connection: Connection,
    source: int,
    *,
    start: int,
    end: int,
    limit: int | None = None,
    newest_first: bool = False,
) -> Sequence[Record]:
    """Readings in [start, end) with their rows' cells."""
    order = readings.c.time_us.desc() if newest_first else readings.c.time_us
    query = (
        select(
            readings.c.time_us,
            readings.c.score,
            readings.c.raw,
            readings.c.drift,
            readings.c.shift,
            readings.c.novelty,
            readings.c.rank,
            readings.c.warm_up,
            readings.c.alarm,
            readings.c.detail,
            rows.c.cells,
        )
        .join(rows, SAME_ROW)
        .where(
            readings.c.source_id == source,
            readings.c.time_us >= start,
            readings.c.time_us < end,
        )
        .order_by(order)
        .limit(limit)
    )
    return connection.execute(query).all()
