"""Rows in the body of a request."""

from __future__ import annotations

import math
from collections.abc import AsyncIterator
from typing import Any

from fastapi import Request
from pydantic_core import from_json

from alora_ts.errors import DataError
from alora_ts.serve.rows.interface import Row
from alora_ts.serve.rows.values import RowError
from alora_ts.serve.times import to_micros

__all__ = ["ndjson_rows", "read_json", "read_row", "read_rows"]

_LONGEST_LINE = 1 << 20
_AT_ONCE = 2000


def read_json(body: bytes) -> Any:
    """Decode JSON; NaN and Infinity are taken, as many senders write them."""
    try:
        return from_json(body)
    except ValueError as error:
        raise DataError(f"the body is not JSON: {error}") from error


def read_row(item: Any) -> Row | RowError:
    """One row, or why it is none."""
    if not isinstance(item, dict) or "time" not in item or "values" not in item:
        return RowError("not-a-row", "a row is an object with time and values")
    try:
        time = _read_time(item["time"])
    except (DataError, OverflowError) as error:
        return RowError("bad-time", str(error))
    return Row(time, item["values"])


def _read_time(given: Any) -> int:
    """ISO 8601, or a number of seconds since 1970, as connectors take it."""
    if isinstance(given, int | float) and not isinstance(given, bool):
        if not math.isfinite(given):
            raise DataError("a time that is a number must be seconds since 1970")
        return round(given * 1e6)
    return to_micros(given)


def read_rows(body: bytes) -> list[Row | RowError]:
    """Rows from ``{"rows": [...]}``, or one row alone."""
    content = read_json(body)
    if isinstance(content, dict) and isinstance(content.get("rows"), list):
        return [read_row(item) for item in content["rows"]]
    if isinstance(content, dict) and "time" in content and "values" in content:
        return [read_row(content)]
    raise DataError('the body must be {"rows": [{"time": ..., "values": {...}}, ...]} or one row')


async def ndjson_rows(request: Request) -> AsyncIterator[list[Row | RowError]]:
    """Rows of a stream of lines, some at a time, as they arrive."""
    rest = b""
    async for chunk in request.stream():
        *lines, rest = (rest + chunk).split(b"\n")
        if len(rest) > _LONGEST_LINE:
            raise DataError(f"a line is longer than {_LONGEST_LINE:,} bytes; send one row a line")
        rows = [_read_line(line) for line in lines if line.strip()]
        for at in range(0, len(rows), _AT_ONCE):
            yield rows[at : at + _AT_ONCE]
    if rest.strip():
        yield [_read_line(rest)]


def _read_line(line: bytes) -> Row | RowError:
    try:
        return read_row(from_json(line))
    except ValueError:
        return RowError("not-json", "the line is not JSON")
