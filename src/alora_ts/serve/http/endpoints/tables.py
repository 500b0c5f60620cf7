"""Tables in the body of a request, read within bounds of memory."""

from __future__ import annotations

import io
import os
import signal
import subprocess
import sys
import threading
from pathlib import Path

import polars as pl
from starlette.exceptions import HTTPException

from alora_ts.errors import DataError
from alora_ts.serve.http.endpoints import parquet_child

__all__ = ["PARQUET", "TABLES", "read_body"]

PARQUET = {"application/vnd.apache.parquet", "application/x-parquet"}
TABLES = {"text/csv", *PARQUET}

_COLUMNS = 10_000
_SECONDS = 120.0
_LEAST = 128 * 2**20
_CELL = 24  # bytes, with what decoding needs beside the number itself
_together = threading.BoundedSemaphore(2)


def read_body(body: bytes, *, kind: str, most: int) -> pl.DataFrame:
    """Read a table whose size is looked at first: a small file can hold very many rows.

    Parameters
    ----------
    body : bytes
    kind : str
        Its content type, one of ``TABLES``.
    most : int
        Cells it may have.
    """
    return (read_parquet if kind in PARQUET else read_csv)(body, most=most)


def read_csv(body: bytes, *, most: int) -> pl.DataFrame:
    """Read a CSV file of at most so many cells; they are counted before."""
    columns = body[: body.find(b"\n")].count(b",") + 1
    rows = body.count(b"\n")
    if columns > _COLUMNS:
        # Each costs memory of its own, even without a row.
        raise HTTPException(413, f"the table has {columns:,} columns, more than {_COLUMNS:,}")
    if rows * columns > most:
        raise HTTPException(
            413, f"the table has {rows:,} rows of {columns:,} columns, more than {most:,} cells"
        )
    try:
        return pl.read_csv(io.BytesIO(body), try_parse_dates=True, infer_schema_length=10_000)
    except (pl.exceptions.PolarsError, pl.exceptions.PanicException, OSError, ValueError) as error:
        raise DataError(f"the body cannot be read as CSV: {str(error)[:200]}") from error


def read_parquet(body: bytes, *, most: int) -> pl.DataFrame:
    """Read a Parquet file of at most so many cells, in a process that cannot take more memory.

    See :mod:`alora_ts.serve.http.endpoints.parquet_child`.
    """
    memory = _LEAST + _CELL * most + 4 * len(body)
    script = str(Path(parquet_child.__file__))
    command = [sys.executable, "-I", script, str(memory), str(_COLUMNS), str(most)]
    # One thread: others would take memory for stacks. No message of Rust's about its panic.
    environment = {**os.environ, "POLARS_MAX_THREADS": "1", "RUST_BACKTRACE": "0"}
    with _together:
        try:
            done = subprocess.run(
                command,
                input=body,
                capture_output=True,
                timeout=_SECONDS,
                check=False,
                env=environment,
            )
        except subprocess.TimeoutExpired as error:
            raise DataError(f"the table could not be read within {_SECONDS:g} s") from error
    said = done.stderr.decode(errors="replace").rpartition("\n")[2]
    if done.returncode == 0:
        return pl.read_ipc(io.BytesIO(done.stdout))
    if done.returncode == parquet_child.TOO_LARGE:
        raise HTTPException(413, said)
    if done.returncode == parquet_child.UNREADABLE:
        raise DataError(f"the body cannot be read as Parquet: {said}")
    if done.returncode == -signal.SIGABRT:  # how Rust ends when it gets no memory
        raise HTTPException(413, "the table takes more memory than its rows and columns need")
    raise DataError("the body cannot be read as Parquet: reading it ended the reader")
