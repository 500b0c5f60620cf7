"""Reading the CSV tables that plants and servers export, whatever their spelling."""

from __future__ import annotations

import gzip
import zlib
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import polars as pl
from numpy.typing import NDArray

from alora_ts.datasets.reading import need_file
from alora_ts.errors import DataError

__all__ = ["CsvTable", "hold_last", "parse_times", "read_table"]

# Enough for headings, header and some rows of the widest table.
_TOP = 100_000


@dataclass(frozen=True, eq=False)
class CsvTable:
    """A CSV file as numbers and text.

    Attributes
    ----------
    path : Path
    variables : tuple of str
        Names of the numeric columns, without blanks.
    values : ndarray of shape (rows, variables), float32
        Empty cells are NaN.
    text : dict of str to polars.Series
        The columns that are not measurements, by their name in lower case, as stripped text.
    first_line : int
        Line of the file on which row 0 stands, for messages.
    """

    path: Path
    variables: tuple[str, ...]
    values: NDArray[np.float32]
    text: dict[str, pl.Series]
    first_line: int


def read_table(path: Path, *, is_text: Callable[[str], bool]) -> CsvTable:
    r"""Read a CSV file, gzipped or not, with commas or semicolons, and headings above the header.

    Parameters
    ----------
    path : Path
    is_text : callable
        Says of a column name in lower case, without blanks, whether it is kept as text (the time,
        the label) instead of read as numbers.

    Returns
    -------
    CsvTable

    Raises
    ------
    DataError
        Naming the line and column of the first cell that is not a number.

    Examples
    --------
    >>> import tempfile
    >>> path = Path(tempfile.mkdtemp()) / "plant.csv"
    >>> _ = path.write_text(" Time, LIT101\n10:00,1.5\n10:01,\n")
    >>> table = read_table(path, is_text=lambda name: name == "time")
    >>> table.variables, table.values.tolist()
    (('LIT101',), [[1.5], [nan]])
    """
    content = _content(path)
    top = content[:_TOP].decode("utf-8-sig", errors="replace").split("\n")
    skip, separator = _header(path, top, is_text)
    names = ["".join(name.replace('"', "").split()) for name in top[skip].split(separator)]
    if len(set(names)) != len(names):
        twice = next(name for name in names if names.count(name) > 1)
        raise DataError(f"{path}: the column {twice!r} stands twice; remove one")
    text = [name for name in names if is_text(name.lower())]
    if not any(line.strip() for line in top[skip + 1 :]):
        raise DataError(f"{path} has a header and no rows; fetch or copy it again")
    try:
        frame = pl.read_csv(
            content,
            has_header=False,
            skip_rows=skip + 1,
            separator=separator,
            schema={name: pl.String if name in text else pl.Float32 for name in names},
            decimal_comma=separator == ";" and any("," in line for line in top[skip + 1 :]),
        )
    except pl.exceptions.PolarsError as error:
        raise _bad_cell(
            path,
            content.split(b"\n", skip + 1)[-1],
            separator=separator,
            names=names,
            text=text,
            first_line=skip + 2,
            error=error,
        ) from None
    numeric = [name for name in names if name not in text]
    return CsvTable(
        path,
        tuple(numeric),
        np.ascontiguousarray(frame.select(numeric).to_numpy(), dtype=np.float32),
        {name.lower(): frame[name].str.strip_chars() for name in text},
        skip + 2,
    )


def _content(path: Path) -> bytes:
    content = need_file(path).read_bytes()
    if content[:2] == b"\x1f\x8b":
        try:
            content = gzip.decompress(content)
        except (OSError, EOFError, zlib.error) as error:
            raise DataError(f"{path} is a damaged gzip file ({error}); fetch it again") from None
    if content.startswith(b"version https://git-lfs"):
        raise DataError(
            f"{path} is a Git LFS pointer, not the data; run `git lfs pull` in the clone or "
            "use `alora-ts data fetch`"
        )
    if content[:2] == b"PK":
        raise DataError(
            f"{path} is an Excel workbook; save it as CSV, for instance with "
            f"`soffice --headless --convert-to csv {path.name}`"
        )
    return content


def _header(path: Path, top: list[str], is_text: Callable[[str], bool]) -> tuple[int, str]:
    """Find the header among the first lines: the one that names a text column (the time)."""
    for number, line in enumerate(top[:5]):
        separator = ";" if line.count(";") > line.count(",") else ","
        cells = ["".join(cell.replace('"', "").split()).lower() for cell in line.split(separator)]
        if len(cells) > 1 and any(is_text(cell) for cell in cells):
            return number, separator
    raise DataError(
        f"{path}: none of the first lines is a header with a time column, separated by commas or "
        "semicolons; is this the official file?"
    )


def _bad_cell(
    path: Path,
    body: bytes,
    *,
    separator: str,
    names: Sequence[str],
    text: Sequence[str],
    first_line: int,
    error: Exception,
) -> DataError:
    for number, line in enumerate(body.decode(errors="replace").split("\n"), start=first_line):
        cells = line.rstrip("\r").split(separator)
        if len(cells) > len(names):
            return DataError(
                f"{path}, line {number}: {len(cells)} cells where the header has {len(names)}; "
                "the file is damaged, fetch or copy it again"
            )
        for name, cell in zip(names, cells, strict=False):
            try:
                float(cell.strip().strip('"').replace(",", ".") or "nan")
            except ValueError:
                if name not in text:
                    return DataError(
                        f"{path}, line {number}, column {name}: {cell[:40]!r} is not a number; "
                        "correct the file or fetch it again"
                    )
    return DataError(f"{path} cannot be read as CSV ({error}); fetch or copy it again")


def parse_times(
    table: CsvTable, names: Sequence[str], formats: Sequence[str]
) -> NDArray[np.datetime64]:
    """Return the time column as datetime64[us], which must not go back.

    Parameters
    ----------
    table : CsvTable
    names : sequence of str
        Names the time column may have, in lower case.
    formats : sequence of str
        Tried in order on the first cell; the one that fits must fit all rows.
    """
    column = next((table.text[name] for name in names if name in table.text), None)
    if column is None:
        raise DataError(f"{table.path} has no time column ({', '.join(names)})")
    # Zones are dropped: a plant's clock is compared only with itself.
    column = column.str.replace(r"(Z|[+-]\d\d:?\d\d| [A-Z]{3,4})$", "").str.replace("T", " ")
    first = column.head(1)
    fitting = next(
        (
            f
            for f in formats
            if not first.str.to_datetime(f, strict=False, time_unit="us").has_nulls()
        ),
        None,
    )
    if fitting is None:
        raise DataError(
            f"{table.path}, line {table.first_line}: the time {first[0]!r} has none of the known "
            f"forms ({', '.join(formats)}); is this the official file?"
        )
    times = column.str.to_datetime(fitting, strict=False, time_unit="us")
    if times.has_nulls():
        row = int(times.is_null().arg_max() or 0)
        raise DataError(
            f"{table.path}, line {table.first_line + row}: {column[row]!r} is not a time of the "
            f"form {fitting} as on line {table.first_line}; correct the file or fetch it again"
        )
    stamps: NDArray[np.datetime64] = times.to_numpy().astype("datetime64[us]")
    back = np.flatnonzero(np.diff(stamps) < np.timedelta64(0, "us"))
    if len(back):
        row = int(back[0]) + 1
        raise DataError(
            f"{table.path}, line {table.first_line + row}: the time {column[row]} is before "
            f"{column[row - 1]} on the line above; this is not the official file, which is in "
            "order of time"
        )
    return stamps


def hold_last(table: CsvTable) -> NDArray[np.float32]:
    """Fill missing cells with the last value before them, or the first after them at the start.

    Examples
    --------
    >>> values = np.array([[np.nan], [2.0], [np.nan]], dtype=np.float32)
    >>> hold_last(CsvTable(Path("t.csv"), ("a",), values, {}, 2)).ravel().tolist()
    [2.0, 2.0, 2.0]
    """
    known = np.isfinite(table.values)
    if known.all():
        return table.values
    empty = ~known.any(axis=0)
    if empty.any():
        raise DataError(
            f"{table.path}: the column {table.variables[int(empty.argmax())]} has no value at all; "
            "load with raw=True and leave the column out"
        )
    rows = np.arange(len(known))[:, None]
    latest = np.maximum.accumulate(np.where(known, rows, -1), axis=0)
    source = np.where(latest < 0, known.argmax(axis=0), latest)
    return np.take_along_axis(table.values, source, axis=0)
