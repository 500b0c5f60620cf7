"""Reading a CSV file in blocks of whole lines, so that its size does not matter."""

from __future__ import annotations

import csv
import gzip
import io
import zlib
from collections.abc import Iterator
from pathlib import Path
from typing import NoReturn

import polars as pl

from alora_ts.data.times import is_unnamed, named_like_time
from alora_ts.errors import DataError

__all__ = ["BLOCK_BYTES", "read_csv_blocks"]

Schema = dict[str, type[pl.DataType] | pl.DataType]
Text = gzip.GzipFile | io.BufferedReader
BLOCK_BYTES = 16 * 2**20

# What common exports write into an empty cell.
_MISSING = ["", "NA", "N/A", "n/a", "#N/A", "NaN", "nan", "NAN", "NULL", "null", "None", "<NA>"]


def read_csv_blocks(
    path: Path, *, block_bytes: int = BLOCK_BYTES
) -> Iterator[tuple[pl.DataFrame, float]]:
    """Yield the rows of a CSV file (gzipped when named ``.gz``), a block at a time.

    The first block decides what each column holds; a later block that disagrees is an error that
    names the cell.

    Parameters
    ----------
    path : Path
        The file: comma-separated, UTF-8, first line the column names.
    block_bytes : int
        About how much text to hold at once.

    Yields
    ------
    polars.DataFrame, float
        Columns of numbers are Float64 (whole numbers stay Int64 in columns named like time),
        the rest Boolean or String; and the share of the file that is read.

    Raises
    ------
    DataError
        When the file is empty, has no rows or no usable header, or cannot be read.
    """
    try:
        with path.open("rb") as file:
            text = gzip.GzipFile(fileobj=file) if path.suffix == ".gz" else file
            size = max(path.stat().st_size, 1)
            for frame in _read(text, path, block_bytes):
                yield frame, min(1.0, file.tell() / size)
    except (OSError, EOFError, zlib.error) as error:
        raise DataError(
            f"{path}: cannot be read ({error}); check that the file is complete and may be read"
        ) from error


def _read(file: Text, path: Path, block_bytes: int) -> Iterator[pl.DataFrame]:
    header = _read_header(file, path)
    schema: Schema | None = None
    rest, rows = b"", 0
    while True:
        fresh = file.read(block_bytes)
        # Empty lines at the end are how editors close a file, not rows.
        block, rest = _cut(rest + fresh) if fresh else (rest.rstrip(b"\r\n"), b"")
        if block.strip():
            if schema is None:
                schema = _decide_schema(block, header, path)
            frame = _parse(block, schema, path, rows)
            rows += len(frame)
            yield frame
        if not fresh:
            break
    if not rows:
        raise DataError(f"{path}: there is a header but no rows below it; give at least one row")


def _cut(block: bytes) -> tuple[bytes, bytes]:
    """Split after the last line end that is not inside quotes, before any empty lines there."""
    end = len(block)
    while (end := block.rfind(b"\n", 0, end)) >= 0:
        if block.count(b'"', 0, end) % 2 == 0:
            last = len(block[:end].rstrip(b"\r\n"))
            cut = block.index(b"\n", last) + 1 if last else 0
            return block[:cut], block[cut:]
    return b"", block


def _read_header(file: Text, path: Path) -> list[str]:
    line = file.readline()
    while line.count(b'"') % 2 and (more := file.readline()):
        line += more
    try:
        text = line.decode("utf-8-sig").rstrip("\r\n")
    except UnicodeDecodeError as error:
        raise _not_utf8(path) from error
    if not text.strip():
        raise DataError(f"{path}: the file is empty or begins with an empty line; the first line "
                        "must name the columns")  # fmt: skip
    names = [name.strip() for name in next(csv.reader([text]))]
    if len(names) == 1:
        for separator, called in ((";", "semicolons"), ("\t", "tabs"), ("|", "bars")):
            if separator in names[0]:
                raise DataError(
                    f"{path}: the header {text[:80]!r} is one column, separated by {called} and "
                    "not by commas; write the file with commas (and points in decimal numbers)"
                )
    twice = sorted({name for name in names if names.count(name) > 1})
    if twice:
        raise DataError(
            f"{path}: the header names {', '.join(map(repr, twice))} more than once; give each "
            "column its own name"
        )
    if all(map(_is_number, names)) and names not in (
        [str(at) for at in range(len(names))],
        [str(at + 1) for at in range(len(names))],
    ):
        raise DataError(
            f"{path}: the first line holds numbers ({text[:60]!r}); it must name the columns"
        )
    return names


def _is_number(text: str) -> bool:
    try:
        float(text)
    except ValueError:
        return False
    return True


def _decide_schema(block: bytes, header: list[str], path: Path) -> Schema:
    frame = _parse(block, dict.fromkeys(header, pl.String), path, 0)
    schema: Schema = {}
    for name in header:
        column = frame[name].drop_nulls().str.strip_chars()
        schema[name] = pl.String
        if not column.cast(pl.Float64, strict=False).null_count():
            timely = named_like_time(name) or is_unnamed(name)
            whole = timely and not column.cast(pl.Int64, strict=False).null_count()
            schema[name] = pl.Int64 if whole else pl.Float64
        elif column.str.to_lowercase().is_in(["true", "false"]).all():
            schema[name] = pl.Boolean
    return schema


def _parse(
    block: bytes,
    schema: Schema,
    path: Path,
    rows_before: int,
) -> pl.DataFrame:
    try:
        return pl.read_csv(
            io.BytesIO(block),
            has_header=False,
            new_columns=list(schema),
            schema=schema,
            null_values=_MISSING,
        )
    except pl.exceptions.PolarsError as error:
        if all(kind == pl.String for kind in schema.values()):
            _explain(block, len(schema), path, rows_before, error)
        text = _parse(block, dict.fromkeys(schema, pl.String), path, rows_before)
        return _read_text(text, schema, path, rows_before)


def _read_text(text: pl.DataFrame, schema: Schema, path: Path, rows_before: int) -> pl.DataFrame:
    """Read cells that have blanks around them, or name the first that is not what it should be."""
    columns = list[pl.Series]()
    for name, kind in schema.items():
        cells = text[name]
        if kind != pl.String:
            cells = cells.str.strip_chars()
            cells = cells.set(cells.is_in(_MISSING).fill_null(value=False), None)
            if kind == pl.Boolean:
                read = cells.str.to_lowercase().replace_strict(
                    {"true": True, "false": False}, default=None, return_dtype=pl.Boolean
                )
            else:
                read = cells.cast(kind, strict=False)
            strange = read.is_null() & cells.is_not_null()
            if strange.any():
                row = int(strange.arg_max() or 0)
                others = "true and false" if kind == pl.Boolean else "numbers"
                raise DataError(
                    f"column {name!r}, {path}, line {rows_before + row + 2}: {text[name][row]!r} "
                    f"stands among {others}; correct the cell or leave it empty, or leave the "
                    f"column out with ignore=[{name!r}] (--ignore {name})"
                )
            cells = read
        columns.append(cells.alias(name))
    return pl.DataFrame(columns)


def _explain(block: bytes, width: int, path: Path, rows_before: int, error: Exception) -> NoReturn:
    """Find the line that the fast reader stumbled over."""
    try:
        lines = csv.reader(io.StringIO(block.decode("utf-8")))
    except UnicodeDecodeError as wrong:
        raise _not_utf8(path) from wrong
    for row, cells in enumerate(lines):
        if len(cells) > width:
            raise DataError(
                f"{path}, line {rows_before + row + 2}: {len(cells)} cells where the header names "
                f"{width} columns; correct the line, and mind commas inside numbers or text"
            )
    raise DataError(f"{path}: cannot be read as CSV ({error})") from error


def _not_utf8(path: Path) -> DataError:
    return DataError(f"{path}: the text is not UTF-8; save the file again as UTF-8")
