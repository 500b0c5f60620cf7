"""The newest scores and rows, for looking at their distribution."""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from sqlalchemy import Connection, func, select

from alora_ts.serve.store.cells import unpack_cells
from alora_ts.serve.store.record import Record
from alora_ts.serve.store.rows import SAME_ROW
from alora_ts.serve.store.schema import readings, rows

__all__ = ["ScoredRows", "rows_since", "sampled_rows", "scored_rows"]

_PIECES = 50
_SCORED = (
    select(rows.c.time_us, readings.c.raw, readings.c.drift, rows.c.cells)
    .join(readings, SAME_ROW)
    .where(readings.c.warm_up.is_(False))
)


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


def rows_since(connection: Connection, source: int, arrived: int) -> tuple[int, int, int]:
    """How many rows came at or after a moment, and the times of the first and the last."""
    query = select(func.count(), func.min(rows.c.time_us), func.max(rows.c.time_us))
    count, first, last = connection.execute(
        query.where(rows.c.source_id == source, rows.c.arrived_us >= arrived)
    ).one()
    return count, first or 0, last or 0


def sampled_rows(
    connection: Connection,
    source: int,
    variables: int,
    *,
    arrived: int,
    start: int,
    end: int,
    limit: int,
) -> ScoredRows:
    """At most ``limit`` rows of [start, end), in pieces spread evenly over it."""
    edges = np.linspace(start, end, _PIECES + 1).astype(np.int64).tolist()
    found: list[Record] = []
    for low, high in itertools.pairwise(edges):
        found += connection.execute(
            _SCORED.where(
                rows.c.source_id == source,
                rows.c.arrived_us >= arrived,
                rows.c.time_us >= low,
                rows.c.time_us < high,
            )
            .order_by(rows.c.time_us)
            .limit(-(-limit // _PIECES))
        ).all()
    return _gathered(found, variables)


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
        _SCORED.where(rows.c.source_id == source, rows.c.arrived_us >= arrived)
        .order_by(order)
        .limit(limit)
    ).all()
    return _gathered(found[::-1] if newest else found, variables)


def _gathered(found: Sequence[Record], variables: int) -> ScoredRows:
    return ScoredRows(
        np.fromiter((row.time_us for row in found), np.int64, len(found)),
        np.fromiter((row.raw for row in found), np.float64, len(found)),
        np.fromiter((row.drift for row in found), np.float64, len(found)),
        unpack_cells([row.cells for row in found], variables),
    )
