"""One service a store: taken at the start, and checked with every transaction.

SQLite's file is locked by the operating system for as long as the process lives. A PostgreSQL
server keeps its lock with a connection, which ends when the server restarts; somebody else may
take it then. So whoever takes the store also raises a number in it, and every transaction looks
whether the number is still its own before it writes anything (fencing).
"""

from __future__ import annotations

import os
from typing import Any, Protocol

from sqlalchemy import Connection, Engine, select, text
from sqlalchemy.exc import DBAPIError

from alora_ts.errors import AloraError
from alora_ts.serve.store.schema import holder
from alora_ts.serve.store.upsert import upsert

__all__ = ["FileHold", "Hold", "ServerHold", "StoreBusyError", "StoreLostError"]

_ADVISORY = 7_202_611


class StoreBusyError(AloraError):
    """Another service has the store."""


class StoreLostError(AloraError):
    """Another service has taken the store; this one may no longer write."""


class Hold(Protocol):
    """A store held for this process alone."""

    def settle(self, connection: Connection) -> None:
        """Make the hold known in a store whose schema is complete."""
        ...

    def check(self, connection: Connection) -> None:
        """Raise StoreLostError, inside a transaction, when the store is another's."""
        ...

    def release(self) -> None:
        """Let go."""
        ...


class FileHold:
    """A lock on a file beside the database.

    Parameters
    ----------
    path : str
        The database.
    """

    def __init__(self, path: str) -> None:
        import fcntl

        try:
            self._handle = os.open(f"{path}.lock", os.O_RDWR | os.O_CREAT, 0o600)
        except OSError as error:
            raise AloraError(
                f"cannot open the store {path}: {error.strerror}; choose a place you may write to"
            ) from error
        try:
            fcntl.flock(self._handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError as error:
            os.close(self._handle)
            raise StoreBusyError(path) from error

    def settle(self, connection: Connection) -> None:
        """Nothing to do: the lock is the operating system's."""

    def check(self, connection: Connection) -> None:
        """Nothing to do: the lock lasts as long as the process."""

    def release(self) -> None:
        """Let go."""
        os.close(self._handle)


class ServerHold:
    """An advisory lock of a PostgreSQL server and a number that grows with every holder.

    Parameters
    ----------
    engine : Engine
        Where the connection comes from that keeps the lock.
    """

    def __init__(self, engine: Engine) -> None:
        self._engine = engine
        self._epoch = 0
        self._kept: Any = None
        self._pid = 0
        if not self._lock():
            raise StoreBusyError(engine.url.render_as_string(hide_password=True))

    def settle(self, connection: Connection) -> None:
        """Raise the number; from now on no earlier holder can write."""
        found = connection.scalar(select(holder.c.epoch).where(holder.c.id == 1).with_for_update())
        self._epoch = (found or 0) + 1
        upsert(connection, holder, [{"id": 1, "epoch": self._epoch}])

    def check(self, connection: Connection) -> None:
        """Look, and keep anyone from taking the store before this transaction ends."""
        locked = text(
            "SELECT EXISTS (SELECT 1 FROM pg_locks WHERE locktype = 'advisory' AND granted "
            f"AND objid = {_ADVISORY} AND pid = :pid)"
        )
        mine = select(holder.c.epoch).where(holder.c.id == 1).with_for_update(read=True)
        if connection.scalar(mine) != self._epoch:
            raise StoreLostError("another alora-ts serve has taken the store; this one stops")
        # The server may have been restarted: then the lock is free, and ours again if nobody
        # was faster.
        if not connection.scalar(locked, {"pid": self._pid}) and not self._lock():
            raise StoreLostError("another alora-ts serve is taking the store; this one stops")

    def release(self) -> None:
        """Let go."""
        if self._kept is not None:
            self._kept.invalidate()
            self._kept.close()
            self._kept = None

    def _lock(self) -> bool:
        self.release()
        kept = self._engine.connect()
        try:
            if not kept.scalar(text(f"SELECT pg_try_advisory_lock({_ADVISORY})")):
                kept.close()
                return False
            self._pid = int(kept.scalar(text("SELECT pg_backend_pid()")))
            kept.commit()
        except DBAPIError:
            kept.close()
            raise
        self._kept = kept
        return True
