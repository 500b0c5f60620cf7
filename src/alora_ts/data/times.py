"""Finding and reading the time column."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import product
from typing import Any, NoReturn

import narwhals as nw
import numpy as np
import polars as pl
from numpy.typing import NDArray

from alora_ts.data.form import EPOCHS
from alora_ts.errors import DataError

__all__ = ["Times", "find_time", "is_unnamed", "named_like_time", "read_times"]

_NAMES = {"time", "timestamps", "date", "ds", "ts", "tstamp", "utc", "timeutc", "utctime",
          "localtime", "eventtime", "sampletime", "recordedat", "createdat", "epoch",
          "unixtime"}  # fmt: skip
_YEAR_FIRST = ("%Y-%m-%d", "%Y/%m/%d", "%Y.%m.%d", "%Y%m%d")
_DAY_FIRST = ("%d.%m.%Y", "%d/%m/%Y", "%d-%m-%Y", "%d.%m.%y", "%d/%m/%y", "%d-%m-%y", "%y-%m-%d")
_MONTH_FIRST = ("%m/%d/%Y", "%m-%d-%Y", "%m/%d/%y", "%m-%d-%y")
_NAMED = (
    "%d-%b-%Y", "%d %b %Y", "%d/%b/%Y", "%d-%b-%y", "%d %b %y", "%d-%B-%Y", "%d %B %Y",
    "%b %d %Y", "%b %d, %Y", "%B %d %Y", "%B %d, %Y", "%Y-%b-%d",
)  # fmt: skip
_SHORT_YEAR_FIRST = ("%y/%m/%d", "%y.%m.%d")  # only where nothing else reads it
_CLOCKS = ("", "%H:%M:%S%.f", "%H:%M", "%I:%M:%S%.f %p", "%I:%M %p")
_COMPACT = ("%Y%m%d%H%M%S%.f", "%Y%m%d%H%M%S", "%Y%m%d%H%M", "%Y%m%dT%H%M%S", "%Y%m%d %H%M%S",
            "%Y%m%d %H%M")  # fmt: skip


def _forms(dates: Sequence[str]) -> tuple[str, ...]:
    timed = product(dates, _CLOCKS, (" ", "T"), ("", "%#z", " %#z"))
    full = [
        date + (f"{gap}{clock}{zone}" if clock else "")
        for date, clock, gap, zone in timed
        if clock or (gap, zone) == (" ", "")
    ]
    return (*full, *(f"{date} %H" for date in dates))


_FORMATS = (*_forms(_YEAR_FIRST + _DAY_FIRST + _MONTH_FIRST + _NAMED), *_COMPACT)
_LAST_FORMATS = _forms(_SHORT_YEAR_FIRST)
_WHOLE = {14: "%Y%m%d%H%M%S", 12: "%Y%m%d%H%M", 8: "%Y%m%d"}  # digits of dates in one number
_YEARS = (1000, 9999)  # of four digits, so that 26 is no year
_LIKELY_YEARS = (1900, 2200)  # of dates in one number, which might be a counter
# Numbers between these, in some unit since 1970, are moments of our time: 2000 to 2100.
_EARLIEST, _LATEST = 946_684_800, 4_102_444_800
_FEWEST_STEPS = 3
_JUMP = 10  # steps so many times the median are jumps


@dataclass(frozen=True)
class Times:
    """Timestamps as the library keeps them.

    Attributes
    ----------
    stamps : ndarray of datetime64[us] or numbers
    zone : str or None
    form : str or None
        How they were written, as ``FileForm.time_format`` says it; None for datetimes.
    note : str or None
        What the reader of a result should know about how they were read.
    """

    stamps: NDArray[Any]
    zone: str | None
    form: str | None = None
    note: str | None = None


def named_like_time(name: str) -> bool:
    """Say whether a column's name alone makes it the time column.

    Examples
    --------
    >>> [named_like_time(n) for n in ("Timestamp", "date_time", "unix_timestamp", "timer")]
    [True, True, True, False]
    """
    letters = re.sub(r"[^a-z]", "", name.lower())
    whole = ("timestamp", "datetime")
    return letters in _NAMES or letters.startswith(whole) or letters.endswith(whole)


def is_unnamed(name: str) -> bool:
    """Say whether a name is what an index without one becomes when it is written and read.

    Examples
    --------
    >>> [is_unnamed(name) for name in ("", "Unnamed: 0", "named")]
    [True, True, False]
    """
    return not name.strip() or re.fullmatch(r"unnamed: \d+", name.lower()) is not None


def find_time(schema: dict[str, nw.dtypes.DType]) -> str | None:
    """Choose the time column by type first and name second; None when there is none.

    A first column without a name is the time where nothing else is.

    Parameters
    ----------
    schema : dict of str to narwhals dtype
        The columns that may be it.

    Raises
    ------
    DataError
        When several columns could be it.

    Examples
    --------
    >>> find_time({"t1": nw.Float64(), "date": nw.String()})
    'date'
    """
    dated = [name for name, kind in schema.items() if isinstance(kind, nw.Datetime | nw.Date)]
    named = [name for name in schema if named_like_time(name)]
    first = [name for name in list(schema)[:1] if is_unnamed(name)]
    for found in ([n for n in dated if n in named], dated, named, first):
        if len(found) == 1:
            return found[0]
        if found:
            listed = ", ".join(map(repr, found))
            raise DataError(
                f"the columns {listed} could each be the time; name it with time= (--time) and "
                "leave the others out with ignore= (--ignore)"
            )
    return None


def read_times(
    column: nw.Series[Any],
    place: Callable[[int], str],
    *,
    given: str | None = None,
    hint: str | None = None,
) -> Times:
    """Read a time column of any type: datetimes, dates, text or plain numbers.

    Parameters
    ----------
    column : narwhals Series
        The column.
    place : callable
        Names a row in messages.
    given : str, optional
        How times are written, as ``FileForm.time_format``: then nothing else is tried.
    hint : str, optional
        How the same column was written in rows before, or in training, which is tried first.

    Raises
    ------
    DataError
        When a time is missing, not a time, not finite, or readable in two ways.

    Examples
    --------
    >>> column = nw.from_native(pl.Series("t", [20260102030405, 20260102030505]), series_only=True)
    >>> print(read_times(column, "row {}".format).stamps[1])
    2026-01-02T03:05:05.000000
    >>> column = nw.from_native(pl.Series("t", ["06/01/14 23"]), series_only=True)
    >>> print(read_times(column, "row {}".format, given="%d/%m/%y %H").stamps[0])
    2014-01-06T23:00:00.000000
    """
    name, kind = column.name, column.dtype
    note: str | None = None
    form: str | None = None
    if kind.is_numeric():
        return _read_numbers(column, place, given, hint)
    if isinstance(kind, nw.Object | nw.String | nw.Categorical | nw.Enum):
        cells = _plain(column, place)
        if cells.dtype == pl.String and (given in (*EPOCHS, "number") or hint in EPOCHS):
            cells = _numbers_in(cells, place) if given is not None else _try_numbers(cells)
        if cells.dtype.is_numeric():
            again = nw.from_native(cells, series_only=True).alias(name)
            return _read_numbers(again, place, given, hint)
        if cells.dtype == pl.String:
            cells, form, note = _parse(cells, name, place, given, hint)
        column = nw.from_native(cells, series_only=True).alias(name)
        kind = column.dtype
    if isinstance(kind, nw.Date):
        column = column.cast(nw.Datetime("us"))
    elif not isinstance(kind, nw.Datetime):
        raise DataError(
            f"the time column {name!r} holds {kind}, not times; name another with time= (--time)"
        )
    _refuse_missing(column, place)
    stamps = np.asarray(column.dt.timestamp("us").to_numpy(), dtype=np.int64)
    zone = kind.time_zone if isinstance(kind, nw.Datetime) else None
    return Times(stamps.view("datetime64[us]"), zone, form, note)


def _refuse_missing(column: nw.Series[Any], place: Callable[[int], str]) -> None:
    missing = np.flatnonzero(np.asarray(column.is_null().to_numpy(), dtype=bool))
    if len(missing):
        raise DataError(
            f"column {column.name!r}, {place(int(missing[0]))}: the time is missing "
            f"({len(missing):,} in all); remove these rows or fill in their times"
        )


def _read_numbers(
    column: nw.Series[Any], place: Callable[[int], str], given: str | None, hint: str | None
) -> Times:
    """Numbers: moments since 1970, dates written as one number, or just numbers."""
    _refuse_missing(column, place)
    stamps = column.to_numpy()
    if stamps.dtype.kind in "iu":
        stamps = stamps.astype(np.int64)
    else:
        stamps = stamps.astype(np.float64)
        bad = np.flatnonzero(~np.isfinite(stamps))
        if len(bad):
            raise DataError(
                f"column {column.name!r}, {place(int(bad[0]))}: the time is {stamps[bad[0]]}; "
                "remove this row or correct its time"
            )
    form = given or (hint if hint in (*EPOCHS, "number") else None) or _unit_of(stamps)
    if form in EPOCHS:
        note = f"times read as {_UNITS[form]} since 1970"
        return Times(_since_1970(stamps, form), "UTC", form, note)
    if form == "number":
        return Times(stamps, None, form)
    if stamps.dtype.kind == "i" or not (stamps % 1).any():
        # A date in one number, such as 20260102030405.
        text = pl.Series(column.name, stamps.astype(np.int64)).cast(pl.String)
        length = len(text[0]) if len(text) else 0
        found = form if form is not None else _WHOLE.get(length)
        if (
            found is not None
            and not (read := _read(text, found)).null_count()
            and (form is not None or read.dt.year().is_between(*_LIKELY_YEARS).all())
        ):
            dated = read.dt.epoch("us").to_numpy().view("datetime64[us]")
            return Times(dated, None, found, f"times read as {found}")
    if form is not None:
        raise DataError(
            f"column {column.name!r}, {place(0)}: the number {stamps[0]} is no time of the form "
            f"{form!r}; correct time_format= (--time-format)"
        )
    return Times(stamps, None, "number")


_UNITS = {"s": "seconds", "ms": "milliseconds", "us": "microseconds", "ns": "nanoseconds"}


def _unit_of(stamps: NDArray[Any]) -> str | None:
    """The unit in which the numbers are moments of our time."""
    if not len(stamps):
        return None
    low, high = float(stamps.min()), float(stamps.max())
    fits = (u for u, scale in EPOCHS.items() if _EARLIEST * scale <= low <= high < _LATEST * scale)
    return next(fits, None)


def _since_1970(stamps: NDArray[Any], unit: str) -> NDArray[Any]:
    scale = EPOCHS[unit]
    if stamps.dtype.kind == "i":
        whole = stamps // 1_000 if unit == "ns" else stamps * (1_000_000 // scale)
    else:
        whole = np.rint(stamps * (1e6 / scale)).astype(np.int64)
    return whole.astype(np.int64).view("datetime64[us]")


def _try_numbers(cells: pl.Series) -> pl.Series:
    numbers = cells.str.strip_chars().cast(pl.Float64, strict=False)
    return cells if numbers.null_count() else numbers


def _numbers_in(cells: pl.Series, place: Callable[[int], str]) -> pl.Series:
    numbers = cells.str.strip_chars().cast(pl.Float64, strict=False)
    bad = numbers.is_null()
    if bad.any():
        row = int(bad.arg_max() or 0)
        raise DataError(
            f"column {cells.name!r}, {place(row)}: {cells[row]!r} is no number; correct it or "
            "time_format= (--time-format)"
        )
    return numbers


def _plain(column: nw.Series[Any], place: Callable[[int], str]) -> pl.Series:
    """The cells as one polars column of text, times or numbers."""
    native = column.to_native()
    try:
        if isinstance(native, pl.Series):
            series = native if native.dtype == pl.String else native.cast(pl.String)
        else:
            series = pl.Series(column.name, column.to_list(), strict=True)
    except (TypeError, pl.exceptions.PolarsError) as error:
        raise DataError(
            f"the time column {column.name!r} mixes kinds of values (first row: {place(0)}); "
            "write all its times in one form"
        ) from error
    _refuse_missing(nw.from_native(series, series_only=True), place)
    return series


def _parse(
    text: pl.Series, name: str, place: Callable[[int], str], given: str | None, hint: str | None
) -> tuple[pl.Series, str, str | None]:
    text = text.str.strip_chars()
    if given is not None:
        read = _read(text, given)
        if read.null_count():
            row = int(read.is_null().arg_max() or 0)
            raise DataError(
                f"column {name!r}, {place(row)}: {text[row]!r} is no time of the form {given!r}; "
                "correct the cell or time_format= (--time-format)"
            )
        return read, given, _note(given)
    if hint is not None and hint not in (*EPOCHS, "number"):
        read = _read(text, hint)
        if not read.null_count():
            return read, hint, _note(hint)
    readings, fitting = list[tuple[str, pl.Series]](), list[str]()
    for forms in (_FORMATS, _LAST_FORMATS):
        # Most forms fail on the first cell already, which is far cheaper than reading them all.
        fits = [form for form in forms if not _read(text.head(1), form).null_count()]
        fitting += fits
        tried = ((form, _read(text, form)) for form in fits)
        readings = [(form, read) for form, read in tried if not read.null_count()]
        if readings:
            break
    if not readings:
        _refuse_text(text, fitting, name, place)
    different = [readings[0]]
    for form, read in readings[1:]:
        if not any(read.equals(other) for _, other in different):
            different.append((form, read))
    if len(different) == 1:
        form, read = different[0]
        return read, form, _note(form)
    steady = _steadiest(different)
    if steady is None:
        listed = " or ".join(repr(form) for form, _ in different)
        raise DataError(
            f"column {name!r}, {place(0)}: times such as {text[0]!r} can be read as day/month and "
            f"as month/day; say which with time_format= (--time-format), {listed}, or write them "
            "as year-month-day"
        )
    form, read = steady
    return read, form, f"times read as {form}: other readings jump"


def _note(form: str) -> str | None:
    return None if form.startswith(("%Y-%m-%d", "%Y/%m/%d")) else f"times read as {form}"


def _steadiest(readings: list[tuple[str, pl.Series]]) -> tuple[str, pl.Series] | None:
    """The reading in which time goes on in even steps, where only one is such."""
    jumps = list[int]()
    for _, read in readings:
        steps = np.diff(read.dt.epoch("us").to_numpy())
        moved = steps[steps != 0]
        if len(moved) < _FEWEST_STEPS:
            return None
        jumps.append(int(((moved < 0) | (moved > _JUMP * np.median(np.abs(moved)))).sum()))
    order = np.argsort(jumps, kind="stable")
    least, second = jumps[order[0]], jumps[order[1]]
    # Real gaps jump in every reading; a wrong one adds a jump for each day.
    return readings[int(order[0])] if second > 2 * least else None


def _read(text: pl.Series, form: str) -> pl.Series:
    """Read all cells, null where the form does not fit; years of two digits stay in our time."""
    if form.endswith("%H"):
        text, form = text + ":00", f"{form}:%M"
    try:
        read = text.str.to_datetime(form, strict=False, time_unit="us", exact=True)
    except pl.exceptions.PolarsError as error:
        raise DataError(
            f"time_format={form!r} (--time-format) cannot be used "
            f"({str(error).splitlines()[0]}); write one such as %d/%m/%Y %H:%M"
        ) from error
    if read.null_count() != len(read) and "%Y" in form:
        wrong = ~read.dt.year().is_between(*_YEARS)
        if wrong.any():
            read = read.set(wrong.fill_null(value=False), None)
    return read


def _refuse_text(
    text: pl.Series, forms: Sequence[str], name: str, place: Callable[[int], str]
) -> NoReturn:
    """Name the first cell that the form which reads furthest cannot read."""
    row = max((int(_read(text, form).is_null().arg_max() or 0) for form in forms), default=0)
    raise DataError(
        f"column {name!r}, {place(row)}: {text[row]!r} is not a time; write times as "
        "2024-12-31 23:59:59, say how they are written with time_format= (--time-format), name "
        "another column with time= (--time), or leave this one out with ignore= (--ignore)"
    )
