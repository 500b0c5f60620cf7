"""Reading the text and numpy files of the datasets, with errors that name the cell."""

from __future__ import annotations

import io
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
from numpy.typing import NDArray

from alora_ts.errors import DataError

__all__ = ["as_labels", "need_file", "read_array", "read_labels", "read_matrix"]


def need_file(path: Path) -> Path:
    """Return ``path``, or say that the file is missing."""
    if not path.is_file():
        raise DataError(f"{path} does not exist; the copy is incomplete, fetch or copy it again")
    return path


def read_matrix(path: Path) -> NDArray[np.float32]:
    r"""Read a comma-separated file of numbers without a header.

    Parameters
    ----------
    path : Path
        One row a line, the same count of numbers in each. ``nan`` stands for a missing number.

    Returns
    -------
    ndarray of shape (rows, columns), float32

    Raises
    ------
    DataError
        Naming the first line and column that is not a number.

    Examples
    --------
    >>> import tempfile
    >>> path = Path(tempfile.mkdtemp()) / "two.txt"
    >>> _ = path.write_text("1,2.5\n3,4\n")
    >>> read_matrix(path)
    array([[1. , 2.5],
           [3. , 4. ]], dtype=float32)
    """
    content = need_file(path).read_bytes()
    # Git on Windows may have rewritten the line ends of a checkout.
    lines = content.replace(b"\r\n", b"\n").rstrip(b"\n")
    if not lines:
        raise DataError(f"{path} is empty; fetch or copy it again")
    width = lines.split(b"\n", 1)[0].count(b",") + 1
    schema = {f"c{i}": pl.Float64 for i in range(width)}
    try:
        table = pl.read_csv(io.BytesIO(lines + b"\n"), has_header=False, schema=schema)
    except pl.exceptions.PolarsError:
        raise _bad_cell(path, lines, width) from None
    if any(table.null_count().row(0)) or len(table) != lines.count(b"\n") + 1:
        raise _bad_cell(path, lines, width)
    return np.ascontiguousarray(table.to_numpy().astype(np.float32))


def _bad_cell(path: Path, lines: bytes, width: int) -> DataError:
    for number, line in enumerate(lines.decode(errors="replace").split("\n"), start=1):
        cells = line.split(",")
        if len(cells) != width:
            return DataError(
                f"{path}, line {number}: {len(cells)} numbers where line 1 has {width}; the file "
                "is damaged, fetch or copy it again"
            )
        for column, cell in enumerate(cells, start=1):
            try:
                float(cell)
            except ValueError:
                return DataError(
                    f"{path}, line {number}, column {column}: {cell[:40]!r} is not a number; the "
                    "file is damaged, fetch or copy it again"
                )
    return DataError(f"{path} is not a table of numbers; fetch or copy it again")


def read_labels(path: Path) -> NDArray[np.bool_]:
    r"""Read one 0 or 1 a line.

    Examples
    --------
    >>> import tempfile
    >>> path = Path(tempfile.mkdtemp()) / "label.txt"
    >>> _ = path.write_text("0\n1\n")
    >>> read_labels(path)
    array([False,  True])
    """
    return as_labels(read_matrix(path), str(path))


def as_labels(values: NDArray[Any], place: str) -> NDArray[np.bool_]:
    """Turn a column of 0 and 1 into booleans, refusing anything else."""
    column = np.asarray(values)
    if column.ndim == 2 and column.shape[1] == 1:
        column = column[:, 0]
    if column.ndim != 1:
        raise DataError(f"{place}: labels are one column, these have shape {column.shape}")
    odd = np.flatnonzero((column != 0) & (column != 1))
    if len(odd):
        raise DataError(
            f"{place}, row {odd[0]}: the label is {column[odd[0]]}, expected 0 or 1; is this the "
            "label file?"
        )
    return column.astype(np.bool_)


def read_array(path: Path) -> NDArray[np.float32]:
    """Read a two-dimensional ``.npy`` file as float32; nothing in it is ever executed."""
    need_file(path)
    try:
        values = np.load(path, allow_pickle=False)
    except (ValueError, EOFError, OSError) as error:
        raise DataError(f"{path} is not a readable .npy file ({error}); fetch it again") from None
    if not isinstance(values, np.ndarray) or values.ndim != 2 or values.dtype.kind not in "fiub":
        raise DataError(f"{path} does not hold a table of numbers; fetch or copy it again")
    return np.ascontiguousarray(values, dtype=np.float32)
