"""The newest scores and rows, for looking at their distribution."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from sqlalchemy import Connection, func, select

from alora_ts.serve.store.cells import unpack_cells
from alora_ts.serve.store.rows import SAME_ROW
from alora_ts.serve.store.schema import readings, rows

__all__ = ["ScoredRows", "count_since", "scored_rows"]


@dataclass(frozen=True)
class ScoredRows:
    """Rows with their raw scores, in order of time; warm-up rows are left out.

    Attributes
    ----------
    times : ndarray of int64, shape (N,)
    raw, drift : ndarray of shape (N,)
    values : ndarray of shape (N, d)
    """

    times: NDArray[np.int64]
    raw: NDArray[np.float64]
    drift: NDArray[np.float64]
    values: NDArray[np.float64]


def count_since(connection: Connection, source: int, arrived: int) -> int:
    """How many rows came at or after a moment."""
    query = select(func.count()).select_from(rows)
    found = connection.scalar(query.where(rows.c.source_id == source, rows.c.arrived_us >= arrived))
    return int(found or 0)


def scored_rows(
    connection: Connection,
    source: int,
    variables: int,
    *,
    arrived: int,
    limit: int,
    newest: bool,
) -> ScoredRows:
    """The newest (or oldest) ``limit`` rows among those that came at or after a moment."""
    order = rows.c.time_us.desc() if newest else rows.c.time_us
    found = connection.execute(
        select(rows.c.time_us, readings.c.raw, readings.c.drift, rows.c.cells)
        .join(readings, SAME_ROW)
        .where(
            rows.c.source_id == source,
            rows.c.arrived_us >= arrived,
            readings.c.warm_up.is_(False),
        )
        .order_by(order)
        .limit(limit)
    ).all()
    if newest:
        found = found[::-1]
    return ScoredRows(
        np.fromiter((row.time_us for row in found), np.int64, len(found)),
        np.fromiter((row.raw for row in found), np.float64, len(found)),
        np.fromiter((row.drift for row in found), np.float64, len(found)),
        unpack_cells([row.cells for row in found], variables),
    )
