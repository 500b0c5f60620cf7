"""Metrics that see events as ranges: range F1, VUS-ROC, VUS-PR."""

from __future__ import annotations

from collections.abc import Iterable

from alora_ts.bench.record import Record
from alora_ts.bench.tables.by_method import Metric, method_table, place_of
from alora_ts.bench.tables.contenders import arenas
from alora_ts.bench.tables.summary import detected
from alora_ts.bench.tables.table import ResultTable

__all__ = ["range_aware"]

_KEYS = {
    "RF1": "best threshold / range F1",
    "RF1 label-free": "given threshold / range F1",
    "VUS-ROC": "all thresholds / VUS-ROC",
    "VUS-PR": "all thresholds / VUS-PR",
}
_METRICS = tuple(Metric(title=title, read=detected(key), key=key) for title, key in _KEYS.items())


def range_aware(records: Iterable[Record]) -> list[ResultTable]:
    """Range F1, VUS-ROC and VUS-PR; a table for each plan and dataset."""
    found = [
        method_table(
            arena,
            _METRICS,
            name="range",
            title=f"Range-aware metrics on {place_of(arena)}",
            published_as="range",
            notes=["RF1: range F1 at the threshold that the test labels favour (an oracle's)."],
        )
        for arena in arenas(records)
    ]
    return [table for table in found if table is not None]
