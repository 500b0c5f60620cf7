"""When to fit and which rows each model scores."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from alora_ts.errors import DataError

__all__ = ["Plan", "Span", "parse_span", "plan_rounds"]

# A number of rows, or a duration as text ("90min", "12h", "7d").
Span = int | str

_UNITS = {"s": 1, "min": 60, "h": 3_600, "d": 86_400, "w": 604_800}


@dataclass(frozen=True)
class Plan:
    """One round: fit on rows [train_start, train_end), score rows [train_end, score_end)."""

    train_start: int
    train_end: int
    score_end: int


def parse_span(span: Span, name: str) -> tuple[int | None, float | None]:
    """Rows, or seconds, that a span means; the other is None.

    Raises
    ------
    DataError
        When it is neither, or not positive.

    Examples
    --------
    >>> parse_span(500, "refit_every"), parse_span("12h", "refit_every")
    ((500, None), (None, 43200.0))
    >>> parse_span("tomorrow", "refit_every")
    Traceback (most recent call last):
    ...
    alora_ts.errors.DataError: refit_every='tomorrow' is not a span; give rows (500) or a ...
    """
    text = str(span).strip()
    found = re.fullmatch(r"(\d+(?:\.\d+)?)\s*([a-z]*)", text)
    if found is not None and float(found[1]) > 0:
        if not found[2] and found[1].isdigit():
            return int(found[1]), None
        if found[2] in _UNITS:
            return None, float(found[1]) * _UNITS[found[2]]
    raise DataError(
        f"{name}={span!r} is not a span; give rows (500) or a duration in "
        + ", ".join(f"{unit} (2{unit})" for unit in _UNITS)
    )


def plan_rounds(
    rows: int,
    timestamps: NDArray[Any] | None,
    *,
    train: float | str,
    refit_every: Span | None,
    history: Span | None,
) -> tuple[Plan, ...]:
    """Divide history into rounds.

    Parameters
    ----------
    rows : int
    timestamps : ndarray of shape (rows,) or None
        In order; durations need them.
    train : float, int or str
        The first part: a share of the rows below 1, a number of rows, or a duration.
    refit_every : int, str or None
        Rows or duration from one fit to the next; None fits once.
    history : int, str or None
        Rows or duration before a fit that it learns from; None is everything so far.

    Returns
    -------
    tuple of Plan

    Examples
    --------
    >>> for plan in plan_rounds(100, None, train=0.5, refit_every=30, history=40):
    ...     print(plan)
    Plan(train_start=10, train_end=50, score_end=80)
    Plan(train_start=40, train_end=80, score_end=100)
    """
    first = _first_part(rows, timestamps, train)
    if not 0 < first < rows:
        raise DataError(
            f"train={train!r} takes {first:,} of {rows:,} rows; leave rows to train on and rows "
            "to replay"
        )
    ends = [first]
    if refit_every is not None:
        ends = _fits(rows, timestamps, first, refit_every)
    plans = []
    for end, until in zip(ends, [*ends[1:], rows], strict=True):
        start = 0 if history is None else _back(end, timestamps, history)
        plans.append(Plan(start, end, until))
    return tuple(plans)


def _first_part(rows: int, timestamps: NDArray[Any] | None, train: float | str) -> int:
    if isinstance(train, float) and 0 < train < 1:
        return round(rows * train)
    if isinstance(train, float) and train.is_integer():
        train = int(train)
    count, seconds = parse_span(train if isinstance(train, int) else str(train), "train")
    if count is not None:
        return count
    assert seconds is not None
    clock = _clock(timestamps, f"train={train!r}")
    return int(np.searchsorted(clock, clock[0] + seconds))


def _fits(rows: int, timestamps: NDArray[Any] | None, first: int, every: Span) -> list[int]:
    count, seconds = parse_span(every, "refit_every")
    if count is not None:
        return list(range(first, rows, count))
    assert seconds is not None
    clock = _clock(timestamps, f"refit_every={every!r}")
    moments = np.arange(clock[first], clock[-1] + 1e-9, seconds)
    # Several moments inside one gap mean the same row: one fit serves them all.
    ends = np.unique(np.searchsorted(clock, moments))
    return [int(end) for end in ends]


def _back(end: int, timestamps: NDArray[Any] | None, history: Span) -> int:
    count, seconds = parse_span(history, "history")
    if count is not None:
        return max(0, end - count)
    assert seconds is not None
    clock = _clock(timestamps, f"history={history!r}")
    return int(np.searchsorted(clock, clock[end] - seconds))


def _clock(timestamps: NDArray[Any] | None, asked: str) -> NDArray[np.float64]:
    """Seconds of each row."""
    if timestamps is None or timestamps.dtype.kind != "M":
        raise DataError(
            f"{asked} is a duration, but the table has no column of dates; name it with time=, or "
            "give a number of rows"
        )
    seconds: NDArray[np.float64] = (timestamps - timestamps[0]) / np.timedelta64(1, "s")
    return seconds
