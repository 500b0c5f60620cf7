"""The one shape every table takes inside the library, and how to return to the caller's own."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any, Literal

import numpy as np
from numpy.typing import NDArray

from alora_ts.data.form import AS_FOUND, FileForm
from alora_ts.errors import DataError

if TYPE_CHECKING:
    import polars as pl

__all__ = ["FloatArray", "Kind", "Part", "Table"]

Kind = Literal["numpy", "pandas", "polars", "pyarrow"]
FloatArray = NDArray[np.float32] | NDArray[np.float64]


@dataclass(frozen=True)
class Part:
    """A stretch of rows that came from one file or object.

    Attributes
    ----------
    start : int
        The table's row where the part begins.
    name : str or None
        The file; None for objects in memory.
    offset : int
        How many rows of the same file came before, in earlier chunks. A part with offset 0 begins
        a file, and windows never cross into it.
    header : int or None
        For text files, the number of lines before the first row; errors then name lines.
    """

    start: int = 0
    name: str | None = None
    offset: int = 0
    header: int | None = None


@dataclass(frozen=True)
class Table:
    """Numbers, their names and their times, with what is needed to answer in the caller's kind.

    Attributes
    ----------
    values : ndarray of float32 or float64, shape (N, d)
        NaN stands for a missing cell; there is no infinity. It may be a view of the caller's
        data, so nothing writes into it.
    variables : tuple of str
        The d column names.
    timestamps : ndarray of shape (N,) or None
        ``datetime64[us]`` in UTC (or as written, when the times name no zone), or numbers.
    time_name, time_zone : str or None
        The time column's (or index's) name and zone.
    kind : {"numpy", "pandas", "polars", "pyarrow"}
        The library in which :meth:`frame` answers; files and arrays are answered in polars.
    parts : tuple of Part
        Where the rows came from, in order.
    dropped : dict of str to str
        Columns left out, with the reason.
    time_column : native column or None
        The caller's times as they were given.
    index : pandas index or None
        The caller's row labels.
    label : ndarray of bool, shape (N,), or None
        Which rows the caller marked as anomalous, for judging scores.
    label_name : str or None
        The column that says so.
    form : FileForm
        How text became numbers and times, for a model to remember.
    notes : tuple of str
        What was done while reading that the reader of a result should know.
    """

    values: FloatArray
    variables: tuple[str, ...]
    timestamps: NDArray[Any] | None = None
    time_name: str | None = None
    time_zone: str | None = None
    kind: Kind = "numpy"
    parts: tuple[Part, ...] = (Part(),)
    dropped: Mapping[str, str] = field(default_factory=dict)
    time_column: Any = None
    index: Any = None
    label: NDArray[np.bool_] | None = None
    label_name: str | None = None
    form: FileForm = AS_FOUND
    notes: tuple[str, ...] = ()

    def __len__(self) -> int:
        return int(self.values.shape[0])

    def place(self, row: int) -> str:
        """Name a row for a message, with its file and line where there are any.

        Examples
        --------
        >>> Table(np.zeros((9, 1)), ("a",)).place(4)
        'row 4'
        >>> Table(np.zeros((9, 1)), ("a",), parts=(Part(0, "day.csv", 0, 1),)).place(4)
        'day.csv, line 6'
        """
        part = self.parts[bisect_right([p.start for p in self.parts], row) - 1]
        number = row - part.start + part.offset
        where = f"row {number}" if part.header is None else f"line {number + part.header + 1}"
        return where if part.name is None else f"{part.name}, {where}"

    @property
    def source(self) -> str:
        """What the rows came from, for the beginning of a message.

        Examples
        --------
        >>> Table(np.zeros((9, 1)), ("a",)).source
        'the table'
        """
        names = [part.name for part in self.parts if part.name is not None]
        return "the table" if not names else names[0] + (" and others" if len(names) > 1 else "")

    def take(self, rows: NDArray[np.intp]) -> Table:
        """Return the rows asked for, in the order asked for, as one part.

        Increasing neighbours come back as a view, anything else as a copy.

        Examples
        --------
        >>> Table(np.arange(6.0).reshape(3, 2), ("a", "b")).take(np.array([2, 0])).values
        array([[4., 5.],
               [0., 1.]])
        """
        chosen: Any = rows
        if len(rows) and np.all(np.diff(rows) == 1):
            chosen = slice(int(rows[0]), int(rows[-1]) + 1)
        return replace(
            self,
            values=self.values[chosen],
            timestamps=None if self.timestamps is None else self.timestamps[chosen],
            parts=(Part(0, self.parts[0].name if len(self.parts) == 1 else None),),
            time_column=_take_native(self.time_column, self.kind, rows),
            index=None if self.index is None else self.index[rows],
            label=None if self.label is None else self.label[rows],
        )

    def slice(self, start: int, stop: int) -> Table:
        """View a stretch of rows that still knows which rows of its files it holds.

        Examples
        --------
        >>> Table(np.zeros((9, 1)), ("a",)).slice(4, 9).place(0)
        'row 4'
        """
        parts = list[Part]()
        for part, end in zip(
            self.parts, [*(part.start for part in self.parts[1:]), len(self)], strict=True
        ):
            if part.start < stop and end > start:
                first = max(part.start, start)
                offset = part.offset + first - part.start
                parts.append(replace(part, start=first - start, offset=offset))
        cut = self.time_column
        if cut is not None and self.kind == "pandas":
            cut = cut.iloc
        return replace(
            self,
            values=self.values[start:stop],
            timestamps=None if self.timestamps is None else self.timestamps[start:stop],
            parts=tuple(parts) or (replace(self.parts[-1], start=0),),
            time_column=None if cut is None else cut[start:stop],
            index=None if self.index is None else self.index[start:stop],
            label=None if self.label is None else self.label[start:stop],
        )

    def join(self, after: Table) -> Table:
        """Append rows that continue these (files only, whose frames are polars).

        Examples
        --------
        >>> whole = Table(np.arange(4.0).reshape(4, 1), ("a",))
        >>> whole.slice(0, 1).join(whole.slice(1, 4)).values[:, 0]
        array([0., 1., 2., 3.])
        """
        if not len(self):
            return after
        parts = list(self.parts)
        for part in after.parts:
            if part.name != parts[-1].name or part.offset == 0:
                parts.append(replace(part, start=part.start + len(self)))
        times = None
        if self.timestamps is not None and after.timestamps is not None:
            times = np.concatenate([self.timestamps, after.timestamps])
        column = None
        if self.time_column is not None:
            import polars as pl

            column = pl.concat([self.time_column, after.time_column])
        return replace(
            self,
            values=np.concatenate([self.values, after.values]),
            timestamps=times,
            parts=tuple(parts),
            time_column=column,
            label=None if self.label is None else np.concatenate([self.label, _marks(after)]),
            notes=after.notes,
        )

    def select(self, variables: tuple[str, ...]) -> Table:
        """Return the named variables in the named order.

        Examples
        --------
        >>> Table(np.array([[1.0, 2.0]]), ("a", "b")).select(("b", "a")).values
        array([[2., 1.]])
        """
        if variables == self.variables:
            return self
        at = [self.variables.index(name) for name in variables]
        return replace(self, values=self.values[:, at], variables=variables)

    def frame(self, columns: Mapping[str, NDArray[Any]]) -> Any:
        """Put results beside the caller's own timestamps, in the caller's kind of frame.

        Parameters
        ----------
        columns : mapping of str to ndarray of shape (N,)
            The results, one value for each row.

        Returns
        -------
        pandas.DataFrame, polars.DataFrame or pyarrow.Table
            pandas keeps its index; a time column comes first, as it was given. Arrays and files
            get a polars frame.

        Examples
        --------
        >>> table = Table(np.zeros((2, 1)), ("a",))
        >>> table.frame({"score": np.array([0.5, 2.0])})["score"].to_list()
        [0.5, 2.0]
        """
        for name, column in columns.items():
            if len(column) != len(self):
                raise DataError(
                    f"the result {name!r} has {len(column)} values for {len(self)} rows; "
                    "give one value for each row"
                )
        times: dict[str, Any] = {}
        if self.time_column is not None and self.time_name is not None:
            if self.time_name in columns:
                raise DataError(
                    f"the time column {self.time_name!r} has the name of a result; rename it"
                )
            times = {self.time_name: self.time_column}
        return _frame({**times, **columns}, self.kind, self.index)


def _marks(table: Table) -> NDArray[np.bool_]:
    return np.zeros(len(table), bool) if table.label is None else table.label


def _frame(columns: dict[str, Any], kind: Kind, index: Any) -> Any:
    if kind == "pandas":
        import pandas as pd

        # The time column is a series over the same index, so nothing is realigned.
        return pd.DataFrame(columns, index=index)
    if kind == "pyarrow":
        import pyarrow as pa

        return pa.table(columns)
    import polars as pl

    return pl.DataFrame(columns)


def _take_native(column: Any, kind: Kind, rows: NDArray[np.intp]) -> Any:
    if column is None:
        return None
    if kind == "pandas":
        return column.iloc[rows]
    if kind == "pyarrow":
        return column.take(rows)
    series: pl.Series = column
    return series.gather(rows)
