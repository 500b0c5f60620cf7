"""The processes that share a store, as people and Prometheus see them."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from sqlalchemy import Connection

from alora_ts.serve.notify.dispatcher import ChannelState
from alora_ts.serve.rows.interface import ConnectorStatus
from alora_ts.serve.store.leases import all_leases, all_workers
from alora_ts.serve.store.record import Record
from alora_ts.serve.times import from_micros

if TYPE_CHECKING:
    from alora_ts.serve.service import Service

__all__ = ["show_channels", "show_connectors", "show_workers"]

_NOTHING: dict[str, Any] = {
    "sources": 0,
    "unscored": 0,
    "lag": 0.0,
    "memory": 0,
    "models": 0,
    "rows": 0,
    "readings": 0,
    "troubles": {},
    "settings_error": None,
    "connectors": [],
    "channels": {},
}
_GONE = {name: _NOTHING[name] for name in ("unscored", "lag", "memory", "models", "troubles")}


def show_workers(service: Service, connection: Connection) -> list[dict[str, Any]]:
    """Every process with what it holds; none where a store has one process only.

    What waited for one that is gone waits for others now, who say so themselves. One that came
    back under another id is shown once.
    """
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
            **({} if one.alive else _GONE),
            "id": one.id,
            "name": one.name,
            "scores": one.scores,
            "alive": one.alive,
            "started": from_micros(one.started_us),
            "sign_age": max(0.0, one.age_us / 1e6),
            "sources": counts.get(one.id, 0),
            "held": held.get(one.id, []),
        }
        for one in _each_once(all_workers(connection))
    ]


def _each_once(found: Sequence[Record]) -> list[Record]:
    """Those alive, and of the others the last of each name that nobody alive has."""
    alive = [one for one in found if one.alive]
    names = {one.name for one in alive}
    gone = {one.name: one for one in found if one.name not in names}
    return sorted([*alive, *gone.values()], key=lambda one: (one.name, one.started_us))


def show_connectors(service: Service, workers: Sequence[dict[str, Any]]) -> list[ConnectorStatus]:
    """The connectors of the settings, as whoever runs them sees them."""
    said: dict[str, list[ConnectorStatus]] = {}
    for one in _others(service, workers):
        for status in one["connectors"]:
            said.setdefault(status["name"], []).append(ConnectorStatus(**status))
    for connector in service.tasks.connectors:
        if service.tasks.runs(connector.name):
            said.setdefault(connector.name, []).append(connector.status())
    return [_together(said.get(one.name, [one.status()])) for one in service.tasks.connectors]


def show_channels(service: Service, workers: Sequence[dict[str, Any]]) -> dict[str, ChannelState]:
    """How each channel of the settings is, as whoever sends by it sees it."""
    states = service.tasks.channel_states()
    for one in _others(service, workers):
        known = {name: ChannelState(**state) for name, state in one["channels"].items()}
        states |= {name: known[name] for name in states.keys() & known.keys()}
    return states


def _others(service: Service, workers: Sequence[dict[str, Any]]) -> list[dict[str, Any]]:
    return [one for one in workers if one["alive"] and one["id"] != service.share.id]


def _together(parts: Sequence[ConnectorStatus]) -> ConnectorStatus:
    """One status of what several processes share; what failed anywhere has failed."""
    worst = next((one for one in parts if one.state == "failed"), parts[0])
    rejected = Counter[str]()
    for one in parts:
        rejected.update(one.rejected)
    received = sum(one.received for one in parts)
    return replace(worst, received=received, rejected=dict(rejected))
