"""A source as it is now."""

from __future__ import annotations

from typing import Any

from sqlalchemy import Connection

from alora_ts.serve.scoring.source import Source
from alora_ts.serve.service import Service
from alora_ts.serve.store.incidents import count_open
from alora_ts.serve.store.rows import read_readings
from alora_ts.serve.times import from_micros, now_micros

__all__ = ["show_source", "show_sources"]


def show_sources(service: Service) -> list[dict[str, Any]]:
    """Every source with its state."""
    with service.store.reading() as connection:
        counted = count_open(connection)
        return [_show(service, connection, source, counted) for source in service.sources.all()]


def show_source(service: Service, source: Source) -> dict[str, Any]:
    """One source with its state."""
    with service.store.reading() as connection:
        return _show(service, connection, source, count_open(connection))


def _show(
    service: Service, connection: Connection, source: Source, counted: dict[int, int]
) -> dict[str, Any]:
    last = read_readings(
        connection, source.id, start=-(2**62), end=2**62, limit=1, newest_first=True
    )
    reading = last[0] if last else None
    if source.newest is None:
        state = "waiting"
    elif now_micros() - source.arrived > service.settings.silent_after * 1e6:
        state = "silent"
    elif reading is None or reading.warm_up:
        state = "warm-up"
    else:
        state = "alarm" if reading.alarm else "ok"
    return {
        "name": source.name,
        "model_id": source.model_id,
        "variables": list(source.wanted),
        "rows": source.rows,
        "first_time": None if source.first is None else from_micros(source.first),
        "last_time": None if source.newest is None else from_micros(source.newest),
        "score": None if reading is None else reading.score,
        "threshold": source.threshold,
        "state": state,
        "open_incidents": counted.get(source.id, 0),
        "trouble": service.crew.troubles.get(source.name),
    }
