"""Bring a stream into the state it had at a moment, from the rows that are stored."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
from numpy.typing import NDArray
from sqlalchemy import Connection

from alora_ts.data.cycle import Tracker
from alora_ts.data.hold import RowHold
from alora_ts.estimator import ALoRa
from alora_ts.model.fitted import FittedModel
from alora_ts.model.stream import Stream
from alora_ts.serve.scoring.held import HeldRows
from alora_ts.serve.store.rows import RowBlock, rows_before

__all__ = [
    "UNTIMED_MICROS",
    "gap_micros",
    "held_rows",
    "push_time",
    "replay",
    "replayed_rows",
    "row_micros",
    "usual_at",
]

_SEARCHED = 2000
UNTIMED_MICROS = 1_000_000
"""From a row to the next where nobody saw dates."""


def push_time(model: ALoRa, time: int) -> np.datetime64 | None:
    """The time to push a row with; None for a model that never saw dates.

    Such a model measures gaps in rows or in units of its own, and a batch would not look for
    them in dates either.
    """
    dated = model.model_.preparation.fitted.time == "datetime"
    return np.datetime64(time, "us") if dated else None


def gap_micros(model: ALoRa) -> float | None:
    """The longest pause between rows that is not a gap; None for a model that looks for none."""
    gap = model.model_.preparation.gap
    return None if gap is None or push_time(model, 0) is None else gap * 1e6


def row_micros(model: ALoRa) -> int:
    """From a row to the next, as the model learned it; a second where it saw no dates."""
    step = model.model_.preparation.step if push_time(model, 0) is not None else None
    return UNTIMED_MICROS if not step else max(1, round(step * 1e6))


def usual_at(
    model: FittedModel,
    times: NDArray[np.int64],
    values: NDArray[np.float64] | None = None,
) -> NDArray[np.float64]:
    """What a model takes off rows because it repeats, (n, d).

    A model that never saw dates places rows that follow one another by their values; 0 where
    neither tells.
    """
    cycle = model.cycle
    if cycle is not None and cycle.ticks:
        return cycle.course[cycle.at(times)].astype(np.float64)
    if cycle is not None and values is not None:
        moments = Tracker(cycle).place_all(values, None, np.arange(len(values)) == 0)
        return cycle.course[moments].astype(np.float64)
    return np.zeros((len(times), len(model.preparation.variables)))


def replayed_rows(model: ALoRa) -> int:
    """How many rows before a row can touch its reading, apart from held values."""
    return model.model_.reach + 1


def replay(
    connection: Connection,
    model: ALoRa,
    source: int,
    variables: int,
    columns: NDArray[np.intp],
    *,
    until: int,
    kept: HeldRows,
) -> tuple[Stream, RowBlock]:
    """A stream that has seen what matters of the rows before ``until``, and those rows.

    Parameters
    ----------
    connection : Connection
    model : ALoRa
    source, variables : int
        The source's number and how many variables are stored.
    columns : ndarray of int
        Where the model's variables stand among them.
    until : int
        The time of the next row to be pushed, or before it.
    kept : HeldRows
        Spares a search far back.
    """
    stream = model.stream()
    block = held_rows(
        connection,
        model,
        source,
        variables,
        columns,
        until=until,
        limit=replayed_rows(model),
        kept=kept,
    )
    times = [push_time(model, time) for time in block.times.tolist()]
    stream.push_many(block.values, times=times)
    return stream, block


def held_rows(
    connection: Connection,
    model: ALoRa,
    source: int,
    variables: int,
    columns: NDArray[np.intp],
    *,
    until: int,
    limit: int,
    kept: HeldRows,
) -> RowBlock:
    """The last rows before ``until``, of the model's variables; the first has held values."""
    block = rows_before(connection, source, variables, end=until, limit=limit)
    values = block.values[:, columns]
    if len(block):
        first = int(block.times[0])
        # What is held is a row less what repeats.
        values[:1] -= usual_at(model.model_, block.times[:1])
        earlier = _earlier_rows(
            connection,
            source,
            variables,
            columns,
            later=first,
            gap=gap_micros(model),
            kept=kept.before(first),
            model=model,
        )
        values[0] = RowHold.recall(values[0], earlier)
        values[:1] += usual_at(model.model_, block.times[:1])
    return RowBlock(block.times, block.arrived, values)


def _earlier_rows(
    connection: Connection,
    source: int,
    variables: int,
    columns: NDArray[np.intp],
    *,
    later: int,
    gap: float | None,
    kept: tuple[int, NDArray[np.float64]] | None,
    model: ALoRa,
) -> Iterator[NDArray[np.float64]]:
    """Rows before ``later``, the latest first, back to the last gap or to a row that is kept."""
    start = None if kept is None else kept[0] + 1
    while True:
        earlier = rows_before(
            connection, source, variables, start=start, end=later, limit=_SEARCHED
        )
        rest = earlier.values[:, columns] - usual_at(model.model_, earlier.times)
        for time, row in zip(earlier.times[::-1].tolist(), rest[::-1], strict=True):
            if gap is not None and later - time > gap:
                return
            yield row
            later = time
        if len(earlier) < _SEARCHED:
            break
    if kept is not None and not (gap is not None and later - kept[0] > gap):
        yield kept[1]
