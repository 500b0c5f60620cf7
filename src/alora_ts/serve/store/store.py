"""The store: opened, brought to the newest schema, held by one process at a time."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any, TypeVar

from sqlalchemy import Connection, text
from sqlalchemy.exc import DatabaseError

from alora_ts.errors import AloraError
from alora_ts.serve.store.audit import Entry, note
from alora_ts.serve.store.engines import make_engines, store_url
from alora_ts.serve.store.hold import FileHold, StoreBusyError
from alora_ts.serve.store.migrate import migrate
from alora_ts.serve.store.writer import Writer

__all__ = ["Store"]

_T = TypeVar("_T")
_STARTING = 7_202_614


class Store:
    """Rows, readings, incidents, models and tokens in SQLite or PostgreSQL.

    Parameters
    ----------
    address : str
        A path, or ``postgresql://user:password@host:port/database``.
    exclusive : bool
        Whether to hold an SQLite store for this process alone, as a service must: two would
        score every row twice. Tools that only add a token share it. A PostgreSQL store is always
        shared: see leases.py.

    Attributes
    ----------
    address : str
        As it was given, with its password: not to be shown.
    writer : Writer
        All writes go through it.
    """

    def __init__(self, address: str, *, exclusive: bool = True) -> None:
        self.address = address
        self.url = store_url(address)
        self._writing, self._reading = make_engines(self.url)
        self._held: FileHold | None = None
        try:
            if exclusive and self.kind == "sqlite":
                self._held = self._hold()
            migrate(self._writing)
        except DatabaseError as error:
            self._release()
            # The driver's words, without the address: that may hold a password.
            raise AloraError(f"cannot open the store {self.name}: {error.orig}") from error
        except BaseException:
            self._release()
            raise
        self.writer = Writer(self._writing)

    @property
    def name(self) -> str:
        """The address without its password."""
        if self.kind == "sqlite":
            return str(self.url.database)
        shown = self.url.set(drivername="postgresql", query={})
        return shown.render_as_string(hide_password=True)

    @property
    def kind(self) -> str:
        """Which database it is: sqlite or postgresql."""
        return self.url.get_backend_name()

    @contextmanager
    def reading(self) -> Iterator[Connection]:
        """A connection that sees one consistent state."""
        with self._reading.begin() as connection:
            yield connection

    def change(
        self,
        action: str,
        target: str,
        work: Callable[[Connection], _T],
        detail: Mapping[str, Any] | None = None,
    ) -> _T:
        """Write what a person decided, with its entry in the audit trail, both or neither."""
        entry = Entry.now(action, target, detail)

        def write(connection: Connection) -> _T:
            result = work(connection)
            note(connection, entry)
            return result

        return self.writer.run(write)

    def size(self) -> int:
        """Bytes on the disk."""
        if self.kind == "sqlite":
            whole = Path(str(self.url.database))
            parts = (whole, whole.with_name(whole.name + "-wal"))
            return sum(part.stat().st_size for part in parts if part.exists())
        with self.reading() as connection:
            return int(connection.scalar(text("SELECT pg_database_size(current_database())")) or 0)

    def close(self) -> None:
        """Finish all writes and close the store."""
        self.writer.close()
        self._release()

    @contextmanager
    def starting(self) -> Iterator[None]:
        """Let services that share the store begin one after another."""
        if self.kind == "sqlite":
            yield
            return
        with self._reading.begin() as connection:
            connection.execute(text(f"SELECT pg_advisory_xact_lock({_STARTING})"))
            yield

    def _hold(self) -> FileHold:
        try:
            return FileHold(str(self.url.database))
        except StoreBusyError as error:
            raise AloraError(
                f"the store {self.name} is in use by another alora-ts serve; stop that one first "
                "or give another --store"
            ) from error

    def _release(self) -> None:
        if self._held is not None:
            self._held.release()
        self._held = None
        self._reading.dispose()
        self._writing.dispose()
