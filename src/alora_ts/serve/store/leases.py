"""Who works on a PostgreSQL store, and who holds which source, connector or task.

A worker is alive until a time that it moves on again and again; once that has passed it is dead
for good and comes back under another id. A lease is held by one living worker; every change of
hands raises its number. All times are the server's, so that clocks of machines do not matter.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from sqlalchemy import (
    ColumnElement,
    Connection,
    delete,
    func,
    insert,
    literal_column,
    select,
    tuple_,
    update,
)
from sqlalchemy.dialects import postgresql

from alora_ts.errors import AloraError
from alora_ts.serve.store.record import Record
from alora_ts.serve.store.schema import leases, sources, workers

__all__ = [
    "LIFE",
    "Lease",
    "LeaseLostError",
    "all_leases",
    "all_workers",
    "claim",
    "count_held",
    "held_by",
    "join",
    "leave",
    "living",
    "offer",
    "release",
    "renew",
    "still_held",
]

LIFE = 15_000_000
"""Microseconds that a worker lives without a sign."""

_NOW: ColumnElement[int] = literal_column(
    "(extract(epoch FROM clock_timestamp()) * 1000000)::bigint"
)
_FORGET = 600_000_000


class LeaseLostError(AloraError):
    """Another worker may hold it now; nothing was written."""


@dataclass(frozen=True)
class Lease:
    """The right to write for something.

    Attributes
    ----------
    kind : {"source", "connector", "task"}
    name : str
    worker : str
    epoch : int
        Grows with every change of hands.
    """

    kind: str
    name: str
    worker: str
    epoch: int


def still_held(connection: Connection, asked: Collection[Lease]) -> set[Lease]:
    """Those of some leases that are in force; nobody can take them before the transaction ends."""
    found = connection.execute(
        select(leases.c.kind, leases.c.name, leases.c.worker, leases.c.epoch)
        .join(workers, workers.c.id == leases.c.worker)
        .where(
            tuple_(leases.c.kind, leases.c.name).in_([(one.kind, one.name) for one in asked]),
            workers.c.until_us > _NOW,
        )
        .with_for_update(read=True, of=leases)
    )
    return {Lease(*row) for row in found} & set(asked)


def join(connection: Connection, worker: str, name: str, *, scores: bool) -> None:
    """Come to life under a new id."""
    connection.execute(delete(workers).where(workers.c.until_us < _NOW - _FORGET))
    connection.execute(
        insert(workers).values(
            id=worker, name=name, scores=scores, started_us=_NOW, until_us=_NOW + LIFE, status={}
        )
    )


def renew(connection: Connection, worker: str, status: Mapping[str, Any]) -> bool:
    """Live on; False for one that is dead."""
    lived = connection.execute(
        update(workers)
        .where(workers.c.id == worker, workers.c.until_us > _NOW)
        .values(until_us=_NOW + LIFE, status=dict(status))
    )
    return lived.rowcount == 1


def leave(connection: Connection, worker: str) -> None:
    """End in order: everything is free at once."""
    connection.execute(update(leases).where(leases.c.worker == worker).values(worker=None))
    connection.execute(delete(workers).where(workers.c.id == worker))


def living(connection: Connection) -> list[Record]:
    """Those who are alive, in a fixed order."""
    return list(
        connection.execute(select(workers).where(workers.c.until_us > _NOW).order_by(workers.c.id))
    )


def all_workers(connection: Connection) -> Sequence[Record]:
    """Those alive and those lately dead, with how long ago they gave a sign."""
    age = (_NOW - (workers.c.until_us - LIFE)).label("age_us")
    return connection.execute(
        select(*workers.c, age, (workers.c.until_us > _NOW).label("alive")).order_by(
            workers.c.name, workers.c.started_us
        )
    ).all()


def all_leases(connection: Connection) -> Sequence[Record]:
    """Every lease."""
    return connection.execute(select(leases).order_by(leases.c.kind, leases.c.name)).all()


def offer(connection: Connection, kind: str, names: Sequence[str] | None) -> None:
    """Make leases for what has none; None stands for all sources."""
    if names is None:
        missing = select(literal_column("'source'"), sources.c.name, literal_column("0")).where(
            sources.c.name.not_in(select(leases.c.name).where(leases.c.kind == kind))
        )
        statement = postgresql.insert(leases).from_select(["kind", "name", "epoch"], missing)
        connection.execute(statement.on_conflict_do_nothing())
    elif names:
        records = [{"kind": kind, "name": name, "epoch": 0} for name in names]
        connection.execute(postgresql.insert(leases).on_conflict_do_nothing(), records)


def count_held(
    connection: Connection, kind: str, names: Sequence[str] | None
) -> tuple[int, dict[str | None, int]]:
    """How many leases of a kind and of some names there are, and how many each worker has."""
    query = select(leases.c.worker, func.count()).where(leases.c.kind == kind)
    if names is not None:
        query = query.where(leases.c.name.in_(names))
    found = connection.execute(query.group_by("worker"))
    counts: dict[str | None, int] = {row[0]: row[1] for row in found}
    return sum(counts.values()), counts


def claim(
    connection: Connection,
    worker: str,
    kind: str,
    *,
    alive: Collection[str],
    names: Sequence[str] | None,
    most: int,
) -> None:
    """Take what nobody alive holds; what another is just taking is left to it."""
    free = (
        select(leases.c.kind, leases.c.name)
        .where(leases.c.kind == kind)
        .where(leases.c.worker.is_(None) | leases.c.worker.not_in(alive))
        .order_by(leases.c.name)
        .limit(most)
        .with_for_update(skip_locked=True)
    )
    if names is not None:
        free = free.where(leases.c.name.in_(names))
    found = [tuple(row) for row in connection.execute(free)]
    if found:
        connection.execute(
            update(leases)
            .where(tuple_(leases.c.kind, leases.c.name).in_(found))
            .values(worker=worker, epoch=leases.c.epoch + 1)
        )


def held_by(connection: Connection, worker: str) -> dict[tuple[str, str], Lease]:
    """What a worker holds."""
    found = connection.execute(
        select(leases.c.kind, leases.c.name, leases.c.worker, leases.c.epoch).where(
            leases.c.worker == worker
        )
    )
    return {(row.kind, row.name): Lease(*row) for row in found}


def release(connection: Connection, given: Collection[Lease]) -> None:
    """Let go of some."""
    for lease in given:
        connection.execute(
            update(leases)
            .where(
                leases.c.kind == lease.kind,
                leases.c.name == lease.name,
                leases.c.worker == lease.worker,
            )
            .values(worker=None)
        )
