"""Files in: which ones a path means, and their rows as tables, all at once or in chunks."""

from __future__ import annotations

import glob
import io
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

from alora_ts.data.csv_blocks import find_form, read_csv_blocks
from alora_ts.data.form import AS_FOUND, FileForm
from alora_ts.data.frames import Choices, Layout, decide_layout, read_values, told_names
from alora_ts.data.labels import read_label
from alora_ts.data.long import looks_long, pivot_long
from alora_ts.data.opening import FOLDER_SUFFIXES, SUFFIXES, open_file
from alora_ts.data.other_files import read_excel, read_json_blocks
from alora_ts.data.record import Part, Table
from alora_ts.data.times import find_time, read_times
from alora_ts.data.words import Notes
from alora_ts.errors import DataError, nearest
from alora_ts.progress import Progress, Step, reporting

__all__ = [
    "as_paths",
    "find_files",
    "read_file_blocks",
    "read_files",
    "read_frames",
    "read_group_column",
]

_BLOCK_ROWS = 65_536
_TOLD = (".csv", ".tsv", ".txt", ".jsonl", ".xlsx", ".parquet", ".csv.gz", ".zip")
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
            inside = [p for p in sorted(path.iterdir()) if p.name.endswith(FOLDER_SUFFIXES)]
            # Names with a leading dot or underscore are how writers mark files that are not data.
            inside = [p for p in inside if not p.name.startswith((".", "_"))]
            if not inside:
                raise DataError(f"{path}: the folder holds no {_listed(FOLDER_SUFFIXES)} file")
            found += inside
        elif path.exists():
            if not path.name.lower().endswith(SUFFIXES):
                raise DataError(f"{path}: cannot read this kind of file; give {_listed(_TOLD)}")
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


def _listed(suffixes: tuple[str, ...]) -> str:
    return ", ".join(suffixes[:-1]) + " or " + suffixes[-1]


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
        # What the caller said holds; what training or the file before found settles the rest.
        self._form = choices.hint
        self._notes = Notes()

    def read(self, path: Path) -> Iterator[tuple[Table, float]]:
        """Yield a file's tables, each with the share of the file that is then read."""
        before = 0
        for frame, share in self._frames(path):
            if self._layout is None:
                self._first, self._header = path, set(frame.columns)
                try:
                    schema = dict(nw.from_native(frame).schema)
                    self._layout = decide_layout(schema, self._choices)
                except DataError as error:
                    raise DataError(f"{path}: {error}") from error
                self._tell(self._layout)
            if before == 0:
                self._refuse_other_columns(path, set(frame.columns))
            for start in range(0, len(frame), self._rows):
                piece = frame.slice(start, self._rows)
                yield self._as_table(piece, self._layout, path, before), share
                before += len(piece)

    def _frames(self, path: Path) -> Iterator[tuple[pl.DataFrame, float]]:
        given = self._choices.form
        form = found_form(path, given, self._form, self._notes)
        self._form = form
        frames = read_frames(path, form, self._notes, rows=self._rows)
        first, share = next(frames)
        long = form.long or self._recognise_long(first)
        if long is None:
            yield first, share
            yield from frames
            return
        # A signal's readings lie anywhere in the file, so all of it is turned at once.
        whole = pl.concat([first, *(frame for frame, _ in frames)], how="vertical_relaxed")
        try:
            time = self._time_of(whole, long)
            wide, times = pivot_long(
                whole,
                time=time,
                tag=long[0],
                value=long[1],
                given=given.time_format,
                hint=self._form.time_format,
            )
        except DataError as error:
            raise DataError(f"{path}: {error}") from error
        self._form = replace(self._form, long=long, time_format=times.form)
        self._notes.header_lines = -1
        self._notes.say(
            f"read as one reading a line: {long[0]!r} names the signal, {long[1]!r} holds its value"
        )
        if times.note is not None:
            self._notes.say(times.note)
        known = self._choices.known
        if known is not None:
            # A signal without a reading in this file is silent, not missing.
            silent = [name for name in known.variables if name not in wide.columns]
            wide = wide.with_columns(pl.lit(None, pl.Float64).alias(name) for name in silent)
        yield wide, 1.0

    def _recognise_long(self, frame: pl.DataFrame) -> tuple[str, str] | None:
        choices = self._choices
        if choices.columns is not None or choices.label is not None or choices.known is not None:
            return None
        left = frame.drop(choices.ignore, strict=False)
        return looks_long(left, self._time_of(left, ("", "")))

    def _time_of(self, frame: pl.DataFrame, long: tuple[str, str]) -> str | None:
        known = self._choices.known
        if self._choices.time is not None:
            return self._choices.time
        if known is not None and known.time in frame.columns:
            return known.time
        schema = dict(nw.from_native(frame).schema)
        try:
            return find_time({name: kind for name, kind in schema.items() if name not in long})
        except DataError:
            if long[0]:
                raise
            return None

    def _tell(self, layout: Layout) -> None:
        if layout.renamed:
            self._notes.say(f"took near names: {told_names(layout.renamed)}")

    def _refuse_other_columns(self, path: Path, names: set[str]) -> None:
        if names == self._header:
            return
        missing, extra = sorted(self._header - names), sorted(names - self._header)
        if self._choices.known is not None and self._layout is not None:
            # Beside the training data's columns a file may hold what it likes.
            columns = {self._layout.time, *self._layout.variables, *self._layout.renamed}
            needed = columns - set(self._layout.renamed.values()) - {None}
            missing, extra = sorted(name for name in missing if name in needed), []
        if missing or extra:
            raise DataError(
                f"{path}: not the columns of {self._first}"
                + (f"; missing: {', '.join(missing)}" if missing else "")
                + (f"; extra: {', '.join(extra)}" if extra else "")
                + "; files read together must have the same columns"
            )

    def _as_table(self, frame: pl.DataFrame, layout: Layout, path: Path, before: int) -> Table:
        lines = self._notes.header_lines
        part = Part(0, str(path), before, None if lines < 0 else lines)
        place = Table(np.empty((len(frame), 0)), (), parts=(part,)).place
        given, times = self._choices.form, None
        if layout.time is not None:
            column = nw.from_native(frame[layout.time], series_only=True)
            times = read_times(column, place, given=given.time_format, hint=self._form.time_format)
            self._form = replace(self._form, time_format=times.form or self._form.time_format)
            if times.note is not None:
                self._notes.say(times.note)
        try:
            values = read_values(
                layout.arrange(nw.from_native(frame)),
                layout.variables,
                place,
                form=given.or_else(self._form),
                hint=self._form,
                notes=self._notes,
            )
        except DataError as error:
            raise error if str(path) in str(error) else DataError(f"{path}: {error}") from error
        label: NDArray[np.bool_] | None = None
        if layout.label is not None and layout.label in frame.columns:
            label = read_label(nw.from_native(frame[layout.label], series_only=True))
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
            label=label,
            label_name=None if label is None else layout.label,
            form=given.or_else(self._form),
            notes=self._notes.lines(layout.variables),
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
    labels = list[NDArray[np.bool_]]()
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
        labels.append(np.zeros(len(block), bool) if table.label is None else table.label)
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
    return replace(
        table,
        values=values,
        timestamps=times,
        parts=tuple(parts),
        time_column=column,
        label=None if table.label is None else np.concatenate(labels),
    )


def read_group_column(paths: Iterable[Path], name: str, form: FileForm | None = None) -> pl.Series:
    """Read one column of files, as text.

    Raises
    ------
    DataError
        When a file does not have it.
    """
    pieces = list[pl.Series]()
    for path in find_files(paths):
        for frame, _ in read_frames(path, form):
            if name not in frame.columns:
                raise DataError(f"{path}: no column {name!r}{nearest(name, frame.columns)}")
            pieces.append(_as_names(frame[name]))
    return pl.concat(pieces, rechunk=True)


def _as_names(column: pl.Series) -> pl.Series:
    """Text; whole numbers (which CSV blocks hold as floats) without a decimal point."""
    if column.dtype.is_float() and (column.drop_nulls() % 1 == 0).all():
        column = column.cast(pl.Int64)
    return column.cast(pl.String)


def found_form(path: Path, given: FileForm, hint: FileForm, notes: Notes) -> FileForm:
    """How a file is written: as said, found, or remembered; see ``find_form``."""
    with open_file(path) as content:
        kind = content.kind
    if kind == "text":
        return find_form(path, given, hint, notes)
    notes.header_lines = -1  # rows have no lines
    return given.or_else(hint)


def read_frames(
    path: Path,
    form: FileForm | None = None,
    notes: Notes | None = None,
    *,
    rows: int = _BLOCK_ROWS,
) -> Iterator[tuple[pl.DataFrame, float]]:
    """Yield the rows of any file as frames, each with the share of the file that is read.

    Parameters
    ----------
    path : Path
    form : FileForm, optional
        What is known of how it is written; the rest is found.
    notes : Notes, optional
    rows : int
        Rows of a frame, for files that know where theirs lie.

    Raises
    ------
    DataError
        When it cannot be read, or has no rows.
    """
    notes = Notes() if notes is None else notes
    form = found_form(path, form or AS_FOUND, AS_FOUND, notes)
    with open_file(path) as content:
        kind = content.kind
    if kind == "text":
        yield from read_csv_blocks(path, form, notes)
    elif kind == "json":
        yield from read_json_blocks(path)
    elif kind == "excel":
        yield read_excel(path, form, notes), 1.0
    else:
        yield from _read_parquet_frames(path, rows)


def _read_parquet_frames(path: Path, rows: int) -> Iterator[tuple[pl.DataFrame, float]]:
    try:
        with open_file(path) as content:
            packed = io.BytesIO(content.file.read()) if path.suffix.lower() == ".zip" else None
        scan = pl.scan_parquet(path if packed is None else packed)
        count = int(scan.select(pl.len()).collect().item())
        if not count:
            raise DataError(f"{path}: the file has columns but no rows; give at least one row")
        for start in range(0, count, rows):
            yield scan.slice(start, rows).collect(), min(1.0, (start + rows) / count)
    except (OSError, pl.exceptions.PolarsError) as error:
        raise DataError(
            f"{path}: cannot be read as Parquet ({error}); check that the file is complete"
        ) from error
