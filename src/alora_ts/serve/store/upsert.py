"""Insert or replace, in the dialect of either database."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from typing import Any

from sqlalchemy import Connection, Table
from sqlalchemy.dialects import postgresql, sqlite

__all__ = ["upsert"]


def upsert(
    connection: Connection,
    table: Table,
    records: Sequence[dict[str, Any]],
    *,
    keep: Collection[str] = (),
) -> None:
    """Insert records; those whose primary key is there already replace all but ``keep`` of it."""
    if not records:
        return
    make = sqlite.insert if connection.dialect.name == "sqlite" else postgresql.insert
    statement = make(table)
    keys = [column.name for column in table.primary_key]
    fresh = {
        name: statement.excluded[name]
        for name in records[0]
        if name not in keys and name not in keep
    }
    connection.execute(
        statement.on_conflict_do_update(index_elements=keys, set_=fresh), list(records)
    )
