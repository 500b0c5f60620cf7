"""Files in: which ones a path means, and their rows as tables, all at once or in chunks."""

from __future__ import annotations

import glob
from collections.abc import Iterable, Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import narwhals as nw
import numpy as np
import polars as pl
from numpy.typing import NDArray

from alora_ts.data.csv_blocks import read_csv_blocks
from alora_ts.data.frames import Layout, decide_layout, read_values
from alora_ts.data.record import Part, Table
from alora_ts.data.times import read_times
from alora_ts.errors import DataError, nearest

__all__ = ["SUFFIXES", "find_files", "read_file_blocks", "read_files", "read_group_column"]

SUFFIXES = (".csv", ".csv.gz", ".parquet")
_BLOCK_ROWS = 65_536


def find_files(paths: Iterable[Path]) -> list[Path]:
    """List the files that paths, folders and globs mean, each in the order of names.

    Raises
    ------
    DataError
        When a path means no file, or a file of a kind that is not read.

    Examples
    --------
    >>> find_files([Path("no-such-file.csv")])
    Traceback (most recent call last):
    ...
    alora_ts.errors.DataError: no-such-file.csv: no such file...
    """
    found = list[Path]()
    for path in paths:
        if path.is_dir():
            inside = [p for p in sorted(path.iterdir()) if p.name.endswith(SUFFIXES)]
            # Names with a leading dot or underscore are how writers mark files that are not data.
            inside = [p for p in inside if not p.name.startswith((".", "_"))]
            if not inside:
                raise DataError(f"{path}: the folder holds no {_listed()} file")
            found += inside
        elif path.exists():
            if not path.name.endswith(SUFFIXES):
                raise DataError(f"{path}: cannot read this kind of file; give {_listed()}")
            found.append(path)
        elif glob.has_magic(str(path)):
            matched = [Path(name) for name in sorted(glob.glob(str(path), recursive=True))]
            if not matched:
                raise DataError(f"{path}: no file matches this pattern")
            found += find_files(matched)
        else:
            beside = [p.name for p in path.parent.iterdir()] if path.parent.is_dir() else []
            hint = nearest(path.name, [name for name in beside if name.endswith(SUFFIXES)])
            raise DataError(f"{path}: no such file{hint if beside else ''}")
    return found


def _listed() -> str:
    return ", ".join(SUFFIXES[:-1]) + " or " + SUFFIXES[-1]


def read_file_blocks(
    paths: Iterable[Path],
    *,
    time: str | None,
    columns: Iterable[str] | None,
    ignore: Iterable[str],
    optional: bool = False,
    rows: int = _BLOCK_ROWS,
) -> Iterator[Table]:
    """Yield the rows of files as tables of at most ``rows`` rows each.

    The first file decides which columns are used; the others must have the same ones, in any
    order. A table never spans two files, and its part says how many rows of its file came before.

    Raises
    ------
    DataError
        As ``as_table``.
    """
    layout: Layout | None = None
    first: Path | None = None
    header: set[str] = set()
    for path in find_files(paths):
        before = 0
        for frame in _read_frames(path, rows):
            if layout is None:
                first, header = path, set(frame.columns)
                try:
                    layout = decide_layout(
                        dict(nw.from_native(frame).schema),
                        time=time,
                        columns=columns,
                        ignore=ignore,
                        optional=optional,
                    )
                except DataError as error:
                    raise DataError(f"{path}: {error}") from error
            if before == 0:
                _refuse_other_columns(path, set(frame.columns), first, header)
            for start in range(0, len(frame), rows):
                piece = frame.slice(start, rows)
                yield _as_table(piece, layout, path, before)
                before += len(piece)


def read_files(
    paths: Iterable[Path],
    *,
    time: str | None,
    columns: Iterable[str] | None,
    ignore: Iterable[str],
    optional: bool = False,
) -> Table:
    """Read files into one table that holds its numbers once.

    Raises
    ------
    DataError
        As ``as_table``.
    """
    values: NDArray[Any] | None = None
    parts, stamps, given = list[Part](), list[NDArray[Any]](), list[pl.Series]()
    count = 0
    table: Table | None = None
    for table in read_file_blocks(
        paths, time=time, columns=columns, ignore=ignore, optional=optional
    ):
        block = table.values
        if values is None:
            values = np.empty((0, block.shape[1]), block.dtype)
        if block.dtype.itemsize > values.dtype.itemsize:
            values = values.astype(block.dtype)
        if count + len(block) > len(values):
            # The memory of rows not yet written is not yet taken, so room is cheap; and growing
            # in place (no view of it exists) does not hold the numbers twice.
            values.resize((2 * (count + len(block)), block.shape[1]), refcheck=False)
        values[count : count + len(block)] = block
        if table.parts[0].offset == 0:
            parts.append(replace(table.parts[0], start=count))
        if table.timestamps is not None:
            stamps.append(table.timestamps)
            given.append(table.time_column)
        count += len(block)
    if table is None or values is None:
        raise DataError("no path was given; give at least one file")
    values.resize((count, values.shape[1]), refcheck=False)
    if len({block.dtype.kind for block in stamps}) > 1:
        raise DataError(
            f"the column {table.time_name!r} holds dates in some files and numbers in others; "
            "write the times of all files in one form"
        )
    return replace(
        table,
        values=values,
        timestamps=np.concatenate(stamps) if stamps else None,
        parts=tuple(parts),
        time_column=pl.concat(given, rechunk=True) if given else None,
    )


def read_group_column(paths: Iterable[Path], name: str) -> pl.Series:
    """Read one column of files, as text.

    Raises
    ------
    DataError
        When a file does not have it.
    """
    pieces = list[pl.Series]()
    for path in find_files(paths):
        for frame in _read_frames(path, _BLOCK_ROWS):
            if name not in frame.columns:
                raise DataError(f"{path}: no column {name!r}{nearest(name, frame.columns)}")
            pieces.append(frame[name].cast(pl.String))
    return pl.concat(pieces, rechunk=True)


def _read_frames(path: Path, rows: int) -> Iterator[pl.DataFrame]:
    if path.name.endswith(".parquet"):
        yield from _read_parquet_frames(path, rows)
    else:
        yield from read_csv_blocks(path)


def _read_parquet_frames(path: Path, rows: int) -> Iterator[pl.DataFrame]:
    try:
        scan = pl.scan_parquet(path)
        count = int(scan.select(pl.len()).collect().item())
        if not count:
            raise DataError(f"{path}: the file has columns but no rows; give at least one row")
        for start in range(0, count, rows):
            yield scan.slice(start, rows).collect()
    except (OSError, pl.exceptions.PolarsError) as error:
        raise DataError(
            f"{path}: cannot be read as Parquet ({error}); check that the file is whole"
        ) from error


def _refuse_other_columns(
    path: Path, names: set[str], first: Path | None, header: set[str]
) -> None:
    if names != header:
        missing, extra = sorted(header - names), sorted(names - header)
        raise DataError(
            f"{path}: not the columns of {first}"
            + (f"; missing: {', '.join(missing)}" if missing else "")
            + (f"; extra: {', '.join(extra)}" if extra else "")
            + "; files read together must have the same columns"
        )


def _as_table(frame: pl.DataFrame, layout: Layout, path: Path, before: int) -> Table:
    header = None if path.name.endswith(".parquet") else 1
    part = Part(0, str(path), before, header)
    place = Table(np.empty((len(frame), 0)), (), parts=(part,)).place
    times = None
    if layout.time is not None:
        times = read_times(nw.from_native(frame[layout.time], series_only=True), place)
    try:
        values = read_values(nw.from_native(frame), layout.variables, place)
    except DataError as error:
        raise error if str(path) in str(error) else DataError(f"{path}: {error}") from error
    return Table(
        values=values,
        variables=layout.variables,
        timestamps=None if times is None else times.stamps,
        time_name=layout.time,
        time_zone=None if times is None else times.zone,
        kind="polars",
        parts=(part,),
        dropped=layout.dropped,
        time_column=None if layout.time is None else frame[layout.time],
    )
