"""A table sent to the service as if its rows came in now."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace

import numpy as np

from alora_ts.data.record import Table
from alora_ts.errors import AloraError, DataError
from alora_ts.serve.client import RefusedError, ServiceClient, UnreachableError
from alora_ts.serve.connect.directory import as_rows
from alora_ts.serve.rows.interface import Row
from alora_ts.serve.times import from_micros

__all__ = ["Replayed", "replay", "table_blocks"]

_CELLS, _ROWS = 20_000, 500  # of one request
_PULSE = 0.2  # seconds: rows that fall due within it travel together


@dataclass
class Replayed:
    """How far a replay came.

    Attributes
    ----------
    sent : int
        Rows that the service has answered for.
    accepted, duplicates, refused : int
        What became of them; a row that was merged counts as accepted.
    reason : str
        Why the first of those refused was.
    """

    sent: int = 0
    accepted: int = 0
    duplicates: int = 0
    refused: int = 0
    reason: str = ""


def table_blocks(table: Table, *, skip: int = 0) -> Iterator[list[Row]]:
    """A table's rows, some at a time; where it has no times a row is a second."""
    if table.timestamps is None:
        table = replace(table, timestamps=np.arange(len(table.values), dtype=np.float64))
    assert table.timestamps is not None
    size = max(1, min(_ROWS, _CELLS // max(1, len(table.variables))))
    for start in range(skip, len(table.values), size):
        cut = slice(start, start + size)
        yield as_rows(
            replace(table, values=table.values[cut], timestamps=table.timestamps[cut], label=None)
        )


def replay(
    blocks: Iterator[list[Row]],
    client: ServiceClient,
    source: str,
    *,
    speed: float | None,
    skip: int = 0,
    report: Callable[[Replayed], None] = lambda _: None,
    clock: Callable[[], float] = time.time,
    sleep: Callable[[float], None] = time.sleep,
) -> Replayed:
    """Send rows when they are due.

    Parameters
    ----------
    blocks : iterator of list of Row
        In order of time.
    client : ServiceClient
    source : str
    speed : float or None
        The first row gets the time of the start; those after it follow at the table's distances,
        divided by this. None keeps the table's times and waits for nothing.
    skip : int
        Rows before these, for what is said about how far it came.
    report : callable
        Called after every answer.
    clock, sleep : callable
        Seconds since 1970, and waiting.

    Raises
    ------
    AloraError
        When the service stays away or refuses everything; says how far it came.

    Notes
    -----
    A row is sent once the clock has reached its time, never before. While the service is away
    rows fall due and keep their times; they are sent when it is back.
    """
    done = Replayed()
    waiting: list[Row] = []

    def flush() -> None:
        if waiting:
            _send(client, source, waiting, done, skip)
            waiting.clear()
            report(done)

    begin, first = clock(), None
    for block in blocks:
        for row in block:
            if speed is None:
                waiting.append(row)
                continue
            first = row.time if first is None else first
            due = begin + (row.time - first) / 1e6 / speed
            if due > clock():
                flush()
                while (wait := due - clock()) > 0:
                    sleep(max(wait, _PULSE))
            # Rounded down, or a row could be ahead of the clock by a part of a microsecond.
            waiting.append(Row(int(due * 1e6), row.values))
        if speed is None or len(waiting) >= len(block):
            flush()
    flush()
    return done


def _send(client: ServiceClient, source: str, rows: list[Row], done: Replayed, skip: int) -> None:
    body = {"rows": [{"time": from_micros(row.time), "values": row.values} for row in rows]}
    come = f"{done.sent + skip:,} rows were sent; go on with --skip {done.sent + skip}"
    try:
        receipt = client.post("sources", source, "rows", json=body)
    except UnreachableError as error:
        raise AloraError(f"{error}; {come}") from error
    except RefusedError as error:
        if error.status == 422:
            raise DataError(
                f"the service refused all of {len(rows):,} rows: {error}; {come}"
            ) from error
        raise AloraError(f"{error}; {come}") from error
    done.sent += len(rows)
    done.accepted += receipt["accepted"] + receipt["merged"]
    done.duplicates += receipt["duplicates"]
    done.refused += len(receipt["rejected"])
    if receipt["rejected"] and not done.reason:
        done.reason = receipt["rejected"][0]["reason"]
