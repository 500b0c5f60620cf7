"""The rows of a table in the body of a request."""

from __future__ import annotations

from collections.abc import Container, Iterator

import narwhals as nw
import polars as pl

from alora_ts.data.frames import Choices
from alora_ts.data.table import read_table
from alora_ts.data.times import find_time
from alora_ts.errors import DataError
from alora_ts.serve.connect.directory import as_rows
from alora_ts.serve.rows.interface import Row

__all__ = ["table_rows"]

_AT_ONCE = 2000
_TEXT = (pl.String, pl.Categorical, pl.Enum)


def table_rows(
    frame: pl.DataFrame, *, time: str | None, known: Container[str] | None
) -> tuple[Iterator[list[Row]], list[str]]:
    """Rows of a table, some at a time, and the columns that were left out.

    Parameters
    ----------
    frame : DataFrame
    time : str, optional
        The time column; found by its name or kind if not given.
    known : container of str, optional
        The source's variables; other columns (notes, labels) may hold anything. None takes every
        column of numbers.

    Examples
    --------
    >>> table = pl.DataFrame({"time": ["1970-01-01T00:00:01Z"], "flow": [2.5], "note": ["new"]})
    >>> rows, out = table_rows(table, time=None, known={"flow"})
    >>> next(rows), out
    ([Row(time=1000000, values={'flow': 2.5})], ['note'])
    """
    if frame.height == 0:
        raise DataError("the table has no rows; send at least one")
    schema = frame.schema
    if time is None:
        left = [name for name in schema if known is None or name not in known]
        time = find_time(dict(nw.from_native(frame.select(left)).schema))
    if time is None or time not in schema:
        asked = "no time column was found" if time is None else f"there is no column {time!r}"
        raise DataError(f"{asked}; name it with ?time=")
    names = tuple(
        name
        for name, kind in schema.items()
        if name != time and (name in known if known is not None else not _is_text(kind))
    )
    if not names:
        raise DataError(
            f"none of the columns {', '.join(frame.columns[:20])} is a variable of the source"
        )
    choices = Choices(time=time, columns=names)
    used = {time, *names}

    def rows() -> Iterator[list[Row]]:
        for start in range(0, frame.height, _AT_ONCE):
            yield as_rows(read_table(frame.slice(start, _AT_ONCE), choices))

    return rows(), [name for name in frame.columns if name not in used]


def _is_text(kind: pl.DataType) -> bool:
    return isinstance(kind, _TEXT) or kind.is_nested()
