"""The processes that share a store, as people and Prometheus see them."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from sqlalchemy import Connection

from alora_ts.serve.store.leases import all_leases, all_workers
from alora_ts.serve.times import from_micros

if TYPE_CHECKING:
    from alora_ts.serve.service import Service

__all__ = ["show_workers"]

_NOTHING: dict[str, Any] = {
    "sources": 0,
    "unscored": 0,
    "lag": 0.0,
    "memory": 0,
    "models": 0,
    "rows": 0,
    "readings": 0,
    "troubles": {},
    "connectors": [],
}


def show_workers(service: Service, connection: Connection) -> list[dict[str, Any]]:
    """Every process with what it holds; none where a store has one process only."""
    if service.share.id is None:
        return []
    held: dict[str, list[str]] = {}
    counts: dict[str, int] = {}
    for lease in all_leases(connection):
        if lease.kind == "source":
            counts[lease.worker] = counts.get(lease.worker, 0) + 1
        else:
            held.setdefault(lease.worker, []).append(lease.name)
    return [
        {
            **_NOTHING,
            **one.status,
            "id": one.id,
            "name": one.name,
            "scores": one.scores,
            "alive": one.alive,
            "started": from_micros(one.started_us),
            "sign_age": max(0.0, one.age_us / 1e6),
            "sources": counts.get(one.id, 0),
            "held": held.get(one.id, []),
        }
        for one in all_workers(connection)
    ]
