"""Lines for a chart: few points that look like all of them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from alora_ts.errors import DataError, nearest
from alora_ts.report.sampling import sample_rows
from alora_ts.serve.rows.extremes import COARSE, FINE, PARTS, unfold
from alora_ts.serve.scoring.source import Source
from alora_ts.serve.store.store import Store
from alora_ts.serve.store.summaries import last_summary, read_lines, read_summaries

__all__ = ["read_series", "thin_line"]

_Line = tuple[NDArray[np.int64], NDArray[np.float64]]
_RAW_BUCKETS = 40  # about ten thousand rows
_FINE_BUCKETS = _RAW_BUCKETS * PARTS


def read_series(
    store: Store, source: Source, *, start: int, end: int, points: int, signals: Sequence[str]
) -> dict[str, Any]:
    """Score, signals and expectations in [start, end), down-sampled.

    Parameters
    ----------
    store : Store
    source : Source
    start, end : int
        Microseconds.
    points : int
        At most so many for each line.
    signals : sequence of str

    Returns
    -------
    dict
        ``score`` and ``signals`` with times in milliseconds since 1970.

    Notes
    -----
    Short ranges are read row by row, longer ones from the extremes kept of every sixteenth of a
    bucket, the longest from those of whole buckets. Either way the highest and lowest value of
    every stretch are among the candidates from which the points are chosen.
    """
    unknown = [name for name in signals if name not in source.variables]
    if unknown:
        raise DataError(
            f"unknown signal {unknown[0][:60]!r}{nearest(unknown[0], source.variables)}"
        )
    places = [source.variables.index(name) for name in signals]
    wanted = [0, *(line for place in places for line in (1 + 2 * place, 2 + 2 * place))]
    lines = _read(store, source, wanted, start=start, end=end)
    thin = [thin_line(times, values, points) for times, values in lines]
    return {
        "score": thin[0],
        "signals": {
            name: {
                **thin[1 + 2 * at],
                "expected_t": thin[2 + 2 * at]["t"],
                "expected_v": thin[2 + 2 * at]["v"],
            }
            for at, name in enumerate(signals)
        },
    }


def _read(store: Store, source: Source, wanted: list[int], *, start: int, end: int) -> list[_Line]:
    width = source.bucket_us
    first = start if source.first is None else max(start, source.first)
    last = end if source.newest is None else min(end, source.newest + 1)
    buckets = max(0, last - first) // width
    with store.reading() as connection:
        begin = last_summary(connection, source.id)
        kept = source.rows_from is None or first >= source.rows_from
        if begin is None or (buckets <= _RAW_BUCKETS and kept):
            parts: list[_Line] = [(np.zeros(0, np.int64), np.zeros(0))] * len(wanted)
            rest = first
        else:
            level, split = (FINE, PARTS) if buckets <= _FINE_BUCKETS else (COARSE, 1)
            starts, data = read_summaries(
                connection, source.id, level=level, start=first // width * width, end=last
            )
            parts = unfold(starts, data, parts=split, lines=wanted)
            rest = max(first, begin + width)
        times, raw = np.zeros(0, np.int64), np.zeros((0, 1 + 2 * len(source.variables)))
        if rest < last:
            times, raw = read_lines(
                connection, source.id, len(source.variables), start=rest, end=last
            )
    joined = []
    for (known, values), line in zip(parts, wanted, strict=True):
        inside = (known >= start) & (known < end)
        joined.append(
            (np.concatenate([known[inside], times]), np.concatenate([values[inside], raw[:, line]]))
        )
    return joined


def thin_line(times: NDArray[np.int64], values: NDArray[np.float64], points: int) -> dict[str, Any]:
    """A line of at most so many points, times in milliseconds since 1970."""
    rows = sample_rows(values, points=points)
    kept = _shorten(values[rows])
    return {
        "t": (times[rows] // 1000).tolist(),
        "v": [
            None if missing else value
            for value, missing in zip(kept.tolist(), np.isnan(kept).tolist(), strict=True)
        ],
    }


def _shorten(values: NDArray[np.float64]) -> NDArray[np.float64]:
    """Six significant digits: no chart shows more, and half the bytes travel."""
    size = np.abs(values)
    known = (size > 0) & np.isfinite(size)
    digits = 5 - np.floor(np.log10(size, where=known, out=np.zeros_like(size)))
    factor = 10.0 ** np.clip(digits, -300, 300)
    short: NDArray[np.float64] = np.where(known, np.round(values * factor) / factor, values)
    return short
