"""Who changed what: written in the transaction of the change itself."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass, field
from typing import Any

from sqlalchemy import Connection, insert, select

from alora_ts.serve.store.record import Record
from alora_ts.serve.store.schema import audit
from alora_ts.serve.times import now_micros

__all__ = ["Entry", "acting", "note", "read_audit"]

_actor: ContextVar[str] = ContextVar("actor", default="this machine")


@contextmanager
def acting(who: str) -> Iterator[None]:
    """Name whoever acts while the block lasts."""
    before = _actor.set(who)
    try:
        yield
    finally:
        _actor.reset(before)


@dataclass(frozen=True)
class Entry:
    """One change.

    Attributes
    ----------
    who : str
        Name and id of a token, or "this machine" for the command line and open access.
    action : str
        A few fixed words, such as "model activated".
    target : str
        The source, incident, model or token it is about.
    detail : mapping
    """

    who: str
    action: str
    target: str
    detail: Mapping[str, Any] = field(default_factory=dict)

    @classmethod
    def now(cls, action: str, target: str, detail: Mapping[str, Any] | None = None) -> Entry:
        """An entry in the name of whoever acts now.

        To be made where the request is handled: the thread that writes acts for everyone.
        """
        return cls(_actor.get(), action, target, detail or {})


def note(connection: Connection, entry: Entry) -> None:
    """Keep an entry."""
    connection.execute(
        insert(audit).values(
            at_us=now_micros(),
            who=entry.who,
            action=entry.action,
            target=entry.target,
            detail=dict(entry.detail),
        )
    )


def read_audit(connection: Connection, *, before: int | None, limit: int) -> Sequence[Record]:
    """The newest entries first, those with a smaller number than ``before``."""
    query = select(audit).order_by(audit.c.id.desc()).limit(limit)
    if before is not None:
        query = query.where(audit.c.id < before)
    return connection.execute(query).all()
