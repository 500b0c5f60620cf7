"""Bytes that devices send, read as samples and rows; what cannot be read has one fixed reason."""

from __future__ import annotations

import json
import math
from collections.abc import Iterator, Mapping
from typing import Any, NoReturn

from alora_ts.errors import DataError
from alora_ts.serve.connect.settings import TimeUnit
from alora_ts.serve.rows.interface import Row
from alora_ts.serve.times import to_micros

__all__ = ["MAX_PAYLOAD", "MalformedError", "read_fields", "read_rows", "read_time", "read_value"]

MAX_PAYLOAD = 1_000_000  # bytes; a row of ten thousand variables fits
_UNITS: dict[TimeUnit, int] = {"s": 1_000_000, "ms": 1_000, "us": 1}
# Years 1970 to 2262: what 64-bit nanoseconds reach, and all that clocks honestly say.
_LAST_TIME = 9_223_372_036_000_000


class MalformedError(DataError):
    """A payload cannot be used; the message is one of few, so that it can be counted by."""


def read_value(
    payload: bytes, *, value_key: str = "value", time_key: str = "time", unit: TimeUnit = "s"
) -> tuple[int | None, float]:
    """Read one value: a plain or JSON number, or an object with a value and perhaps a time.

    Returns
    -------
    (int or None, float)
        When it was in microseconds, if it says so, and the value.

    Examples
    --------
    >>> read_value(b" 21.5 ")
    (None, 21.5)
    >>> read_value(b'{"value": 3, "time": "1970-01-01T00:00:02Z"}')
    (2000000, 3.0)
    >>> read_value(b"hot")
    Traceback (most recent call last):
    ...
    alora_ts.serve.connect.payload.MalformedError: not a number
    """
    text = _text(payload)
    try:
        found: Any = _json(text)
    except MalformedError:
        found = None
    if not isinstance(found, dict):
        return None, _number(found if found is not None else _plain(text))
    if value_key not in found:
        raise MalformedError("no value")
    return _optional_time(found, time_key, unit), _number(found[value_key])


def read_fields(
    payload: bytes, *, time_key: str = "time", unit: TimeUnit = "s"
) -> tuple[int | None, dict[str, float]]:
    """Read an object of several signals; what is not a finite number is left out.

    Devices send states, versions and battery levels beside their measurements.

    Examples
    --------
    >>> read_fields(b'{"temperature": 21.5, "state": "ON", "time": 3}')
    (3000000, {'temperature': 21.5})
    """
    found = _object(_json(_text(payload)))
    time = _optional_time(found, time_key, unit)
    values = dict[str, float]()
    for key, value in found.items():
        if key != time_key:
            try:
                values[key] = _number(value)
            except MalformedError:
                continue
    return time, values


def read_rows(payload: bytes, *, time_key: str = "time", unit: TimeUnit = "s") -> Iterator[Row]:
    """Read a row, or a JSON array of rows; each an object with time and values.

    The values stand under ``values``, or beside the time.

    Examples
    --------
    >>> next(read_rows(b'{"time": 1, "values": {"a": 2, "b": null}}'))
    Row(time=1000000, values={'a': 2.0, 'b': None})
    >>> next(read_rows(b'{"time": 1, "a": 2}'))
    Row(time=1000000, values={'a': 2.0})
    """
    found = _json(_text(payload))
    for item in found if isinstance(found, list) else [found]:
        given = _object(item)
        time = _optional_time(given, time_key, unit)
        if time is None:
            raise MalformedError("no time")
        values = given.get("values")
        if not isinstance(values, dict):
            values = {key: value for key, value in given.items() if key != time_key}
        yield Row(time, {key: _cell(value) for key, value in values.items()})


def read_time(value: object, unit: TimeUnit = "s") -> int:
    """Read a time, ISO 8601 text or a number since 1970, as microseconds.

    Examples
    --------
    >>> read_time(1.5), read_time(1500, "ms"), read_time("1970-01-01T00:00:01.5Z")
    (1500000, 1500000, 1500000)
    """
    if isinstance(value, str):
        try:
            return to_micros(value)
        except (DataError, OverflowError) as error:
            raise MalformedError("not a time") from error
    if isinstance(value, bool) or not isinstance(value, int | float):
        raise MalformedError("not a time")
    if isinstance(value, float) and not math.isfinite(value):
        raise MalformedError("not a time")
    time = round(value * _UNITS[unit])
    if not 0 <= time <= _LAST_TIME:
        raise MalformedError("not a time")
    return time


def _text(payload: bytes) -> str:
    if len(payload) > MAX_PAYLOAD:
        raise MalformedError("payload too big")
    try:
        return payload.decode("utf-8")
    except UnicodeDecodeError as error:
        raise MalformedError("not UTF-8") from error


def _json(text: str) -> object:
    try:
        found: object = json.loads(text, parse_constant=_refuse_constant)
    except MalformedError:
        raise
    # Numbers of thousands of digits are a ValueError, deep nesting is a RecursionError.
    except (ValueError, RecursionError) as error:
        raise MalformedError("not JSON") from error
    return found


def _refuse_constant(_: str) -> NoReturn:
    raise MalformedError("not finite")


def _object(found: object) -> dict[str, Any]:
    if not isinstance(found, dict):
        raise MalformedError("not an object")
    return found


def _optional_time(found: Mapping[str, Any], key: str, unit: TimeUnit) -> int | None:
    return read_time(found[key], unit) if found.get(key) is not None else None


def _cell(value: object) -> float | None:
    return None if value is None else _number(value)


def _plain(text: str) -> float:
    # float() also takes underscores, which no device means.
    try:
        return float(text) if "_" not in text else _refuse_number()
    except ValueError:
        _refuse_number()


def _refuse_number() -> NoReturn:
    raise MalformedError("not a number")


def _number(value: object) -> float:
    if isinstance(value, bool) or not isinstance(value, int | float):
        _refuse_number()
    try:
        number = float(value)
    except OverflowError as error:
        raise MalformedError("not finite") from error
    if not math.isfinite(number):
        raise MalformedError("not finite")
    return number
