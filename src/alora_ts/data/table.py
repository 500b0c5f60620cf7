"""One function that reads tables of every kind."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace
from typing import Any, TypeAlias, cast

import narwhals as nw
import numpy as np
import polars as pl
from narwhals.exceptions import DuplicateError
from numpy.typing import NDArray

from alora_ts.data.csv_blocks import join_names
from alora_ts.data.form import FileForm
from alora_ts.data.frames import (
    Choices,
    blank_numbers,
    decide_layout,
    read_values,
    refuse_infinite,
    told_names,
)
from alora_ts.data.labels import read_label
from alora_ts.data.long import pivot_long
from alora_ts.data.record import Kind, Part, Table
from alora_ts.data.sources import as_paths, read_files
from alora_ts.data.times import Times, find_time, read_times
from alora_ts.data.words import Notes
from alora_ts.data.write import as_polars
from alora_ts.errors import DataError
from alora_ts.progress import Progress

__all__ = ["Source", "Table", "as_table", "read_table"]

# Frames of libraries that may not be installed cannot be named in a type.
Source: TypeAlias = Any


def as_table(
    source: Source,
    *,
    time: str | None = None,
    columns: Iterable[str] | None = None,
    ignore: Iterable[str] = (),
    label: str | None = None,
    form: FileForm | None = None,
    progress: Progress = None,
) -> Table:
    """Read a table of any kind.

    Parameters
    ----------
    source : array, frame or path
        A numpy array of shape (N, d) or (N,); a pandas, polars (eager or lazy) or pyarrow table,
        or any frame that narwhals or the Arrow interface understands; a path to a delimited text,
        JSON, Excel or Parquet file (text and JSON also as ``.gz``, any as ``.zip``), a folder of
        them, a glob, or a list of paths. A ``Table`` is given back as it is.
    time : str, optional
        The time column. By default a column of datetimes, a column named like time (``time``,
        ``timestamp``, ``date``, ``ds``, …) or a pandas index of datetimes is found. A column
        named in ``columns`` is never taken for the time.
    columns : iterable of str, optional
        The variables to use, in this order. By default all that are neither time nor ignored.
    ignore : iterable of str
        Columns to leave out.
    label : str, optional
        The column that says which rows were anomalous (above 0, true, or a word other than
        "normal"). It is kept out of the variables.
    form : FileForm, optional
        How text becomes columns, numbers and times; what it does not say is found out.
    progress : bool, callable or None
        Shows the reading of large files; see :mod:`alora_ts.progress`.

    Returns
    -------
    Table
        The rows in the order given: sorting, gaps and missing cells are for ``Preparation``.
        Several files are read in the order of their names.

    Raises
    ------
    DataError
        For a missing or unreadable file, no rows, columns that are not numeric or mix numbers with
        text, infinite cells, times that are missing or no times; the message names the place.

    Notes
    -----
    Float columns keep their width; integers of up to 16 bits and booleans become float32, wider
    integers and everything read from CSV float64. Arrays and pandas frames of one float type are
    not copied. The columns of an array are named ``x0``, ``x1``, …

    Examples
    --------
    >>> import polars as pl
    >>> frame = pl.DataFrame({"time": ["2024-01-01 00:00", "2024-01-01 00:01"], "flow": [1, None]})
    >>> table = as_table(frame)
    >>> table.variables, table.time_name, str(table.timestamps[1])
    (('flow',), 'time', '2024-01-01T00:01:00.000000')
    """
    choices = Choices.of(time, columns, ignore, label=label, form=form)
    return read_table(source, choices, progress=progress)


def read_table(source: Source, choices: Choices, *, progress: Progress = None) -> Table:
    """Read a table of any kind with choices made; see :func:`as_table`."""
    if isinstance(source, Table):
        return source
    paths = as_paths(source)
    if paths is not None:
        return read_files(paths, choices, progress=progress)
    if isinstance(source, np.ndarray) or (isinstance(source, list | tuple) and source):
        return _read_array(_stack(source), choices)
    try:
        frame = nw.from_native(source, pass_through=True, allow_series=True)
    except DuplicateError as error:
        raise DataError(
            f"two columns have the same name ({' '.join(str(error).split())}); rename them"
        ) from error
    if isinstance(frame, nw.LazyFrame):
        frame = frame.collect()
    if isinstance(frame, nw.Series):
        frame = frame.alias(str(frame.name or "x0")).to_frame()
    elif not isinstance(frame, nw.DataFrame) and hasattr(source, "__arrow_c_stream__"):
        frame = nw.from_native(pl.DataFrame(source))
    if isinstance(frame, nw.DataFrame):
        return _read_frame(frame, choices)
    if hasattr(source, "__array__"):
        return _read_array(np.asarray(source), choices)
    raise DataError(
        f"cannot read a table from {type(source).__name__}; give a numpy array, a pandas, polars "
        "or pyarrow table, or a path to CSV or Parquet"
    )


def _stack(rows: Any) -> NDArray[Any]:
    try:
        return np.asanyarray(rows)
    except ValueError as error:
        raise DataError("the rows of the list differ in length; give them all alike") from error


def _read_array(array: NDArray[Any], choices: Choices) -> Table:
    if array.ndim == 1 and array.dtype.names is None:
        array = array[:, None]
    if array.ndim != 2:
        raise DataError(
            f"an array of shape {array.shape} is not a table; give rows × variables (or one "
            "dimension for a single variable)"
        )
    if isinstance(array, np.ma.MaskedArray):
        array = np.ma.filled(array.astype(np.result_type(array.dtype, np.float32)), np.nan)
    names = {f"x{at}": nw.Float64() for at in range(array.shape[1])}
    if choices.known is not None:
        # An array's columns are known by their place, whatever names training had.
        choices = replace(choices, known=replace(choices.known, named=False))
    layout = decide_layout(dict(names), choices)
    if not len(array):
        raise DataError("the array has no rows; give at least one")
    if array.dtype.kind in "OUS":
        return _read_frame(nw.from_native(_objects(array, list(names))), choices)
    if array.dtype.kind not in "fiub":
        raise DataError(f"an array of {array.dtype} is not numeric; convert it to floats first")
    width = np.float32 if array.dtype.itemsize < 4 or array.dtype == np.float32 else np.float64
    times = Times(np.empty(0), None)
    if layout.time is not None:
        stamps = nw.from_native(
            pl.Series(layout.time, array[:, int(layout.time[1:])]), series_only=True
        )
        times = read_times(
            stamps,
            "row {}".format,
            given=choices.form.time_format,
            hint=choices.hint.time_format,
        )
    marks = None if layout.label is None else array[:, int(layout.label[1:])]
    if layout.variables != tuple(names):
        array = array[:, [int(name[1:]) for name in layout.variables]]
    form, notes = choices.form.or_else(choices.hint), Notes()
    values: NDArray[Any] = array.astype(width, copy=bool(form.na))
    blank_numbers(values, layout.variables, form, notes)
    refuse_infinite(values, layout.variables, "row {}".format)
    return Table(
        values=values,
        variables=layout.variables,
        timestamps=None if layout.time is None else times.stamps,
        time_name=layout.time,
        kind="numpy",
        dropped=layout.dropped,
        time_column=None if layout.time is None else pl.Series(layout.time, times.stamps),
        label=None if marks is None else np.nan_to_num(marks) > 0,
        label_name=layout.label,
        form=replace(form, time_format=times.form),
        notes=notes.lines(layout.variables),
    )


def _objects(array: NDArray[Any], names: list[str]) -> pl.DataFrame:
    kind = pl.Object if array.dtype.kind == "O" else pl.String
    return pl.DataFrame(
        {name: pl.Series(name, array[:, at].tolist(), kind) for at, name in enumerate(names)}
    )


def _read_frame(frame: nw.DataFrame[Any], choices: Choices) -> Table:
    kind, index, times = _kind(frame), None, None
    index_name: str | None = None
    if kind == "pandas":
        frame, index, times = _unpack_pandas(frame, wanted=choices.time is None)
        index_name = None if index.name is None else str(index.name)
    given, hint, notes = choices.form, choices.hint, Notes()
    frame, long = _turn_long(frame, kind, choices, notes)
    if long is not None:
        index, times = None, None
    layout = decide_layout(dict(frame.schema), choices, find=times is None)
    if not len(frame):
        raise DataError(f"the table has no rows (columns: {', '.join(frame.columns)})")
    time_name, time_column = layout.time, None
    if layout.time is not None:
        times = read_times(
            frame[layout.time],
            "row {}".format,
            given=given.time_format,
            hint=hint.time_format,
        )
        time_column = frame[layout.time].to_native()
    elif times is not None:
        time_name = index_name
    if times is not None and times.note is not None:
        notes.say(times.note)
    if layout.renamed:
        notes.say(f"took near names: {told_names(layout.renamed)}")
    frame = layout.arrange(frame)
    form = given.or_else(hint)
    values = None if form.na else _as_view(frame, layout.variables, kind)
    if values is None:
        values = read_values(
            frame, layout.variables, "row {}".format, form=form, hint=hint, notes=notes
        )
    else:
        refuse_infinite(values, layout.variables, "row {}".format)
    return Table(
        values=values,
        variables=layout.variables,
        timestamps=None if times is None else times.stamps,
        time_name=time_name,
        time_zone=None if times is None else times.zone,
        kind=kind,
        parts=(Part(),),
        dropped=layout.dropped,
        time_column=time_column,
        index=index,
        label=None if layout.label is None else read_label(frame[layout.label]),
        label_name=layout.label,
        form=replace(form, long=long, time_format=None if times is None else times.form),
        notes=notes.lines(layout.variables),
    )


def _turn_long(
    frame: nw.DataFrame[Any], kind: Kind, choices: Choices, notes: Notes
) -> tuple[nw.DataFrame[Any], tuple[str, str] | None]:
    """Give a long table a column for each signal, where that is asked for or remembered."""
    form = choices.form.or_else(choices.hint)
    if form.long is None:
        return frame, None
    tag, value = form.long
    known = choices.known
    time = choices.time or (known.time if known is not None else None)
    if time is None:
        rest = {name: dtype for name, dtype in frame.schema.items() if name not in form.long}
        time = find_time(rest)
    wide, times = pivot_long(
        as_polars(frame.to_native()),
        time=time,
        tag=tag,
        value=value,
        given=choices.form.time_format,
        hint=choices.hint.time_format,
    )
    if times.note is not None:
        notes.say(times.note)
    notes.say(f"read as one reading a row: {tag!r} names the signal, {value!r} holds its value")
    if known is not None:
        silent = [name for name in known.variables if name not in wide.columns]
        wide = wide.with_columns(pl.lit(None, pl.Float64).alias(name) for name in silent)
    if kind == "pandas":
        import pandas as pd

        return nw.from_native(
            pd.DataFrame(wide.to_dict(as_series=False)), eager_only=True
        ), form.long
    if kind == "pyarrow":
        return nw.from_native(wide.to_arrow(), eager_only=True), form.long
    return nw.from_native(wide, eager_only=True), form.long


def _kind(frame: nw.DataFrame[Any]) -> Kind:
    implementation = frame.implementation
    if implementation.is_pandas():
        return "pandas"
    return "pyarrow" if implementation.is_pyarrow() else "polars"


def _unpack_pandas(
    frame: nw.DataFrame[Any], *, wanted: bool
) -> tuple[nw.DataFrame[Any], Any, Times | None]:
    """Name columns by text, and read the times from the index if it holds any."""
    import pandas as pd

    native = cast("pd.DataFrame", frame.to_native())
    index = native.index
    if index.nlevels > 1:
        raise DataError(
            "the pandas frame has an index of several levels; flatten it first (reset_index) and "
            "name the time column with time="
        )
    if native.columns.nlevels > 1:
        native = native.set_axis([join_names(parts) for parts in native.columns], axis=1)
    if not all(isinstance(name, str) for name in native.columns):
        native = native.set_axis([str(name) for name in native.columns], axis=1)
    stamps = index.to_timestamp() if isinstance(index, pd.PeriodIndex) else index
    times = None
    if wanted and isinstance(stamps, pd.DatetimeIndex):
        series: Any = stamps.to_series(name=str(index.name or "index"))
        times = read_times(nw.from_native(series, series_only=True), "row {}".format)
    return nw.from_native(native, eager_only=True), index, times


def _as_view(
    frame: nw.DataFrame[Any], variables: tuple[str, ...], kind: Kind
) -> NDArray[Any] | None:
    """A pandas frame of one float type as it lies in memory, or None where that cannot be."""
    if kind != "pandas" or tuple(frame.columns) != variables:
        return None
    kinds = {str(dtype) for dtype in frame.to_native().dtypes}
    return frame.to_native().to_numpy() if kinds in ({"float32"}, {"float64"}) else None
