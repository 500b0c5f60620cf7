"""Tokens, of which only hashes are kept."""

from __future__ import annotations

from collections.abc import Sequence

from sqlalchemy import Connection, insert, select, update

from alora_ts.serve.store.record import Record
from alora_ts.serve.store.schema import tokens
from alora_ts.serve.times import now_micros

__all__ = ["add_token", "all_tokens", "revoke_token"]


def add_token(
    connection: Connection,
    *,
    key: str,
    name: str,
    role: str,
    digest: str,
    source: str | None,
    expires: int | None,
) -> None:
    """Keep a token's hash."""
    connection.execute(
        insert(tokens).values(
            id=key,
            name=name,
            role=role,
            hash=digest,
            created_us=now_micros(),
            revoked_us=None,
            source=source,
            expires_us=expires,
        )
    )


def all_tokens(connection: Connection) -> Sequence[Record]:
    """Every token, revoked ones included, the oldest first."""
    return connection.execute(select(tokens).order_by(tokens.c.created_us, tokens.c.id)).all()


def revoke_token(connection: Connection, key: str) -> bool:
    """Revoke a token; False when there is none to revoke."""
    changed = connection.execute(
        update(tokens)
        .where(tokens.c.id == key, tokens.c.revoked_us.is_(None))
        .values(revoked_us=now_micros())
    )
    return changed.rowcount > 0
