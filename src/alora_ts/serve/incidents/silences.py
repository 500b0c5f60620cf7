"""Signals that stopped arriving, as incidents of their own."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from sqlalchemy import Connection

from alora_ts.serve.http.describe import show_incident
from alora_ts.serve.incidents.record import silence_record
from alora_ts.serve.incidents.updates import new_incident_id
from alora_ts.serve.operate.events import Bus, News
from alora_ts.serve.operate.metrics import Metrics
from alora_ts.serve.scoring.source import Source
from alora_ts.serve.store.incidents import open_silences, save_incident
from alora_ts.serve.store.outbox import post
from alora_ts.serve.store.store import Store
from alora_ts.serve.times import now_micros

__all__ = ["Silences"]


class Silences:
    """Opens an incident when a signal falls silent and closes it when it returns.

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
        # Several connectors may feed one source; each speaks for its own signals only.
        self._of: dict[tuple[str, str], set[str]] = {}

    def hear(self, source: Source, connector: str, signals: Mapping[str, int | None]) -> None:
        """Open and close incidents for what is silent now.

        Parameters
        ----------
        source : Source
        connector : str
            Who says so.
        signals : mapping of str to int or None
            All silent signals, each with its last time (None: never seen).
        """
        others = set[str]().union(
            *(
                silent
                for (name, who), silent in self._of.items()
                if name == source.name and who != connector
            )
        )
        self._of[source.name, connector] = set(signals)

        def write(connection: Connection) -> list[tuple[str, dict[str, Any]]]:
            known = {row.variable: row._asdict() for row in open_silences(connection, source.id)}
            changes = [
                ("opened", _record(source, variable, last))
                for variable, last in signals.items()
                if variable not in known
            ] + [
                ("closed", record | {"state": "closed", "end_us": now_micros()})
                for variable, record in known.items()
                if variable not in signals and variable not in others
            ]
            for change, record in changes:
                save_incident(connection, record)
                shown = show_incident(record, source.name)
                post(
                    connection,
                    self._channels(),
                    "opened" if change == "opened" else "closed",
                    shown,
                )
            return changes

        for change, record in self._store.writer.run(write):
            if change == "opened":
                self._metrics.opened(source.name, "silence")
            data = {"change": change, **show_incident(record, source.name)}
            self._bus.publish(News("incident", source.name, data))


def _record(source: Source, variable: str, last: int | None) -> dict[str, Any]:
    return {
        "id": new_incident_id(),
        "source_id": source.id,
        "model_id": source.model_id,
        "verdict": None,
        **silence_record(variable, now_micros() if last is None else last),
    }
