"""What this process holds: everything where it is alone, its leases where it is not."""

from __future__ import annotations

import json
import logging
import os
import secrets
import socket
import threading
import time
from collections.abc import Mapping, Sequence
from typing import Any, Protocol

from sqlalchemy import Connection
from sqlalchemy.exc import DatabaseError, SQLAlchemyError

from alora_ts.errors import AloraError
from alora_ts.serve.store.engines import make_shared_engine
from alora_ts.serve.store.leases import (
    LIFE,
    Lease,
    claim,
    count_held,
    held_by,
    join,
    leave,
    living,
    offer,
    release,
    renew,
)
from alora_ts.serve.store.store import Store
from alora_ts.serve.workers.shares import fair_share
from alora_ts.serve.workers.telling import CHANNEL, OF_PAGES, announce

__all__ = ["Alone", "Hooks", "Member", "Share"]

_log = logging.getLogger("alora_ts.serve")
_BEAT = 3.0
_PAUSE = 1.0


class Share(Protocol):
    """What this process may write."""

    id: str | None

    def holds(self, kind: str, name: str) -> bool:
        """Whether it is this process's."""
        ...

    def lease(self, kind: str, name: str) -> Lease | None:
        """What to show when writing; None where nobody else could write."""
        ...

    def start(self) -> None:
        """Begin to take part."""
        ...

    def close(self) -> None:
        """Hand everything over."""
        ...


class Alone:
    """The only process of a store."""

    id: str | None = None

    def holds(self, kind: str, name: str) -> bool:  # noqa: ARG002
        """Everything is this process's."""
        return True

    def lease(self, kind: str, name: str) -> None:
        """Nobody else could write."""

    def start(self) -> None:
        """Nothing to take part in."""

    def close(self) -> None:
        """Nothing to hand over."""


class Hooks(Protocol):
    """What a member calls, on its own thread."""

    def offered(self) -> Mapping[str, Sequence[str] | None]:
        """What is to be held, by kind; None for all sources."""
        ...

    def status(self) -> Mapping[str, Any]:
        """What others shall see of this process, as JSON."""
        ...

    def follow(self) -> None:
        """See what others have changed in the store."""
        ...

    def moved(self, gained: Sequence[Lease], lost: Sequence[Lease]) -> None:
        """Begin with what was gained; be done with what was lost when this returns."""
        ...

    def heard(self, messages: Sequence[Mapping[str, Any]]) -> None:
        """Take in what other processes announced."""
        ...


class Member:
    """One of several processes that share a PostgreSQL store.

    A thread of its own gives signs of life, takes and gives leases, and hears what others
    announce. A member that could give no sign for too long holds nothing any more, whatever it
    believes: the server checks with every write.

    Parameters
    ----------
    store : Store
    hooks : Hooks
    scores : bool
        Whether it takes leases at all.
    pages : bool
        Whether it shows pages, which hear of every reading.
    """

    def __init__(self, store: Store, hooks: Hooks, *, scores: bool, pages: bool) -> None:
        self._hooks = hooks
        self._scores = scores
        self._channels = (CHANNEL, OF_PAGES) if pages else (CHANNEL,)
        self._engine = make_shared_engine(store.url, connections=2)
        self._held: dict[tuple[str, str], Lease] = {}
        self._stop = threading.Event()
        self.name = f"{socket.gethostname()}:{os.getpid()}"
        self.id: str | None = None
        try:
            self._join()
        except DatabaseError as error:
            raise AloraError(f"cannot take part in the store {store.name}: {error.orig}") from error
        self._thread = threading.Thread(target=self._run, name="alora-leases", daemon=True)

    def holds(self, kind: str, name: str) -> bool:
        """Whether this process has the lease, as far as it knows."""
        return (kind, name) in self._held

    def lease(self, kind: str, name: str) -> Lease | None:
        """The lease, to be checked by the server; one that is not held fails there."""
        return self._held.get((kind, name)) or Lease(kind, name, str(self.id), -1)

    def start(self) -> None:
        """Take part; what nobody holds is taken before this returns."""
        self._beat()
        self._thread.start()

    def close(self) -> None:
        """Hand everything over, at once."""
        self._stop.set()
        if self._thread.is_alive():
            self._thread.join()
        try:
            with self._engine.begin() as connection:
                leave(connection, str(self.id))
                announce(connection, {"kind": "leases"})
        except SQLAlchemyError as error:
            _log.warning("could not hand over, others wait: %s", type(error).__name__)
        self._engine.dispose()

    def _join(self) -> None:
        self.id = f"w_{secrets.token_hex(6)}"
        with self._engine.begin() as connection:
            join(connection, self.id, self.name, scores=self._scores)

    def _run(self) -> None:
        while not self._stop.is_set():
            try:
                with self._engine.connect() as connection:
                    self._listen(connection)
            except Exception as error:
                _log.warning("lost touch with the store: %s", type(error).__name__)
                self._stop.wait(_PAUSE)

    def _listen(self, connection: Connection) -> None:
        raw: Any = connection.connection.driver_connection
        raw.autocommit = True
        try:
            for channel in self._channels:
                raw.execute(f"LISTEN {channel}")
            while not self._stop.is_set():
                # First of all, and after every new connection: news may have been missed.
                self._beat()
                deadline = time.monotonic() + _BEAT
                while not self._stop.is_set() and (left := deadline - time.monotonic()) > 0:
                    # All that have come by now, once there is one.
                    waited = raw.notifies(timeout=min(left, 0.25), stop_after=1)
                    if messages := [json.loads(one.payload) for one in waited]:
                        self._hooks.heard(messages)
                    if any(message["kind"] == "leases" for message in messages):
                        deadline = 0.0
        finally:
            connection.invalidate()

    def _beat(self) -> None:
        """Give a sign of life and put leases right."""
        with self._engine.begin() as connection:
            alive = renew(connection, str(self.id), self._hooks.status())
        if not alive:
            _log.warning("gave no sign for %g s: all leases are lost", LIFE / 1e6)
            self._take_over({})
            self._join()
        self._hooks.follow()
        if not self._scores:
            return
        excess: list[Lease] = []
        with self._engine.begin() as connection:
            for kind, names in self._hooks.offered().items():
                excess += self._balance(connection, kind, names)
            held = held_by(connection, str(self.id))
        self._take_over({key: lease for key, lease in held.items() if lease not in excess})
        if excess:
            with self._engine.begin() as connection:
                release(connection, excess)
                announce(connection, {"kind": "leases"})

    def _balance(
        self, connection: Connection, kind: str, names: Sequence[str] | None
    ) -> list[Lease]:
        """Take what is missing to a fair share; give what is to be let go of."""
        offer(connection, kind, names)
        workers = [one.id for one in living(connection) if one.scores]
        total, counts = count_held(connection, kind, names)
        share = fair_share(str(self.id), workers, total, counts)
        mine = counts.get(self.id, 0)
        if mine < share:
            claim(connection, str(self.id), kind, alive=workers, names=names, most=share - mine)
        if names is None and mine <= share:
            return []
        held = [one for one in held_by(connection, str(self.id)).values() if one.kind == kind]
        # What the settings no longer have.
        over = [one for one in held if names is not None and one.name not in names]
        kept = sorted((one for one in held if one not in over), key=lambda one: one.name)
        return [*over, *kept[: max(0, mine - share)]]

    def _take_over(self, held: dict[tuple[str, str], Lease]) -> None:
        before, self._held = self._held, held
        gained = [one for key, one in held.items() if before.get(key) != one]
        lost = [one for key, one in before.items() if held.get(key) != one]
        if gained or lost:
            _log.info(
                "%s: %d leases, %d gained, %d lost", self.name, len(held), len(gained), len(lost)
            )
            self._hooks.moved(gained, lost)
