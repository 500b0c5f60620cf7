"""Tables out: the suffix of the file says the form."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import narwhals as nw
import polars as pl

from alora_ts.errors import AloraError
from alora_ts.files import write_atomically

__all__ = ["WRITABLE", "as_polars", "check_writable", "write_table"]

WRITABLE = (".csv", ".parquet", ".json")


def check_writable(path: str | os.PathLike[str]) -> Path:
    """Refuse a name that :func:`write_table` cannot write, before any work is done for it.

    Examples
    --------
    >>> check_writable("scores.xlsx")
    Traceback (most recent call last):
    ...
    alora_ts.errors.AloraError: cannot write scores.xlsx: ...
    """
    target = Path(path)
    if target.suffix.lower() not in WRITABLE:
        raise AloraError(
            f"cannot write {target}: its suffix {target.suffix!r} names no known form; use one of "
            + ", ".join(WRITABLE)
        )
    return target


def write_table(frame: Any, path: str | os.PathLike[str]) -> None:
    """Write a frame as CSV, Parquet or JSON (a list of records), atomically.

    Parameters
    ----------
    frame : pandas.DataFrame, polars.DataFrame or pyarrow.Table
        The table; a pandas index of datetimes, or one with a name, is written as a column.
    path : path-like
        Where to.

    Raises
    ------
    AloraError
        When the suffix is unknown or the place cannot be written.

    Examples
    --------
    >>> import tempfile
    >>> target = Path(tempfile.mkdtemp()) / "scores.csv"
    >>> write_table(pl.DataFrame({"score": [0.5, 2.0]}), target)
    >>> target.read_text().splitlines()
    ['score', '0.5', '2.0']
    """
    target = check_writable(path)
    table = as_polars(frame)
    with write_atomically(target) as part:
        if target.suffix.lower() == ".csv":
            table.write_csv(part)
        elif target.suffix.lower() == ".parquet":
            table.write_parquet(part)
        else:
            table.write_json(part)


def as_polars(frame: Any) -> pl.DataFrame:
    """A frame of any kind in polars; a pandas index of times, or with a name, becomes a column."""
    if isinstance(frame, pl.DataFrame):
        return frame
    given = nw.from_native(frame, eager_only=True)
    if given.implementation.is_pandas():
        native = given.to_native()
        if native.index.dtype.kind == "M" or native.index.name is not None:
            native = native.reset_index()
            given = nw.from_native(native, eager_only=True)
    return pl.DataFrame({name: _column(given[name]) for name in given.columns})


def _column(series: nw.Series[Any]) -> pl.Series:
    """Cell by cell only where an array cannot carry the values, so that pyarrow is not needed."""
    dtype = series.dtype
    if dtype.is_numeric() and not series.null_count():
        return pl.Series(series.name, series.to_numpy())
    return pl.Series(series.name, series.to_list())
