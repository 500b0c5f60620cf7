"""One service an SQLite store: its file is locked for as long as the process lives.

A PostgreSQL store is shared; who may write what is settled by leases (leases.py).
"""

from __future__ import annotations

import os

from alora_ts.errors import AloraError

__all__ = ["FileHold", "StoreBusyError"]


class StoreBusyError(AloraError):
    """Another service has the store."""


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

    def release(self) -> None:
        """Let go."""
        os.close(self._handle)
