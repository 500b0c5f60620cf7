"""Which sources have news, told to the other processes a few times a second, together."""

from __future__ import annotations

import functools
import json
import threading
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import suppress
from typing import Any

from sqlalchemy import Connection, text
from sqlalchemy.exc import SQLAlchemyError

from alora_ts.serve.store.store import Store

__all__ = ["CHANNEL", "OF_PAGES", "Telling", "announce"]

CHANNEL = "alora_ts"
OF_PAGES = "alora_ts_pages"
"""What only processes with pages listen to: every row has a reading, and scorers need none."""

_LONGEST = 7900  # bytes that PostgreSQL carries, with room to spare
_GATHER = 0.05


def announce(connection: Connection, message: Mapping[str, Any], *, channel: str = CHANNEL) -> None:
    """Tell every process that shares the store, once the transaction is committed."""
    if connection.dialect.name == "postgresql":
        payload = json.dumps(message, separators=(",", ":"))
        if len(payload.encode()) <= _LONGEST:
            notify = text("SELECT pg_notify(:channel, :payload)")
            connection.execute(notify, {"channel": channel, "payload": payload})


class Telling:
    """Gathers names of sources and announces them.

    Every process hears every announcement, and commits that announce wait for each other. So what
    comes within a twentieth of a second after one is announced together; the first goes at once.

    Parameters
    ----------
    store : Store
    sender : callable giving str
        Who announces it: the id of this process.
    """

    def __init__(self, store: Store, sender: Callable[[], str | None]) -> None:
        self._store = store
        self._sender = sender
        self._lock = threading.Lock()
        self._some = threading.Event()
        self._stop = threading.Event()
        self._gathered: dict[str, set[str]] = {}
        self._thread = threading.Thread(target=self._run, name="alora-telling", daemon=True)

    def start(self) -> None:
        """Begin to announce."""
        self._thread.start()

    def add(self, kind: str, source: str) -> None:
        """Announce that a source has news; from any thread."""
        with self._lock:
            self._gathered.setdefault(kind, set()).add(source)
        self._some.set()

    def close(self) -> None:
        """End; what is not announced yet, others find out at their next beat."""
        self._stop.set()
        self._some.set()
        if self._thread.is_alive():
            self._thread.join()

    def _run(self) -> None:
        while not self._stop.is_set():
            self._some.wait()
            self._some.clear()
            with self._lock:
                gathered, self._gathered = self._gathered, {}
            # An error has been logged by the writer; others find out at their next beat.
            with suppress(SQLAlchemyError):
                self._store.writer.run(functools.partial(self._announce, gathered))
            self._stop.wait(_GATHER)

    def _announce(self, gathered: Mapping[str, set[str]], connection: Connection) -> None:
        for kind, names in gathered.items():
            for part in _parts(sorted(names)):
                message = {"kind": kind, "from": self._sender(), "sources": part}
                announce(connection, message, channel=OF_PAGES if kind == "reading" else CHANNEL)


def _parts(names: Sequence[str]) -> Iterator[list[str]]:
    """Names in lists that an announcement can carry."""
    part, size = list[str](), 0
    for name in names:
        more = len(json.dumps(name)) + 1
        if part and size + more > _LONGEST - 200:
            yield part
            part, size = [], 0
        part.append(name)
        size += more
    if part:
        yield part
