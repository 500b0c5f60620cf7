"""Long tables, one reading a line (time, signal, value), as wide ones."""

from __future__ import annotations

import narwhals as nw
import polars as pl

from alora_ts.data.times import Times, read_times
from alora_ts.errors import DataError, nearest

__all__ = ["looks_long", "pivot_long"]

_UNIQUE = 0.95


def looks_long(frame: pl.DataFrame, time: str | None) -> tuple[str, str] | None:
    """The columns with the signal's name and its value, where a table clearly is long.

    It is where it has the time, one column of few different texts and one of numbers, several rows
    have the same time, and hardly any the same time and text.

    Examples
    --------
    >>> frame = pl.DataFrame({"t": [0, 0, 1, 1], "tag": ["a", "b"] * 2, "v": [1.0, 2.0, 3.0, 4.0]})
    >>> looks_long(frame, "t")
    ('tag', 'v')
    """
    names = [name for name in frame.columns if name != time]
    if time is None or len(names) != 2:
        return None
    texts = [name for name in names if frame[name].dtype in (pl.String, pl.Categorical)]
    numbers = [name for name in names if frame[name].dtype.is_numeric()]
    if len(texts) != 1 or len(numbers) != 1:
        return None
    rows, (tag,), (value,) = len(frame), texts, numbers
    few = 2 <= frame[tag].n_unique() <= rows / 2
    shared = frame[time].n_unique() < rows
    apart = frame.select(pl.struct(time, tag).n_unique()).item() >= _UNIQUE * rows
    return (tag, value) if few and shared and apart else None


def pivot_long(
    frame: pl.DataFrame,
    *,
    time: str | None,
    tag: str,
    value: str,
    given: str | None,
    hint: str | None,
) -> tuple[pl.DataFrame, Times]:
    """Give each signal a column, and each time a row, in the order of time.

    Parameters
    ----------
    frame : polars.DataFrame
        A row for each reading; of several readings of a signal at one time the last counts.
    time, tag, value : str
        Its columns; other columns are passed over.
    given, hint : str, optional
        How times are written, see :func:`~alora_ts.data.times.read_times`.

    Raises
    ------
    DataError
        When a column is missing, a reading has no signal, or there is no time.

    Examples
    --------
    >>> frame = pl.DataFrame({"t": [0, 0, 1], "tag": ["b", "a", "b"], "v": [1.0, 2.0, 3.0]})
    >>> wide, _ = pivot_long(frame, time="t", tag="tag", value="v", given=None, hint=None)
    >>> wide.rows()
    [(0, 1.0, 2.0), (1, 3.0, None)]
    """
    for name in (tag, value):
        if name not in frame.columns:
            raise DataError(f"long= names {name!r}, no such column{nearest(name, frame.columns)}")
    if time is None:
        raise DataError("a long table needs a time column; name it with time= (--time)")
    if frame[tag].null_count():
        row = int(frame[tag].is_null().arg_max() or 0)
        raise DataError(f"column {tag!r}, row {row}: the signal's name is missing; fill it in")
    times = read_times(
        nw.from_native(frame[time], series_only=True), "row {}".format, given=given, hint=hint
    )
    stamps = pl.Series(time, times.stamps)
    if times.zone is not None:
        stamps = stamps.dt.replace_time_zone("UTC").dt.convert_time_zone(times.zone)
    narrow = pl.DataFrame([stamps, frame[tag].cast(pl.String), frame[value]])
    wide = narrow.pivot(on=tag, index=time, values=value, aggregate_function="last")
    return wide.sort(time), times
