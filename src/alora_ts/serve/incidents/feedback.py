"""Verdicts on incidents, and what follows from them."""

from __future__ import annotations

from typing import Any

from sqlalchemy import Connection

from alora_ts.serve.http.describe import show_incident
from alora_ts.serve.operate.events import News
from alora_ts.serve.problems import ConflictError, NotFoundError
from alora_ts.serve.service import Service
from alora_ts.serve.store.incidents import find_incident, set_verdict

__all__ = ["find", "judge"]


def find(connection: Connection, key: str) -> dict[str, Any]:
    """An incident's record."""
    record = find_incident(connection, key)
    if record is None:
        raise NotFoundError(f"there is no incident {key[:60]!r}; GET /incidents lists them")
    return record._asdict()


def judge(service: Service, key: str, verdict: str | None) -> dict[str, Any]:
    """Keep a verdict (None takes it back) and update the source's alarm level.

    See :func:`alora_ts.serve.models.levels.adjust_threshold` for the rule.
    """

    def write(connection: Connection) -> dict[str, Any]:
        record = find(connection, key)
        if record["kind"] != "anomaly" and verdict is not None:
            raise ConflictError(
                "only anomalies can be judged; a silence ends when the signal comes back"
            )
        set_verdict(connection, key, verdict)
        return record | {"verdict": verdict}

    record = service.store.change("incident judged", key, write, {"verdict": verdict})
    source = service.sources.get(record["source"])
    threshold = service.registry.refresh_threshold(source)
    shown = show_incident(record, source.name)
    service.bus.publish(News("incident", source.name, {"change": "updated", **shown}))
    return {
        "incident": shown,
        "threshold": threshold,
        "model_threshold": service.registry.own_threshold(source),
    }
