"""Fits that were asked for."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from sqlalchemy import ColumnElement, Connection, insert, select, update

from alora_ts.serve.store.leases import living
from alora_ts.serve.store.record import Record
from alora_ts.serve.store.schema import fits, sources

__all__ = ["add_fit", "change_fit", "find_fit", "list_fits", "mark_lost"]

_NAMED = select(*fits.c, sources.c.name.label("source")).join(sources)


def add_fit(connection: Connection, record: dict[str, Any]) -> None:
    """Keep a fit that is to be run."""
    connection.execute(insert(fits).values(**record))


def change_fit(connection: Connection, key: str, **values: Any) -> None:
    """Keep the state of a fit."""
    connection.execute(update(fits).where(fits.c.id == key).values(**values))


def find_fit(connection: Connection, key: str) -> Record | None:
    """One fit."""
    return connection.execute(_NAMED.where(fits.c.id == key)).first()


def list_fits(connection: Connection, limit: int) -> Sequence[Record]:
    """The newest fits."""
    return connection.execute(
        _NAMED.order_by(fits.c.created_us.desc(), fits.c.id).limit(limit)
    ).all()


def mark_lost(connection: Connection) -> None:
    """Fits are lost of which the process is gone."""
    gone: ColumnElement[bool] = fits.c.state.in_(("waiting", "running"))
    if connection.dialect.name == "postgresql":
        alive = [one.id for one in living(connection)]
        gone &= fits.c.owner.is_(None) | fits.c.owner.not_in(alive)
    connection.execute(
        update(fits)
        .where(gone)
        .values(state="failed", message="the service stopped while it ran; start it again")
    )
