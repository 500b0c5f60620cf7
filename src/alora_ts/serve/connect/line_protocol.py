"""InfluxDB's line protocol, as Telegraf writes it."""

from __future__ import annotations

from collections.abc import Iterator

from line_protocol_parser import LineFormatError, parse_line

from alora_ts.errors import DataError
from alora_ts.serve.connect.receiver import Point

__all__ = ["PRECISIONS", "LineError", "read_lines"]

PRECISIONS = {
    "n": (1, 1000),
    "ns": (1, 1000),
    "u": (1, 1),
    "us": (1, 1),
    "µ": (1, 1),
    "ms": (1000, 1),
    "s": (1_000_000, 1),
    "m": (60_000_000, 1),
    "h": (3_600_000_000, 1),
}
"""By name: with what a time is multiplied and divided to be microseconds."""
_LAST_TIME = 9_223_372_036_000_000


class LineError(DataError):
    """A line cannot be read; the message begins as InfluxDB's does."""


def read_lines(text: str, *, precision: str, now: int) -> Iterator[list[Point] | LineError]:
    """Read the numbers of each line, in order; empty lines and comments are none.

    Each field is a series of its own, with the labels ``_measurement``, ``_field`` and the tags.
    Texts and truth values are no signals and are left out.

    Parameters
    ----------
    text : str
    precision : str
        One of :data:`PRECISIONS`.
    now : int
        The time of lines without one, in microseconds.

    Examples
    --------
    >>> next(read_lines('cpu,host=a idle=93.5,state="ok" 2', precision="s", now=0))
    [Point(labels={'_measurement': 'cpu', 'host': 'a', '_field': 'idle'}, time=2000000, value=93.5)]
    """
    for piece in text.split("\n"):
        line = piece.strip("\r\t ")
        if not line or line.startswith("#"):
            continue
        try:
            yield _read_line(line, PRECISIONS[precision], now)
        except LineError as error:
            yield error


def _read_line(line: str, precision: tuple[int, int], now: int) -> list[Point]:
    try:
        found = parse_line(line)
    # A number of thousands of digits is a ValueError.
    except (LineFormatError, ValueError, OverflowError) as error:
        raise LineError(f"unable to parse '{line[:200]}': {str(error).rstrip('.')}") from error
    times, parts = precision
    time = now if found["time"] is None else found["time"] * times // parts
    if not 0 <= time <= _LAST_TIME:
        raise LineError(f"unable to parse '{line[:200]}': time outside range")
    labels = {"_measurement": found["measurement"], **found["tags"]}
    return [
        Point({**labels, "_field": name}, time, float(value))
        for name, value in found["fields"].items()
        if isinstance(value, int | float) and not isinstance(value, bool)
    ]
