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

from alora_ts.errors import DataError

__all__ = ["Times", "find_time", "is_unnamed", "named_like_time", "read_times"]

_NAMES = {"time", "timestamps", "date", "ds", "ts", "tstamp", "utc", "timeutc", "utctime",
          "localtime", "eventtime", "sampletime", "recordedat", "createdat"}  # fmt: skip
_YEAR_FIRST = ("%Y-%m-%d", "%Y/%m/%d", "%Y.%m.%d", "%Y%m%d")
_DAY_FIRST = ("%d.%m.%Y", "%d/%m/%Y", "%d-%m-%Y")
_MONTH_FIRST = ("%m/%d/%Y", "%m-%d-%Y")
_CLOCKS = ("", "%H:%M:%S%.f", "%H:%M", "%I:%M:%S%.f %p", "%I:%M %p")
_FORMATS = tuple(
    (date + (f"{gap}{clock}{zone}" if clock else ""))
    for date, clock, gap, zone in product(
        _YEAR_FIRST + _DAY_FIRST + _MONTH_FIRST, _CLOCKS, (" ", "T"), ("", "%#z", " %#z")
    )
    if clock or (gap, zone) == (" ", "")
)


@dataclass(frozen=True)
class Times:
    """Timestamps as the library keeps them, with their zone and the form of text they had."""

    stamps: NDArray[Any]
    zone: str | None
    form: str | None = None


def named_like_time(name: str) -> bool:
    """Say whether a column's name alone makes it the time column.

    Examples
    --------
    >>> [named_like_time(n) for n in ("Timestamp", "date_time", "timestamp_(min)", "timer")]
    [True, True, True, False]
    """
    letters = re.sub(r"[^a-z]", "", name.lower())
    return letters in _NAMES or letters.startswith(("timestamp", "datetime"))


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
    column: nw.Series[Any], place: Callable[[int], str], *, form: str | None = None
) -> Times:
    """Read a time column of any type: datetimes, dates, text or plain numbers.

    Parameters
    ----------
    column : narwhals Series
        The column.
    place : callable
        Names a row in messages.
    form : str, optional
        The form of the same column's text in rows before, which is tried first.

    Raises
    ------
    DataError
        When a time is missing, not a time, not finite, or readable in two ways.
    """
    name, kind = column.name, column.dtype
    if kind.is_numeric():
        return Times(_read_numbers(column, place), None)
    if isinstance(kind, nw.Object | nw.String | nw.Categorical | nw.Enum):
        given = _plain(column, place)
        if given.dtype.is_numeric():
            return read_times(nw.from_native(given, series_only=True).alias(name), place)
        if given.dtype == pl.String:
            given, form = _parse(given, name, place, form)
        column = nw.from_native(given, series_only=True).alias(name)
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
    return Times(stamps.view("datetime64[us]"), zone, form)


def _refuse_missing(column: nw.Series[Any], place: Callable[[int], str]) -> None:
    missing = np.flatnonzero(np.asarray(column.is_null().to_numpy(), dtype=bool))
    if len(missing):
        raise DataError(
            f"column {column.name!r}, {place(int(missing[0]))}: the time is missing "
            f"({len(missing):,} in all); remove these rows or fill in their times"
        )


def _read_numbers(column: nw.Series[Any], place: Callable[[int], str]) -> NDArray[Any]:
    _refuse_missing(column, place)
    stamps = column.to_numpy()
    if stamps.dtype.kind in "iu":
        return stamps.astype(np.int64)
    stamps = stamps.astype(np.float64)
    bad = np.flatnonzero(~np.isfinite(stamps))
    if len(bad):
        raise DataError(
            f"column {column.name!r}, {place(int(bad[0]))}: the time is {stamps[bad[0]]}; "
            "remove this row or correct its time"
        )
    return stamps


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
    text: pl.Series, name: str, place: Callable[[int], str], known: str | None
) -> tuple[pl.Series, str]:
    text = text.str.strip_chars()
    if known is not None and not (read := _read(text, known)).null_count():
        return read, known
    # Most forms fail on the first cell already, which is far cheaper than reading them all.
    fitting = [form for form in _FORMATS if not _read(text.head(1), form).null_count()]
    readings = [(form, read) for form in fitting if not (read := _read(text, form)).null_count()]
    if not readings:
        _refuse_text(text, fitting, name, place)
    first_form, first = readings[0]
    for form, other in readings[1:]:
        if form[:2] != first_form[:2] and not first.equals(other):
            raise DataError(
                f"column {name!r}, {place(0)}: times such as {text[0]!r} can be read as "
                "day/month and as month/day; write them as year-month-day"
            )
    return first, first_form


def _read(text: pl.Series, form: str) -> pl.Series:
    return text.str.to_datetime(form, strict=False, time_unit="us", exact=True)


def _refuse_text(
    text: pl.Series, forms: Sequence[str], name: str, place: Callable[[int], str]
) -> NoReturn:
    """Name the first cell that the form which reads furthest cannot read."""
    row = max((int(_read(text, form).is_null().arg_max() or 0) for form in forms), default=0)
    raise DataError(
        f"column {name!r}, {place(row)}: {text[row]!r} is not a time; write times as "
        "2024-12-31 23:59:59, name another column with time= (--time), or leave this one out with "
        "ignore= (--ignore)"
    )
