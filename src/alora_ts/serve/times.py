"""Times on the wire (ISO 8601, UTC) and in the store (integer microseconds since 1970)."""

from __future__ import annotations

import time
from datetime import UTC, datetime, timedelta
from typing import Any

from alora_ts.errors import DataError

__all__ = ["from_micros", "now_micros", "to_micros"]

_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)


def to_micros(moment: Any) -> int:
    """Microseconds since 1970 of an ISO 8601 text or a datetime; without a zone it counts as UTC.

    Examples
    --------
    >>> to_micros("1970-01-01T00:00:01.5Z"), to_micros("1970-01-01 01:00:00+01:00")
    (1500000, 0)
    >>> to_micros("yesterday")
    Traceback (most recent call last):
    alora_ts.errors.DataError: cannot read the time 'yesterday'; give ISO 8601, such as ...
    """
    if isinstance(moment, str):
        try:
            moment = datetime.fromisoformat(moment)
        except ValueError as error:
            raise DataError(
                f"cannot read the time {moment[:60]!r}; give ISO 8601, such as 2026-05-01T12:00:00Z"
            ) from error
    if not isinstance(moment, datetime):
        raise DataError("a time must be ISO 8601 text, such as 2026-05-01T12:00:00Z")
    if moment.tzinfo is None:
        moment = moment.replace(tzinfo=UTC)
    passed: timedelta = moment - _EPOCH
    return (passed.days * 86_400 + passed.seconds) * 1_000_000 + passed.microseconds


def from_micros(micros: int) -> str:
    """ISO 8601 with microseconds.

    Examples
    --------
    >>> from_micros(1_500_000)
    '1970-01-01T00:00:01.500000Z'
    """
    moment = _EPOCH + timedelta(microseconds=micros)
    return moment.strftime("%Y-%m-%dT%H:%M:%S.%fZ").rjust(27, "0")


def now_micros() -> int:
    """The clock of this machine."""
    return time.time_ns() // 1000
