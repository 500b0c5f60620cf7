"""The state of the service, for people and for probes."""

from __future__ import annotations

from dataclasses import asdict
from typing import Any

from sqlalchemy import text
from sqlalchemy.exc import SQLAlchemyError

from alora_ts.serve.rows.interface import Connector
from alora_ts.serve.service import Service
from alora_ts.serve.store.heartbeat import beat
from alora_ts.serve.store.hold import StoreLostError
from alora_ts.serve.store.outbox import count_dead
from alora_ts.serve.times import now_micros
from alora_ts.version import __version__

__all__ = ["is_ready", "show_health"]

_PATIENCE = 5.0


def show_health(service: Service) -> dict[str, Any]:
    """What the health page shows."""
    with service.store.reading() as connection:
        dead = count_dead(connection)
    return {
        "version": __version__,
        "uptime": (now_micros() - service.started) / 1e6,
        "store": {
            "kind": service.store.kind,
            "name": service.store.name,
            "bytes": service.store.size(),
        },
        "queues": {
            "writes": service.store.writer.waiting(),
            "sources_to_score": service.crew.waiting(),
            "listeners": service.bus.listeners,
        },
        "counters": dict(service.metrics.counters),
        "rejected": dict(service.metrics.rejected),
        "connectors": [_show_connector(service, one) for one in service.tasks.connectors],
        "troubles": dict(service.crew.troubles),
        "settings_error": service.settings_error,
        "dead_letters": dead,
    }


def _show_connector(service: Service, connector: Connector) -> dict[str, Any]:
    """Its status; one that is connected to a gateway that says nothing is not well."""
    status = connector.status()
    silent = service.silences.of(status.source, status.name)
    return {**asdict(status), "silent": silent}


def is_ready(service: Service) -> str | None:
    """None when rows can be taken; otherwise what is in the way.

    It writes: a full disk can still be read. Writes of others that fail count too, because a
    small one may find room where theirs did not.
    """
    before = service.store.writer.trouble
    try:
        with service.store.reading() as connection:
            connection.execute(text("SELECT 1"))
        service.store.writer.submit(beat).result(_PATIENCE)
    except (SQLAlchemyError, StoreLostError, TimeoutError) as error:
        return f"the store cannot be written ({type(error).__name__})"
    return None if before is None else f"writes to the store fail ({before})"
