"""InfluxDB's line protocol, as Telegraf writes it."""

from __future__ import annotations

import math
import re
from collections.abc import Iterator

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

# Every character fits one alternative only, so a line is read in one pass.
_NAME = r"(?:\\.|[^,\s\\])+"
_KEY = r"(?:\\.|[^,=\s\\])+"
_TEXT = r'"(?:\\.|[^"\\])*"'
_TAG = rf",{_KEY}={_KEY}"
_FIELD = rf'{_KEY}=(?:{_TEXT}|[^,\s"]+)'
_LINE = re.compile(
    rf"(?P<measurement>{_NAME})(?P<tags>(?:{_TAG})*)[ ]+(?P<fields>{_FIELD}(?:,{_FIELD})*)"
    r"(?:[ ]+(?P<time>-?\d{1,19}))?[ ]*",
    re.DOTALL,
)
_ONE_TAG = re.compile(rf",({_KEY})=({_KEY})", re.DOTALL)
_ONE_FIELD = re.compile(rf'({_KEY})=({_TEXT}|[^,\s"]+)(?:,|$)', re.DOTALL)
_NUMBER = re.compile(r"([+-]?(?:\d+\.?\d*|\.\d+)(?:[eE][+-]?\d+)?)|([+-]?\d+)i|(\d+)u")
_TRUTH = {"t", "T", "true", "True", "TRUE", "f", "F", "false", "False", "FALSE"}
_ESCAPED = re.compile(r"\\([,= ])")


class LineError(DataError):
    """A line cannot be read; the message is what InfluxDB says of it."""


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
    found = _LINE.fullmatch(line)
    if found is None:
        raise LineError(f"unable to parse '{line[:200]}': {_why(line)}")
    labels = {"_measurement": _plain(found["measurement"])}
    for tag in _ONE_TAG.finditer(found["tags"]):
        labels[_plain(tag[1])] = _plain(tag[2])
    time = now
    if found["time"] is not None:
        times, parts = precision
        time = int(found["time"]) * times // parts
        if not 0 <= time <= _LAST_TIME:
            raise LineError(f"unable to parse '{line[:200]}': time outside range")
    points = list[Point]()
    for name, value in _ONE_FIELD.findall(found["fields"]):
        if value.startswith('"') or value in _TRUTH:
            continue
        number = _NUMBER.fullmatch(value)
        if number is None:
            raise LineError(f"unable to parse '{line[:200]}': invalid number")
        size = float(number[1] or number[2] or number[3])
        if not math.isfinite(size):
            raise LineError(f"unable to parse '{line[:200]}': value out of range")
        points.append(Point({**labels, "_field": _plain(name)}, time, size))
    return points


def _why(line: str) -> str:
    if line.startswith(","):
        return "missing measurement"
    parts = re.split(r"(?<!\\) +", line, maxsplit=1)
    if len(parts) == 1:
        return "missing fields"
    if re.fullmatch(rf"{_NAME}(?:{_TAG})*", parts[0], re.DOTALL) is None:
        return "missing tag value"
    fields = re.match(rf"{_FIELD}(?:,{_FIELD})*", parts[1], re.DOTALL)
    if fields is None:
        return "invalid field format"
    rest = parts[1][fields.end() :]
    return "bad timestamp" if rest.startswith(" ") else "invalid field format"


def _plain(text: str) -> str:
    return _ESCAPED.sub(r"\1", text)
