"""Where the extremes of stretches are kept."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray
from sqlalchemy import Connection, func, select

from alora_ts.serve.rows.extremes import COARSE, FINE, PARTS, summarise
from alora_ts.serve.store.cells import unpack_cells, unpack_detail
from alora_ts.serve.store.rows import SAME_ROW
from alora_ts.serve.store.schema import readings, rows, sources, summaries
from alora_ts.serve.store.upsert import upsert

__all__ = ["first_summaries", "last_summary", "read_lines", "read_summaries", "refresh_summary"]


def read_lines(
    connection: Connection, source: int, variables: int, *, start: int, end: int
) -> tuple[NDArray[np.int64], NDArray[np.float64]]:
    """Times (N,) and the lines of a chart (N, 1 + 2d): score, values, expectations."""
    found = connection.execute(
        select(readings.c.time_us, readings.c.score, readings.c.detail, rows.c.cells)
        .join(rows, SAME_ROW)
        .where(
            readings.c.source_id == source,
            readings.c.time_us >= start,
            readings.c.time_us < end,
        )
        .order_by(readings.c.time_us)
    ).all()
    # A chart may ask for ten thousand rows many times a second: columns at once, not row by row.
    times, score, detail, cells = zip(*found, strict=True) if found else ((), (), (), ())
    # Interleaved, so that a variable added later does not move the lines before it.
    lines = np.empty((len(found), 1 + 2 * variables))
    lines[:, 0], lines[:, 1::2] = score, unpack_cells(cells, variables)
    lines[:, 2::2] = unpack_detail(detail, variables)[0]
    return np.array(times, dtype=np.int64), lines


def refresh_summary(
    connection: Connection, source: int, variables: int, *, start: int, width: int
) -> None:
    """Make the summaries of one bucket from its readings."""
    times, lines = read_lines(connection, source, variables, start=start, end=start + width)
    upsert(
        connection,
        summaries,
        [
            {
                "source_id": source,
                "level": level,
                "start_us": start,
                "data": summarise(times, lines, start=start, width=width, parts=parts),
            }
            for level, parts in ((COARSE, 1), (FINE, PARTS))
        ],
    )


def read_summaries(
    connection: Connection, source: int, *, level: int, start: int, end: int
) -> tuple[Sequence[int], Sequence[bytes]]:
    """Starts and data of the summaries in [start, end), in order of time."""
    found = connection.execute(
        select(summaries.c.start_us, summaries.c.data)
        .where(
            summaries.c.source_id == source,
            summaries.c.level == level,
            summaries.c.start_us >= start,
            summaries.c.start_us < end,
        )
        .order_by(summaries.c.start_us)
    ).all()
    starts, data = zip(*found, strict=True) if found else ((), ())
    return starts, data


def last_summary(connection: Connection, source: int) -> int | None:
    """Where the last summarised bucket of a source begins."""
    found: int | None = connection.scalar(
        select(func.max(summaries.c.start_us)).where(
            summaries.c.source_id == source, summaries.c.level == COARSE
        )
    )
    return found


def first_summaries(connection: Connection, source: int | None = None) -> dict[int, int]:
    """Where the first summarised bucket begins, of each source that has one, or of one."""
    first = (
        select(func.min(summaries.c.start_us))
        .where(summaries.c.source_id == sources.c.id, summaries.c.level == COARSE)
        .scalar_subquery()
    )
    query = select(sources.c.id, first)
    if source is not None:
        query = query.where(sources.c.id == source)
    return {key: start for key, start in connection.execute(query) if start is not None}
