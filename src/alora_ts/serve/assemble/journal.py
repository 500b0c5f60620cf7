"""Samples of rows that are not stored yet, kept on disk so that a crash loses none.

A sender may forget a sample as soon as it is acknowledged, and brokers send only a few (20 by
default) before they want an acknowledgement: fewer than a wide row has signals. So samples are
made durable here, acknowledged, and dropped when their row is stored.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Protocol

from alora_ts.errors import AloraError
from alora_ts.serve.assemble.grid import Sample

__all__ = ["Journal", "Keeper"]


class Keeper(Protocol):
    """Keeps the samples of unfinished rows safe, or knows who does."""

    def keep(self, samples: Iterable[tuple[int, Sample]]) -> None:
        """Make samples durable, each with the row that it serves."""
        ...

    def drop(self, points: Sequence[int]) -> None:
        """Forget the samples of rows that are stored."""
        ...

    def load(self) -> list[Sample]:
        """Return the samples that an earlier process left."""
        ...

    def close(self) -> None:
        """End."""
        ...


class Journal:
    """The samples of unfinished rows, in a small SQLite file.

    Parameters
    ----------
    path : Path
        The file; made when it is absent.

    Raises
    ------
    AloraError
        When the file cannot be used.

    Examples
    --------
    >>> import tempfile
    >>> path = Path(tempfile.mkdtemp()) / "line-3.journal"
    >>> journal = Journal(path)
    >>> journal.keep([(100, Sample("a", 101, 1.5))])
    >>> journal.load()
    [Sample(signal='a', time=101, value=1.5)]
    >>> journal.drop([100])
    >>> journal.load()
    []
    >>> journal.close()
    """

    def __init__(self, path: Path) -> None:
        try:
            path.parent.mkdir(parents=True, exist_ok=True)
            # Calls come from worker threads, one at a time.
            self._database = sqlite3.connect(path, check_same_thread=False)
        except (OSError, sqlite3.Error) as error:
            raise _unusable(path, error) from error
        try:
            self._database.execute("PRAGMA journal_mode = WAL")
            self._database.execute("PRAGMA synchronous = FULL")
            with self._database:
                self._database.execute(
                    "CREATE TABLE IF NOT EXISTS sample (point INTEGER, signal TEXT, time INTEGER, "
                    "value REAL, PRIMARY KEY (point, signal, time)) WITHOUT ROWID"
                )
        except sqlite3.Error as error:
            self._database.close()
            raise _unusable(path, error) from error

    def keep(self, samples: Iterable[tuple[int, Sample]]) -> None:
        """Make samples durable, each with the row that it serves; the first of equals stays."""
        with self._database:
            self._database.executemany(
                "INSERT OR IGNORE INTO sample VALUES (?, ?, ?, ?)",
                [(point, each.signal, each.time, each.value) for point, each in samples],
            )

    def drop(self, points: Sequence[int]) -> None:
        """Forget the samples of rows that are stored."""
        with self._database:
            self._database.executemany(
                "DELETE FROM sample WHERE point = ?", [(point,) for point in points]
            )

    def load(self) -> list[Sample]:
        """Return all samples, in order of time."""
        found = self._database.execute("SELECT signal, time, value FROM sample ORDER BY time")
        return [Sample(*row) for row in found]

    def close(self) -> None:
        """Close the file."""
        self._database.close()


def _unusable(path: Path, error: Exception) -> AloraError:
    return AloraError(
        f"cannot keep unfinished rows in {path}: {error}; remove the file if it is damaged, or "
        "let the service write to its folder"
    )
