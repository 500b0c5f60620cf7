"""Times as plain numbers, which is what the arithmetic of alignment needs."""

from __future__ import annotations

from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from alora_ts.data.record import Table

__all__ = [
    "TimeKind",
    "as_moment",
    "as_ticks",
    "as_timestamps",
    "median_step",
    "ticks_per_unit",
    "time_kind",
]

TimeKind = Literal["datetime", "number"] | None


def time_kind(table: Table) -> TimeKind:
    """Say what a table's times are.

    Examples
    --------
    >>> time_kind(Table(np.zeros((1, 1)), ("a",), np.array([0], "datetime64[us]")))
    'datetime'
    """
    if table.timestamps is None:
        return None
    return "datetime" if table.timestamps.dtype.kind == "M" else "number"


def ticks_per_unit(kind: TimeKind) -> int:
    """Return the ticks in a second (or in whatever unit times that are numbers have).

    Examples
    --------
    >>> ticks_per_unit("datetime")
    1000000
    """
    return 1_000_000 if kind == "datetime" else 1


def as_ticks(table: Table, rows_before: int = 0) -> NDArray[Any]:
    """Return the times as numbers; row numbers where there are no times.

    Examples
    --------
    >>> as_ticks(Table(np.zeros((2, 1)), ("a",)), 5)
    array([5, 6])
    """
    if table.timestamps is None:
        return np.arange(rows_before, rows_before + len(table))
    if time_kind(table) == "datetime":
        return table.timestamps.view(np.int64)
    return table.timestamps


def as_moment(tick: Any, kind: TimeKind) -> Any:
    """Turn a tick back into a time.

    Examples
    --------
    >>> print(as_moment(1_000_000, "datetime"))
    1970-01-01T00:00:01.000000
    """
    return np.datetime64(int(tick), "us") if kind == "datetime" else float(tick)


def as_timestamps(ticks: NDArray[Any], table: Table) -> NDArray[Any] | None:
    """Turn ticks of a table's rows back into its kind of timestamps.

    Examples
    --------
    >>> as_timestamps(np.array([3]), Table(np.zeros((1, 1)), ("a",))) is None
    True
    """
    if table.timestamps is None:
        return None
    return ticks.view("datetime64[us]") if time_kind(table) == "datetime" else ticks


def median_step(table: Table) -> float | None:
    """Return the usual time between neighbours in seconds (or units, or rows); None if unknown.

    Examples
    --------
    >>> median_step(Table(np.zeros((3, 1)), ("a",), np.array([0.0, 5.0, 10.0])))
    5.0
    """
    if len(table) < 2:
        return None
    if table.timestamps is None:
        return 1.0
    steps = np.diff(as_ticks(table))
    forward = steps[steps > 0]
    return float(np.median(forward)) / ticks_per_unit(time_kind(table)) if len(forward) else None
