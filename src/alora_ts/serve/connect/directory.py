"""Rows from CSV and Parquet files that appear in a folder."""

from __future__ import annotations

import asyncio
import logging
import os
import time
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import polars as pl

from alora_ts.data.frames import Choices
from alora_ts.data.opening import FOLDER_SUFFIXES
from alora_ts.data.record import Table
from alora_ts.data.sources import read_file_blocks, read_frames
from alora_ts.errors import AloraError, DataError
from alora_ts.files import write_atomically
from alora_ts.serve.connect.payload import read_time
from alora_ts.serve.connect.settings import DirectorySettings, TimeUnit
from alora_ts.serve.connect.storing import persist, store
from alora_ts.serve.rows.interface import ConnectorStatus, Host, Progress, Rejection, Row

__all__ = ["DirectoryConnector"]

_log = logging.getLogger(__name__)
_BATCH = 2000


class DirectoryConnector:
    """Stores the rows of each new file, then moves it to ``done`` (or ``failed``) beside it.

    A file is read when its size and date have not changed for ``settle`` seconds, or at once when
    that is 0 (files renamed into the folder are complete). Names that begin with a dot or an
    underscore are left alone. Reading a file again after a crash stores nothing twice.

    Parameters
    ----------
    settings : DirectorySettings
    """

    kind = "directory"

    def __init__(self, settings: DirectorySettings) -> None:
        self._settings = settings
        self.name = settings.name
        self._progress = Progress(settings.name, self.kind, settings.source)
        self._seen: dict[Path, tuple[int, int, float]] = {}

    def status(self) -> ConnectorStatus:
        """Say whether the folder is there and what was counted."""
        return self._progress.status()

    async def run(self, host: Host) -> None:
        """Look at the folder until cancelled."""
        await persist(self._progress, lambda: self._watch(host))

    async def _watch(self, host: Host) -> None:
        while True:
            for path in await asyncio.to_thread(self._find):
                await self._take(host, path)
            await asyncio.sleep(self._settings.every)

    def _find(self) -> list[Path]:
        """The files that are complete, the oldest first."""
        folder = self._settings.path
        if not folder.is_dir():
            raise AloraError(f"the folder {folder} does not exist; create it, or correct `path`")
        self._progress.enter("connected")
        now = time.monotonic()
        seen = dict[Path, tuple[int, int, float]]()
        ready = list[tuple[int, Path]]()
        for entry in os.scandir(folder):
            if not entry.name.endswith(FOLDER_SUFFIXES) or entry.name.startswith((".", "_")):
                continue
            try:
                stat = entry.stat()
            except FileNotFoundError:
                continue
            path = Path(entry.path)
            size, changed, since = self._seen.get(path, (-1, -1, now))
            if (size, changed) != (stat.st_size, stat.st_mtime_ns):
                since = now
            seen[path] = (stat.st_size, stat.st_mtime_ns, since)
            if entry.is_file() and now - since >= self._settings.settle:
                ready.append((stat.st_mtime_ns, path))
        self._seen = seen
        return [path for _, path in sorted(ready)]

    async def _take(self, host: Host, path: Path) -> None:
        """Store a file's rows and put it away."""
        source = self._settings.source
        known = None if host.collecting(source) else frozenset(host.variables(source))
        batches = self._read(path, known)
        count, refused = 0, list[Rejection]()
        try:
            while (rows := await asyncio.to_thread(next, batches, None)) is not None:
                self._progress.received(len(rows))
                count += len(rows)
                refused += (await store(host, self._progress, rows)).rejected
        except (DataError, OSError) as error:
            self._progress.reject("unreadable file")
            self._progress.enter("connected", str(error))
            _log.warning("%s: %s", self.name, error)
            await asyncio.to_thread(_put_away, path, "failed", str(error))
        else:
            why = (
                f"{len(refused)} of {count} rows were refused and the others stored; the first "
                f"one: {refused[0].reason}"
                if refused
                else None
            )
            await asyncio.to_thread(_put_away, path, "failed" if refused else "done", why)
        self._seen.pop(path, None)

    def _read(self, path: Path, known: frozenset[str] | None) -> Iterator[list[Row]]:
        header = _header(path)
        columns = None if known is None else tuple(name for name in header if name in known)
        if known is not None and not columns:
            raise DataError(
                f"{path}: none of the columns {', '.join(header)} is a variable of the model; it "
                f"knows {', '.join(sorted(known))}"
            )
        # Other columns (notes, counters, states) may hold anything.
        choices = Choices(time=self._settings.time, columns=columns)
        for table in read_file_blocks([path], choices, rows=_BATCH, progress=False):
            yield as_rows(table, unit=self._settings.time_unit)


def _header(path: Path) -> list[str]:
    if not path.name.endswith(".parquet"):
        return next(read_frames(path))[0].columns
    try:
        return list(pl.read_parquet_schema(path))
    except (OSError, pl.exceptions.PolarsError) as error:
        raise DataError(
            f"{path}: cannot be read as Parquet ({error}); check that the file is complete"
        ) from error


def as_rows(table: Table, *, unit: TimeUnit = "s") -> list[Row]:
    """Return a table's rows.

    Raises
    ------
    DataError
        When there is no time column.
    """
    if table.timestamps is None:
        where = table.parts[0].name if table.parts else "the table"
        raise DataError(
            f"{where}: no time column was found; add one, or name it with `time` in the settings"
        )
    stamps = table.timestamps
    if np.issubdtype(stamps.dtype, np.datetime64):
        times = stamps.astype("datetime64[us]").astype(np.int64).tolist()
    else:
        times = [read_time(stamp, unit) for stamp in stamps.tolist()]
    values = table.values.astype(np.float64)
    missing = np.isnan(values)
    cells: list[list[float]] = values.tolist()
    return [
        Row(
            moment,
            {
                name: None if gone else cell
                for name, cell, gone in zip(table.variables, line, absent, strict=True)
            },
        )
        for moment, line, absent in zip(times, cells, missing.tolist(), strict=True)
    ]


def _put_away(path: Path, folder: str, reason: str | None = None) -> None:
    """Move a file into a folder beside it, under a free name; say why beside it."""
    place = path.parent / folder
    place.mkdir(exist_ok=True)
    target, number = place / path.name, 1
    while target.exists():
        number += 1
        target = place / f"{number}-{path.name}"
    if reason is not None:
        with write_atomically(place / f"{target.name}.why.txt") as part:
            part.write_text(reason + "\n", encoding="utf-8")
    path.rename(target)
