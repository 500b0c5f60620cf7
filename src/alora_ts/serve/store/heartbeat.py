"""A small write that shows whether the store takes writes."""

from __future__ import annotations

from sqlalchemy import Connection

from alora_ts.serve.store.schema import heartbeat
from alora_ts.serve.store.upsert import upsert
from alora_ts.serve.times import now_micros

__all__ = ["beat"]


def beat(connection: Connection) -> None:
    """Write the time."""
    upsert(connection, heartbeat, [{"id": 1, "at_us": now_micros()}])
