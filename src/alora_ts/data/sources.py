"""Files in: which ones a path means, and their rows as tables, all at once or in chunks."""

from __future__ import annotations

import glob
import os
from collections.abc import Iterable, Iterator
from dataclasses import replace
from difflib import get_close_matches
from pathlib import Path
from typing import Any

import narwhals as nw
import numpy as np
import polars as pl
from numpy.typing import NDArray

from alora_ts.data.csv_blocks import read_csv_blocks
from alora_ts.data.frames import Choices, Layout, decide_layout, read_values
from alora_ts.data.record import Part, Table
from alora_ts.data.times import read_times
from alora_ts.errors import DataError, nearest
from alora_ts.progress import Progress, Step, reporting

__all__ = [
    "SUFFIXES",
    "as_paths",
    "find_files",
    "read_file_blocks",
    "read_files",
    "read_group_column",
]

SUFFIXES = (".csv", ".csv.gz", ".parquet")
_BLOCK_ROWS = 65_536
_SHOWN_BYTES = 32 * 2**20  # smaller files are read before a bar could be seen


def as_paths(source: object) -> list[Path] | None:
    """Return the paths a source consists of; None when it is not a path or list of paths.

    Examples
    --------
    >>> as_paths("day.csv"), as_paths([[1, 2], [3, 4]])
    ([PosixPath('day.csv')], None)
    """
    items: list[Any] = list(source) if isinstance(source, list | tuple) else [source]
    if items and all(isinstance(item, str | os.PathLike) for item in items):
        return [Path(item) for item in items]
    return None


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
            close = get_close_matches(path.name, beside, n=3)
            hint = f"; did you mean {' or '.join(close)}?" if close else "; check the path"
            raise DataError(f"{path}: no such file{hint}")
    return found


def _listed() -> str:
    return ", ".join(SUFFIXES[:-1]) + " or " + SUFFIXES[-1]


def read_file_blocks(
    paths: Iterable[Path],
    choices: Choices,
    *,
    rows: int = _BLOCK_ROWS,
    progress: Progress = None,
) -> Iterator[Table]:
    """Yield the rows of files as tables of at most ``rows`` rows each.

    The first file decides which columns are used; the others must have the same ones, in any
    order. A table never spans two files, and its part says how many rows of its file came before.

    Raises
    ------
    DataError
        As ``as_table``.
    """
    files = find_files(paths)
    total = sum(path.stat().st_size for path in files)
    with reporting(progress if total >= _SHOWN_BYTES else False) as report:
        reader, done = _Reader(choices, rows), 0
        for path in files:
            for table, share in reader.read(path):
                yield table
                report(Step("reading", done + round(share * path.stat().st_size), total))
            done += path.stat().st_size


class _Reader:
    """Holds what the first file decided for all."""

    def __init__(self, choices: Choices, rows: int) -> None:
        self._choices = choices
        self._rows = rows
        self._first: Path | None = None
        self._header: set[str] = set()
        self._layout: Layout | None = None
        self._form: str | None = None

    def read(self, path: Path) -> Iterator[tuple[Table, float]]:
        """Yield a file's tables, each with the share of the file that is then read."""
        before = 0
        for frame, share in _read_frames(path, self._rows):
            if self._layout is None:
                self._first, self._header = path, set(frame.columns)
                try:
                    schema = dict(nw.from_native(frame).schema)
                    self._layout = decide_layout(schema, self._choices)
                except DataError as error:
                    raise DataError(f"{path}: {error}") from error
            if before == 0:
                _refuse_other_columns(path, set(frame.columns), self._first, self._header)
            for start in range(0, len(frame), self._rows):
                piece = frame.slice(start, self._rows)
                yield self._as_table(piece, self._layout, path, before), share
                before += len(piece)

    def _as_table(self, frame: pl.DataFrame, layout: Layout, path: Path, before: int) -> Table:
        header = None if path.name.endswith(".parquet") else 1
        part = Part(0, str(path), before, header)
        place = Table(np.empty((len(frame), 0)), (), parts=(part,)).place
        times = None
        if layout.time is not None:
            column = nw.from_native(frame[layout.time], series_only=True)
            times = read_times(column, place, form=self._form)
            self._form = times.form
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


def read_files(paths: Iterable[Path], choices: Choices, *, progress: Progress = None) -> Table:
    """Read files into one table that holds its numbers once.

    Raises
    ------
    DataError
        As ``as_table``.
    """
    values: NDArray[Any] | None = None
    parts, stamps, given = list[Part](), list[NDArray[Any]](), list[pl.Series]()
    count, zoned = 0, set[bool]()
    table: Table | None = None
    for table in read_file_blocks(paths, choices, progress=progress):
        block = table.values
        if values is None:
            values = np.empty((0, block.shape[1]), block.dtype)
        if block.dtype.itemsize > values.dtype.itemsize:
            values = values.astype(block.dtype)
        if count + len(block) > len(values):
            # Growing in place (no view of it exists) does not hold the numbers twice; a small
            # reserve keeps it rare, and is all that is taken beyond the table itself.
            room = (count + len(block)) * 17 // 16
            values.resize((room, block.shape[1]), refcheck=False)
        values[count : count + len(block)] = block
        if table.parts[0].offset == 0:
            parts.append(replace(table.parts[0], start=count))
        if table.timestamps is not None:
            stamps.append(table.timestamps)
            given.append(table.time_column)
            zoned.add(table.time_zone is None)
        count += len(block)
    assert table is not None, "every path means a file, and every file has a row"
    assert values is not None
    values.resize((count, values.shape[1]), refcheck=False)
    if len({block.dtype.kind for block in stamps}) > 1 or len(zoned) > 1:
        raise DataError(
            f"the column {table.time_name!r} holds dates, dates with a zone, or numbers in some "
            "files and another of these in others; write the times of all files in one form"
        )
    times = np.concatenate(stamps) if stamps else None
    column: pl.Series | None = None
    if times is not None:
        # Files of one form keep their times as written; text and datetimes meet as datetimes.
        alike = len({piece.dtype for piece in given}) == 1
        column = pl.concat(given) if alike else pl.Series(table.time_name, times)
    return replace(table, values=values, timestamps=times, parts=tuple(parts), time_column=column)


def read_group_column(paths: Iterable[Path], name: str) -> pl.Series:
    """Read one column of files, as text.

    Raises
    ------
    DataError
        When a file does not have it.
    """
    pieces = list[pl.Series]()
    for path in find_files(paths):
        for frame, _ in _read_frames(path, _BLOCK_ROWS):
            if name not in frame.columns:
                raise DataError(f"{path}: no column {name!r}{nearest(name, frame.columns)}")
            pieces.append(_as_names(frame[name]))
    return pl.concat(pieces, rechunk=True)


def _as_names(column: pl.Series) -> pl.Series:
    """Text; whole numbers (which CSV blocks hold as floats) without a decimal point."""
    if column.dtype.is_float() and (column.drop_nulls() % 1 == 0).all():
        column = column.cast(pl.Int64)
    return column.cast(pl.String)


def _read_frames(path: Path, rows: int) -> Iterator[tuple[pl.DataFrame, float]]:
    if path.name.endswith(".parquet"):
        yield from _read_parquet_frames(path, rows)
    else:
        yield from read_csv_blocks(path)


def _read_parquet_frames(path: Path, rows: int) -> Iterator[tuple[pl.DataFrame, float]]:
    try:
        scan = pl.scan_parquet(path)
        count = int(scan.select(pl.len()).collect().item())
        if not count:
            raise DataError(f"{path}: the file has columns but no rows; give at least one row")
        for start in range(0, count, rows):
            yield scan.slice(start, rows).collect(), min(1.0, (start + rows) / count)
    except (OSError, pl.exceptions.PolarsError) as error:
        raise DataError(
            f"{path}: cannot be read as Parquet ({error}); check that the file is complete"
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
