"""Numbers for Prometheus and the health page."""

from __future__ import annotations

from collections import Counter as Tally
from collections.abc import Mapping, Sequence

from prometheus_client import (
    CollectorRegistry,
    Counter,
    Gauge,
    Histogram,
    ProcessCollector,
    generate_latest,
)

from alora_ts.serve.rows.interface import Receipt

__all__ = ["Metrics"]

_METHODS = {"GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS"}
_LATENCY = (0.002, 0.005, 0.01, 0.02, 0.05, 0.1, 0.2, 0.5, 1, 2, 5, 10, 60)


class Metrics:
    """What the service counts. Labels are source names and fixed words, never what a row says."""

    def __init__(self) -> None:
        self.registry = CollectorRegistry()
        ProcessCollector(registry=self.registry)
        self.rejected = Tally[str]()
        self.counters = Tally[str]()
        self._alarming: dict[str, tuple[str, ...]] = {}
        kept = self.registry
        by_source = ["source"]
        self._rows = Counter("alora_rows", "Rows stored", by_source, registry=kept)
        self._duplicates = Counter(
            "alora_duplicate_rows", "Rows sent again", by_source, registry=kept
        )
        self._late = Counter(
            "alora_late_rows", "Rows stored out of order", by_source, registry=kept
        )
        self._rejected = Counter(
            "alora_rejected_rows", "Rows refused", ["source", "reason"], registry=kept
        )
        self._readings = Counter("alora_readings", "Readings stored", by_source, registry=kept)
        self._incidents = Counter(
            "alora_incidents", "Incidents opened", ["source", "kind"], registry=kept
        )
        self.score = Gauge(
            "alora_score", "Score of the last row; above 1 alarms", by_source, registry=kept
        )
        self._share = Gauge(
            "alora_variable_share",
            "Each variable's share in the last row's anomaly; 0 when it is none",
            ["source", "variable"],
            registry=kept,
        )
        self.threshold = Gauge("alora_threshold", "Raw score that alarms", by_source, registry=kept)
        self._alarm = Gauge("alora_alarm", "1 while an anomaly lasts", by_source, registry=kept)
        self.last_row = Gauge(
            "alora_last_row_timestamp_seconds", "Time of the newest row", by_source, registry=kept
        )
        self._latency = Histogram(
            "alora_reading_latency_seconds",
            "From a row's arrival to its stored reading",
            by_source,
            buckets=_LATENCY,
            registry=kept,
        )
        self._pushed_back = Counter(
            "alora_refused_requests", "Refused because too many rows wait", by_source, registry=kept
        )
        self._storage_errors = Counter(
            "alora_storage_errors", "Requests that the store failed", registry=kept
        )
        self._requests = Counter(
            "alora_http_requests", "Requests", ["method", "status"], registry=kept
        )

    def received(self, source: str, receipt: Receipt, reasons: Sequence[str]) -> None:
        """Count what became of rows."""
        self._rows.labels(source).inc(receipt.accepted)
        self._duplicates.labels(source).inc(receipt.duplicates)
        self._late.labels(source).inc(receipt.late)
        self.counters["rows"] += receipt.accepted
        self.counters["duplicates"] += receipt.duplicates
        self.counters["late"] += receipt.late
        for reason in reasons:
            self._rejected.labels(source, reason).inc()
            self.rejected[reason] += 1

    def read(self, source: str, latencies: Sequence[float]) -> None:
        """Count stored readings with their seconds since arrival."""
        self._readings.labels(source).inc(len(latencies))
        self.counters["readings"] += len(latencies)
        histogram = self._latency.labels(source)
        for seconds in latencies:
            histogram.observe(seconds)

    def alarmed(self, source: str, alarm: bool, shares: Mapping[str, float]) -> None:
        """Show whether an anomaly lasts, and meanwhile each variable's share in the last row."""
        before = self._alarming.get(source, ())
        for variable in before:
            self._share.labels(source, variable).set(0)
        if alarm:
            for variable, share in shares.items():
                self._share.labels(source, variable).set(share)
        self._alarming[source] = tuple(shares) if alarm else ()
        self._alarm.labels(source).set(alarm)

    def opened(self, source: str, kind: str) -> None:
        """Count an incident."""
        self._incidents.labels(source, kind).inc()
        self.counters["incidents"] += 1

    def answered(self, method: str, status: int) -> None:
        """Count a request."""
        self._requests.labels(method if method in _METHODS else "other", str(status)).inc()

    def pushed_back(self, source: str) -> None:
        """Count a request refused because too many rows wait."""
        self._pushed_back.labels(source).inc()
        self.counters["refused_for_backlog"] += 1

    def storage_failed(self) -> None:
        """Count a request that the store failed."""
        self._storage_errors.inc()
        self.counters["storage_errors"] += 1

    def text(self) -> bytes:
        """All of it in Prometheus's text format."""
        return generate_latest(self.registry)
