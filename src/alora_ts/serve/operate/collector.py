"""What is looked up when Prometheus asks: the state of the service's parts."""

from __future__ import annotations

import shutil
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from prometheus_client.core import CounterMetricFamily, GaugeMetricFamily, Metric
from prometheus_client.registry import Collector
from sqlalchemy.exc import SQLAlchemyError

from alora_ts.serve.store.incidents import count_severities
from alora_ts.serve.store.mutes import count_held
from alora_ts.serve.store.outbox import count_by_channel, count_dead, count_pending
from alora_ts.serve.times import now_micros
from alora_ts.serve.workers.show import show_channels, show_connectors, show_workers

if TYPE_CHECKING:
    from alora_ts.serve.service import Service

__all__ = ["ServiceCollector"]


class ServiceCollector(Collector):
    """Gauges of backlog, connectors, incidents, notifications and the store.

    Parameters
    ----------
    service : Service
    """

    def __init__(self, service: Service) -> None:
        self._service = service

    def describe(self) -> Iterable[Metric]:
        """Nothing ahead of time: the parts are not all there when this is registered."""
        return []

    def collect(self) -> Iterator[Metric]:
        """All of them as they are now; those of a store that does not answer are left out."""
        yield from self._sources()
        yield from self._connectors(self._workers())
        yield _gauge(
            "alora_waiting_writes", "Writes that wait", self._service.store.writer.waiting()
        )
        try:
            yield from self._stored()
        except SQLAlchemyError:
            yield _gauge("alora_store_up", "1 while the store can be read", 0)
        else:
            yield _gauge("alora_store_up", "1 while the store can be read", 1)

    def _sources(self) -> Iterator[Metric]:
        unscored = GaugeMetricFamily(
            "alora_unscored_rows", "Rows that wait to be scored", labels=["source"]
        )
        lag = GaugeMetricFamily(
            "alora_scoring_lag_seconds",
            "Since rows began to wait or were last scored; 0 when none wait",
            labels=["source"],
        )
        arrival = GaugeMetricFamily(
            "alora_last_arrival_timestamp_seconds", "When the last row came", labels=["source"]
        )
        trouble = GaugeMetricFamily(
            "alora_scoring_trouble", "1 while scoring a source fails", labels=["source"]
        )
        now = now_micros()
        for source in self._service.sources.all():
            label = [source.name]
            unscored.add_metric(label, source.unscored)
            lag.add_metric(label, source.lag(now))
            if source.arrived:
                arrival.add_metric(label, source.arrived / 1e6)
            trouble.add_metric(label, float(source.name in self._service.crew.troubles))
        yield from (unscored, lag, arrival, trouble)

    def _workers(self) -> list[dict[str, Any]]:
        if self._service.share.id is None:
            return []
        try:
            with self._service.store.reading() as connection:
                return show_workers(self._service, connection)
        except SQLAlchemyError:
            return []

    def _connectors(self, workers: Sequence[dict[str, Any]]) -> Iterator[Metric]:
        up = GaugeMetricFamily(
            "alora_connector_up",
            "1 while a connector is connected",
            labels=["connector", "kind", "source"],
        )
        received = CounterMetricFamily(
            "alora_connector_received", "Messages that came in", labels=["connector"]
        )
        rejected = CounterMetricFamily(
            "alora_connector_rejected", "What could not be used", labels=["connector", "reason"]
        )
        silent = GaugeMetricFamily(
            "alora_silent_signals",
            "Signals that do not come; without a connector: no row comes at all",
            labels=["source", "connector"],
        )
        for name, who in self._service.silences.known():
            silent.add_metric([name, who or ""], len(self._service.silences.of(name, who)))
        for status in show_connectors(self._service, workers):
            works = status.state in {"connected", "waiting", "done"}
            up.add_metric([status.name, status.kind, status.source], float(works))
            received.add_metric([status.name], status.received)
            for reason, count in status.rejected.items():
                rejected.add_metric([status.name, reason], count)
        yield from (up, received, rejected, silent)

    def _channels(
        self, counted: Mapping[str, Mapping[str, int]], workers: Sequence[dict[str, Any]]
    ) -> Iterator[Metric]:
        up = GaugeMetricFamily(
            "alora_channel_up", "0 while a channel's attempts fail", labels=["channel"]
        )
        kept = GaugeMetricFamily(
            "alora_channel_notifications",
            "Notifications in the store: pending, sent, dead (given up), missed (summed up)",
            labels=["channel", "state"],
        )
        for name, state in show_channels(self._service, workers).items():
            up.add_metric([name], float(state.failing_since is None))
            for what in ("pending", "sent", "dead", "missed"):
                kept.add_metric([name, what], counted.get(name, {}).get(what, 0))
        yield from (up, kept)

    def _stored(self) -> Iterator[Metric]:
        service = self._service
        with service.store.reading() as connection:
            opened = count_severities(connection, silenced=False)
            silenced = count_severities(connection, silenced=True)
            dead, pending = count_dead(connection), count_pending(connection)
            by_channel = count_by_channel(connection)
            muted = sum(count_held(connection).values())
            workers = show_workers(service, connection)
        incidents = GaugeMetricFamily(
            "alora_open_incidents",
            "Open incidents that alarm",
            labels=["source", "kind", "severity"],
        )
        for labels, count in opened.items():
            incidents.add_metric(list(labels), count)
        quiet = GaugeMetricFamily(
            "alora_silenced_incidents",
            "Open incidents of patterns that a verdict silenced",
            labels=["source", "kind", "severity"],
        )
        for labels, count in silenced.items():
            quiet.add_metric(list(labels), count)
        yield from (incidents, quiet)
        yield from self._channels(by_channel, workers)
        yield _gauge("alora_muted_incidents", "Open incidents held by a mute", muted)
        yield from _workers(workers)
        yield _gauge("alora_dead_letters", "Notifications that were given up", dead)
        yield _gauge("alora_pending_notifications", "Notifications on their way", pending)
        yield _gauge("alora_store_bytes", "Size of the store", service.store.size())
        free = shutil.disk_usage(service.settings.folder).free
        yield _gauge("alora_free_disk_bytes", "Free where the service keeps its files", free)


def _workers(workers: list[dict[str, Any]]) -> Iterator[Metric]:
    """What each process that shares the store says of itself."""
    for key, help_text in (
        ("alive", "1 while a worker gives signs of life"),
        ("sources", "Sources that a worker scores"),
        ("unscored", "Rows that wait for a worker"),
        ("lag", "Longest wait of a worker's sources, in seconds"),
        ("memory", "Bytes of memory of a worker"),
        ("readings", "Readings that a worker has stored since it started"),
    ):
        family = GaugeMetricFamily(f"alora_worker_{key}", help_text, labels=["worker"])
        for one in workers:
            family.add_metric([one["name"]], float(one[key]))
        yield family


def _gauge(name: str, help_text: str, value: float) -> Metric:
    family = GaugeMetricFamily(name, help_text)
    family.add_metric([], value)
    return family
