"""Which rows of a source a model should learn from."""

from __future__ import annotations

import itertools

import numpy as np
from sqlalchemy import Connection

from alora_ts.errors import AloraError
from alora_ts.serve.problems import ConflictError
from alora_ts.serve.rows.period import describe_gaps, describe_signals, longest_without
from alora_ts.serve.scoring.source import Source
from alora_ts.serve.store.incidents import incidents_from
from alora_ts.serve.store.rows import first_of_newest, row_times, rows_from
from alora_ts.serve.store.store import Store
from alora_ts.serve.times import from_micros

__all__ = ["offer_period", "show_period"]

_MOST = 100_000  # rows: more teach little and take long
_PIECES, _SAMPLED = 50, 2000
_FEW = 1000


def offer_period(store: Store, source: Source) -> tuple[int, int]:
    """The longest time of a source without an incident, in [start, end).

    Incidents that people called normal do not count. Of a long one it is the end, 100,000 rows.
    """
    with store.reading() as connection:
        start, newest = source.rows_from, source.newest
        if start is None or newest is None:
            raise ConflictError(f"the source {source.name!r} has no rows yet; send some first")
        end = newest + 1
        start, end = longest_without(start, end, _faults(connection, source, end))
        latest = first_of_newest(connection, source.id, _MOST, end=end)
        return max(start, latest or start), end


def show_period(
    store: Store, source: Source, *, start: int | None = None, end: int | None = None
) -> dict[str, object]:
    """What a model would learn from: rows, gaps and signals of a period, by default that offered.

    Gaps are looked for in the newest 100,000 rows of the period, signals in 2,000 rows of it in
    pieces spread evenly.
    """
    if start is None or end is None:
        first, last = offer_period(store, source)
        start, end = first if start is None else start, last if end is None else end
    if end <= start:
        raise AloraError("`end` must lie after `start`")
    with store.reading() as connection:
        times = row_times(connection, source.id, start=start, end=end, limit=_MOST)
        edges = np.linspace(start, end, _PIECES + 1).astype(np.int64).tolist()
        pieces = [
            rows_from(
                connection,
                source.id,
                len(source.variables),
                start=low,
                end=high,
                limit=_SAMPLED // _PIECES,
            )
            for low, high in itertools.pairwise(edges)
        ]
        faults = _faults(connection, source, end)
    touched = sum(low < end and high >= start for low, high in faults)
    gaps = describe_gaps(times)
    return {
        "source": source.name,
        "start": from_micros(start),
        "end": from_micros(end),
        "rows": len(times),
        "more_rows": len(times) == _MOST,
        **gaps,
        "incidents_inside": touched,
        "incidents_left_out": len(faults) - touched,
        "signals": describe_signals(
            np.concatenate([piece.times for piece in pieces]),
            np.concatenate([piece.values for piece in pieces]),
            source.variables,
        ),
        "advice": _advise(len(times), touched, gaps["gap_count"]),
    }


def _faults(connection: Connection, source: Source, end: int) -> list[tuple[int, int]]:
    return [
        (one.start_us, end if one.state == "open" else one.end_us)
        for one in incidents_from(connection, source.id, -(2**62))
        if one.verdict != "normal"
    ]


def _advise(rows: int, incidents: int, gaps: int) -> str:
    if rows < _FEW:
        return f"{rows:,} rows teach little: wait for {_FEW:,} or more"
    if incidents:
        return "there are incidents in it: what happens in it counts as normal"
    if gaps:
        return "windows do not reach across gaps; a long one costs rows, nothing else"
    return "nothing speaks against it"
