"""A month of rows a second apart, written straight into a service's store.

Scoring 2.6 million rows would take hours and is not what the dashboard's benchmark measures; the
readings are made up, but rows, readings and summaries are those the service would have kept.
"""

from __future__ import annotations

from pathlib import Path

import numpy as np
from benchmarks.serve_process import make_rows
from sqlalchemy import Connection, insert

from alora_ts.serve.rows.extremes import COARSE, FINE, PARTS, summarise
from alora_ts.serve.store.cells import pack_cells
from alora_ts.serve.store.schema import summaries
from alora_ts.serve.store.sources import all_sources, scored_until
from alora_ts.serve.store.store import Store

__all__ = ["write_history"]

_AT_ONCE = 50_000


def _cut(whole: bytes, pieces: int) -> list[bytes]:
    size = len(whole) // pieces
    return [whole[at : at + size] for at in range(0, len(whole), size)]


def write_history(folder: Path, *, rows: int, end: int) -> None:
    """Give the only source of a stopped service rows that end at ``end`` (microseconds)."""
    store = Store(str(folder / "store.db"))
    with store.reading() as connection:
        source = all_sources(connection)[0]
    d, width = len(source.variables), source.bucket_us
    first = (end - rows * 1_000_000) // width * width
    times = first + 1_000_000 * np.arange(rows)
    values = make_rows(rows, d, seed=1)
    rng = np.random.default_rng(2)
    expected = values + 0.05 * rng.standard_normal(values.shape)
    score = np.abs(rng.standard_normal(rows)) * 0.2
    # Faults are where make_rows put them.
    for start in range(rows // 7, rows, rows // 7):
        score[start : start + 15] += 12.0
        expected[start : start + 15, start % d] -= 3.0

    def write_rows(connection: Connection, part: slice) -> None:
        moments = times[part].tolist()
        # All at once and cut: packing row by row would take longer than writing.
        cells = _cut(pack_cells(values[part]), len(moments))
        zero = np.zeros_like(values[part])
        said = np.stack([expected[part], zero, zero], axis=1)
        details = _cut(said.astype("<f4").tobytes(), len(moments))
        # By the driver itself: two and a half million dicts would take longer than the writing.
        connection.exec_driver_sql(
            "INSERT INTO rows (source_id, time_us, arrived_us, cells) VALUES (?, ?, ?, ?)",
            [(source.id, time, end, cell) for time, cell in zip(moments, cells, strict=True)],
        )
        connection.exec_driver_sql(
            "INSERT INTO readings (source_id, time_us, score, raw, drift, rank, warm_up, detail) "
            "VALUES (?, ?, ?, ?, 1.0, 1, 0, ?)",
            [
                (source.id, time, value, value, detail)
                for time, value, detail in zip(moments, score[part].tolist(), details, strict=True)
            ],
        )

    def write_summaries(connection: Connection) -> None:
        lines = np.empty((rows, 1 + 2 * d))
        lines[:, 0], lines[:, 1::2], lines[:, 2::2] = score, values, expected
        starts = np.arange(first, times[-1], width)
        edges = np.searchsorted(times, [*starts, times[-1] + 1])
        # As in the service, the bucket of the newest row is not summarised yet.
        for at, start in enumerate(starts[:-1].tolist()):
            part = slice(edges[at], edges[at + 1])
            kept = [
                {
                    "source_id": source.id,
                    "level": level,
                    "start_us": start,
                    "data": summarise(
                        times[part], lines[part], start=start, width=width, parts=parts
                    ),
                }
                for level, parts in ((COARSE, 1), (FINE, PARTS))
            ]
            connection.execute(insert(summaries), kept)

    for begin in range(0, rows, _AT_ONCE):
        part = slice(begin, begin + _AT_ONCE)
        store.writer.run(lambda connection, part=part: write_rows(connection, part))
    store.writer.run(write_summaries)
    store.writer.run(lambda connection: scored_until(connection, source.id, int(times[-1]) + 1, 0))
    store.close()
