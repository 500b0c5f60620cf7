"""One service an SQLite store: its file is locked for as long as the process lives.

A PostgreSQL store is shared; who may write what is settled by leases (leases.py).
"""

from __future__ import annotations

from filelock import FileLock, Timeout

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
        # Opened in one thread and closed in another.
        self._lock = FileLock(f"{path}.lock", timeout=0, mode=0o600, thread_local=False)
        try:
            self._lock.acquire()
        except Timeout as error:
            raise StoreBusyError(path) from error
        except OSError as error:
            raise AloraError(
                f"cannot open the store {path}: {error.strerror}; choose a place you may write to"
            ) from error

    def release(self) -> None:
        """Let go."""
        self._lock.release()
