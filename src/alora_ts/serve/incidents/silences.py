"""Signals that stopped arriving: one incident for each way in that fell silent."""

from __future__ import annotations

import threading
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from sqlalchemy import Connection

from alora_ts.serve.http.describe import show_incident
from alora_ts.serve.incidents.record import silence_record
from alora_ts.serve.incidents.updates import new_incident_id
from alora_ts.serve.notify.interface import EventKind
from alora_ts.serve.operate.events import Bus, News
from alora_ts.serve.operate.metrics import Metrics
from alora_ts.serve.scoring.source import Source
from alora_ts.serve.store.incidents import open_silences, save_incident
from alora_ts.serve.store.leases import Lease
from alora_ts.serve.store.outbox import post
from alora_ts.serve.store.store import Store
from alora_ts.serve.times import now_micros

__all__ = ["Silences"]


class Silences:
    """Opens an incident when signals of a connector fall silent; closes it when all came back.

    A dead gateway silences everything it carries: that is one thing that happened, so it is one
    incident, which names the signals.

    Parameters
    ----------
    store : Store
    bus : Bus
    metrics : Metrics
    channels : callable giving names
    """

    def __init__(
        self, store: Store, bus: Bus, metrics: Metrics, channels: Callable[[], Sequence[str]]
    ) -> None:
        self._store = store
        self._bus = bus
        self._metrics = metrics
        self._channels = channels
        self._lock = threading.Lock()
        self._open: dict[tuple[str, str | None], dict[str, Any]] = {}
        self._old: list[dict[str, Any]] = []
        self.reload()

    def reload(self) -> None:
        """See which silences last, as this or another process has stored them."""
        with self._lock:
            with self._store.reading() as connection:
                found = [row._asdict() for row in open_silences(connection)]
            # An earlier version opened one for every signal; those are replaced by one for all.
            self._old = [record for record in found if "connector" not in record["detail"]]
            self._open = {
                (record.pop("source"), record["detail"]["connector"]): record
                for record in found
                if "connector" in record["detail"]
            }

    def of(self, source: str, connector: str | None) -> list[str]:
        """Which signals of a source are silent, as a connector says (None: as no rows say)."""
        record = self._open.get((source, connector))
        return [] if record is None else _names(record)

    def known(self) -> list[tuple[str, str | None]]:
        """The sources and connectors with silent signals."""
        return list(self._open)

    def hear(
        self,
        source: Source,
        connector: str | None,
        signals: Mapping[str, int | None],
        lease: Lease | None = None,
    ) -> None:
        """Open, change or close the incident for what is silent now.

        Parameters
        ----------
        source : Source
        connector : str or None
            Who says so; None: the service itself, because no row comes at all.
        signals : mapping of str to int or None
            All silent signals, each with its last time (None: never seen).
        lease : Lease, optional
            The right to say so.
        """
        with self._lock:
            self._replace_old(source, lease)
            known = self._open.get((source.name, connector))
            if signals and known is None:
                self._tell(source, "opened", _record(source, connector, signals), lease)
            elif signals and known is not None and set(_names(known)) != set(signals):
                fresh = silence_record(sorted(signals), connector, known["start_us"])
                self._tell(source, "updated", known | fresh, lease)
            elif not signals and known is not None:
                ended = {"state": "closed", "end_us": now_micros()}
                self._tell(source, "closed", known | ended, lease)

    def _replace_old(self, source: Source, lease: Lease | None) -> None:
        mine = [record for record in self._old if record["source_id"] == source.id]
        for record in mine:
            self._old.remove(record)
            del record["source"]
            ended = {"state": "closed", "end_us": now_micros()}
            self._tell(source, "closed", record | ended, lease)

    def _tell(
        self, source: Source, change: EventKind, record: dict[str, Any], lease: Lease | None
    ) -> None:
        def write(connection: Connection) -> dict[str, Any]:
            record.update(save_incident(connection, record))
            shown = show_incident(record, source.name)
            post(connection, self._channels(), change, shown)
            return shown

        shown = self._store.writer.run(write, lease=lease)
        key = source.name, shown["connector"]
        if change == "closed":
            self._open.pop(key, None)
        else:
            self._open[key] = record
        if change == "opened":
            self._metrics.opened(source.name, "silence")
        self._bus.publish(News("incident", source.name, {"change": change, **shown}))


def _names(record: Mapping[str, Any]) -> list[str]:
    return [culprit["variable"] for culprit in record["detail"]["culprits"]]


def _record(
    source: Source, connector: str | None, signals: Mapping[str, int | None]
) -> dict[str, Any]:
    """A new incident; it began with the last value of the signal that stopped first."""
    last = [time for time in signals.values() if time is not None]
    return {
        "id": new_incident_id(),
        "source_id": source.id,
        "model_id": source.model_id,
        "verdict": None,
        "silenced": False,
        **silence_record(sorted(signals), connector, min(last, default=now_micros())),
    }
