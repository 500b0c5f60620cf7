"""Whatever devices send is read or refused with one of few reasons."""

from __future__ import annotations

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from alora_ts.serve.connect.payload import (
    MAX_PAYLOAD,
    MalformedError,
    read_fields,
    read_rows,
    read_time,
    read_value,
)

REASONS = {
    "not JSON",
    "not UTF-8",
    "not a number",
    "not a time",
    "not an object",
    "not finite",
    "no time",
    "no value",
    "payload too big",
}


@pytest.mark.parametrize(
    ("payload", "reason"),
    [
        (b"", "not a number"),
        (b"warm", "not a number"),
        (b"\xff\xfe", "not UTF-8"),
        (b"NaN", "not finite"),
        (b"nan", "not finite"),
        (b"-inf", "not finite"),
        (b"1e999", "not finite"),
        (b"1_000", "not a number"),
        (b"true", "not a number"),
        (b"null", "not a number"),
        (b'"3"', "not a number"),
        (b"[1]", "not a number"),
        (b"9" * 5000, "not finite"),
        (b'{"v": 1}', "no value"),
        (b'{"value": "1"}', "not a number"),
        (b'{"value": null}', "not a number"),
        (b'{"value": 1, "time": "yesterday"}', "not a time"),
        (b'{"value": 1, "time": -5}', "not a time"),
        (b'{"value": 1, "time": 1e300}', "not a time"),
        (b'{"value": 1, "time": []}', "not a time"),
        (b" " * (MAX_PAYLOAD + 1), "payload too big"),
    ],
)
def test_values_that_are_none(payload: bytes, reason: str) -> None:
    with pytest.raises(MalformedError, match=f"^{reason}$"):
        read_value(payload)


@pytest.mark.parametrize(
    ("payload", "reason"),
    [
        (b"3", "not an object"),
        (b"[3]", "not an object"),
        (b"{", "not JSON"),
        (b"[" * 100_000, "not JSON"),
        (b"{}", "no time"),
        (b'{"time": null, "a": 1}', "no time"),
        (b'{"time": 1, "a": NaN}', "not finite"),
        (b'{"time": 1, "a": "x"}', "not a number"),
        (b'{"time": 1, "values": {"a": true}}', "not a number"),
        (b'{"time": 1, "values": {"a": ' + b"9" * 400 + b"}}", "not finite"),
    ],
)
def test_rows_that_are_none(payload: bytes, reason: str) -> None:
    with pytest.raises(MalformedError, match=f"^{reason}$"):
        list(read_rows(payload))


@given(st.binary(max_size=60) | st.text(max_size=60).map(str.encode))
def test_no_bytes_raise_anything_else(payload: bytes) -> None:
    for read in (read_value, read_fields, lambda given: list(read_rows(given))):
        reason = None
        try:
            read(payload)
        except MalformedError as error:
            reason = str(error)
        assert reason is None or reason in REASONS


numbers = st.floats(allow_nan=False, allow_infinity=False)
rows = st.dictionaries(st.text(max_size=5), st.none() | numbers, max_size=5)


@given(st.lists(st.tuples(st.integers(0, 10**15), rows), min_size=1, max_size=4))
def test_rows_come_back_as_written(given_rows: list[tuple[int, dict[str, float | None]]]) -> None:
    written = [{"time": time, "values": values} for time, values in given_rows]
    read = list(read_rows(json.dumps(written).encode(), unit="us"))
    assert [(row.time, row.values) for row in read] == given_rows


@given(numbers)
def test_numbers_come_back_plain_and_as_json(value: float) -> None:
    assert read_value(repr(value).encode()) == (None, value)
    assert read_value(json.dumps({"value": value, "time": 2}).encode()) == (2_000_000, value)


def test_one_bad_field_does_not_spoil_the_others() -> None:
    payload = b'{"a": 1, "b": "OFF", "c": null, "d": 1e999, "e": {"f": 1}, "g": true, "h": 2}'
    assert read_fields(payload) == (None, {"a": 1.0, "h": 2.0})


def test_times_without_a_zone_are_utc() -> None:
    assert read_time("2026-05-01T12:00:00") == read_time("2026-05-01T14:00:00+02:00")
    assert read_time(0) == 0
