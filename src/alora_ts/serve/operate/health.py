"""The state of the service, for people and for probes."""

from __future__ import annotations

import shutil
from dataclasses import asdict
from typing import Any

from sqlalchemy import text
from sqlalchemy.exc import SQLAlchemyError

from alora_ts.serve.notify.dispatcher import ChannelState
from alora_ts.serve.rows.interface import ConnectorStatus
from alora_ts.serve.service import Service
from alora_ts.serve.store.heartbeat import beat
from alora_ts.serve.store.outbox import count_by_channel, dead_reasons
from alora_ts.serve.times import from_micros, now_micros
from alora_ts.serve.workers.show import show_channels, show_connectors, show_workers
from alora_ts.version import __version__

__all__ = ["is_ready", "show_health"]

_PATIENCE = 5.0
_LITTLE_DISK = 2**30
_LONG_LAG = 60.0


def show_health(service: Service) -> dict[str, Any]:
    """What the health page shows."""
    with service.store.reading() as connection:
        counted, reasons = count_by_channel(connection), dead_reasons(connection)
        workers = show_workers(service, connection)
    connectors = [_show_connector(service, one) for one in show_connectors(service, workers)]
    now = now_micros()
    lag = max((one.lag(now) for one in service.sources.all()), default=0.0)
    shown = {
        "lag": lag,
        "unscored": sum(source.unscored for source in service.sources.all()),
        "free_disk": shutil.disk_usage(service.settings.folder).free,
        "connectors": connectors,
        "channels": [
            {
                "name": name,
                "pending": 0,
                "sent": 0,
                "dead": 0,
                "missed": 0,
                **counted.get(name, {}),
                **_show_channel(state, reasons.get(name)),
            }
            for name, state in show_channels(service, workers).items()
        ],
        "workers": workers,
        "troubles": {
            **{name: why for one in workers for name, why in one["troubles"].items()},
            **service.crew.troubles,
        },
        "settings_error": service.settings_error or _refused_by(workers),
        "dead_letters": sum(one.get("dead", 0) for one in counted.values()),
        "write_trouble": service.store.writer.trouble,
    }
    return {
        "wrong": _what_is_wrong(shown),
        **shown,
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
    }


def _what_is_wrong(shown: dict[str, Any]) -> list[str]:
    """What an operator should look at, the worst first; nothing when all is well."""
    said = []
    if shown["write_trouble"]:
        said.append(f"the store cannot be written: {shown['write_trouble']}")
    if shown["free_disk"] < _LITTLE_DISK:
        said.append(f"only {shown['free_disk'] / 2**20:,.0f} MiB are free on the disk")
    said += [f"scoring {name} fails: {why}" for name, why in shown["troubles"].items()]
    if shown["lag"] > _LONG_LAG:
        said.append(f"{shown['unscored']:,} rows wait, for up to {shown['lag']:,.0f} s")
    if shown["workers"] and not any(one["alive"] and one["scores"] for one in shown["workers"]):
        said.append("no worker scores; start one with `alora-ts worker`")
    for one in shown["connectors"]:
        if one["state"] == "failed":
            said.append(f"the connector {one['name']} has failed: {one['last_error']}")
        elif one["silent"]:
            said.append(
                f"the connector {one['name']} hears nothing of {len(one['silent'])} signals"
            )
    for one in shown["channels"]:
        if one["failing_since"]:
            said.append(f"the channel {one['name']} cannot be reached: {one['error']}")
        if one["dead"]:
            said.append(
                f"{one['dead']:,} notifications by {one['name']} were given up: {one['gave_up']}"
            )
    if shown["settings_error"]:
        said.append(f"the changed settings were not taken over: {shown['settings_error']}")
    return said


def _refused_by(workers: list[dict[str, Any]]) -> str | None:
    """Why a worker did not take over the settings that changed, if one did not."""
    said = (f"{one['name']}: {one['settings_error']}" for one in workers if one["alive"])
    return next((why for why in said if not why.endswith(": None")), None)


def _show_channel(state: ChannelState, gave_up: str | None) -> dict[str, Any]:
    since = state.failing_since
    return {
        "failing_since": None if since is None else from_micros(int(since * 1e6)),
        "error": state.error,
        "gave_up": gave_up,
    }


def _show_connector(service: Service, status: ConnectorStatus) -> dict[str, Any]:
    """Its status; one that is connected to a gateway that says nothing is not well."""
    silent = [
        name if source == status.source else f"{source}: {name}"
        for source, who in service.silences.known()
        if who == status.name
        for name in service.silences.of(source, who)
    ]
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
    except (SQLAlchemyError, TimeoutError) as error:
        return f"the store cannot be written ({type(error).__name__})"
    return None if before is None else f"writes to the store fail ({before})"
