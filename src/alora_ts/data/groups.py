"""One table, many systems: split by the column that names them."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

import narwhals as nw
import numpy as np
from numpy.typing import NDArray

from alora_ts.data.record import Table
from alora_ts.data.sources import as_paths, read_group_column
from alora_ts.data.table import Source, as_table
from alora_ts.errors import DataError, nearest

__all__ = ["Groups", "split_groups"]


@dataclass(frozen=True)
class Groups:
    """The rows of each group, and how to join them to one table.

    Iterating gives ``(name, Table)`` pairs in the order in which the groups first occur.

    Attributes
    ----------
    column : str
        The column that names the groups.
    names : tuple of str
    rows : tuple of ndarray of intp
        The whole table's rows of each group, in order.
    table : Table
        The whole table.
    labels : native column
        The group column as it was given.
    """

    column: str
    names: tuple[str, ...]
    rows: tuple[NDArray[np.intp], ...]
    table: Table
    labels: Any

    def __len__(self) -> int:
        return len(self.names)

    def __iter__(self) -> Iterator[tuple[str, Table]]:
        for name, rows in zip(self.names, self.rows, strict=True):
            yield name, self.table.take(rows)

    def frame(self, results: Mapping[str, Mapping[str, NDArray[Any]]]) -> Any:
        """Put each group's results back into one frame, with the group column.

        Parameters
        ----------
        results : mapping of group name to mapping of column to ndarray
            The same columns for every group, one value for each of its rows.

        Examples
        --------
        >>> import polars as pl
        >>> frame = pl.DataFrame({"host": ["a", "b", "a"], "load": [1.0, 2.0, 3.0]})
        >>> groups = split_groups(frame, group="host")
        >>> groups.frame({n: {"score": t.values[:, 0] * 10} for n, t in groups}).rows()
        [('a', 10.0), ('b', 20.0), ('a', 30.0)]
        """
        columns: dict[str, Any] = {self.column: self.labels}
        for name, rows in zip(self.names, self.rows, strict=True):
            for column, values in results[name].items():
                if column not in columns:
                    columns[column] = np.empty(len(self.table), values.dtype)
                columns[column][rows] = values
        return self.table.frame(columns)


def split_groups(
    source: Source,
    *,
    group: str,
    time: str | None = None,
    columns: Iterable[str] | None = None,
    ignore: Iterable[str] = (),
) -> Groups:
    """Read a table and split it by a column.

    Parameters
    ----------
    source : frame or path
        See ``as_table``; arrays have no column to split by.
    group : str
        The column that names the group (host, machine, site …) of each row.
    time, columns, ignore
        See ``as_table``.

    Raises
    ------
    DataError
        As ``as_table``; also when the column does not exist or has empty cells.

    Examples
    --------
    >>> import polars as pl
    >>> frame = pl.DataFrame({"host": ["a", "b", "a"], "load": [1.0, 2.0, 3.0]})
    >>> [(name, table.values[:, 0].tolist()) for name, table in split_groups(frame, group="host")]
    [('a', [1.0, 3.0]), ('b', [2.0])]
    """
    labels = _read_labels(source, group)
    left_out = [*([ignore] if isinstance(ignore, str) else ignore), group]
    table = as_table(source, time=time, columns=columns, ignore=left_out)
    text = labels.cast(nw.String).to_list()
    empty = [row for row, name in enumerate(text) if name is None]
    if empty:
        raise DataError(
            f"column {group!r}, {table.place(empty[0])}: the group is missing ({len(empty):,} in "
            "all); fill it in or remove these rows"
        )
    numbers: dict[str, int] = {}
    codes = np.array([numbers.setdefault(name, len(numbers)) for name in text], np.intp)
    order = np.argsort(codes, kind="stable")
    rows = np.split(order, np.cumsum(np.bincount(codes))[:-1])
    return Groups(group, tuple(numbers), tuple(rows), table, labels.to_native())


def _read_labels(source: Source, group: str) -> nw.Series[Any]:
    paths = as_paths(source)
    if paths is not None:
        return nw.from_native(read_group_column(paths, group), series_only=True)
    frame = nw.from_native(source, pass_through=True)
    if isinstance(frame, nw.LazyFrame):
        frame = frame.collect()
    if not isinstance(frame, nw.DataFrame):
        raise DataError(f"group={group!r} needs a table with named columns; give a frame or a file")
    if group not in frame.columns:
        raise DataError(f"group= names {group!r}, no such column{nearest(group, frame.columns)}")
    return frame[group]
