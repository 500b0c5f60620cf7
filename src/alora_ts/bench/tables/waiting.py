"""Waiting time: from an event's start to its first alarm."""

from __future__ import annotations

from collections.abc import Iterable

from alora_ts.bench.record import Record
from alora_ts.bench.tables.by_method import Metric, method_table, place_of
from alora_ts.bench.tables.contenders import arenas
from alora_ts.bench.tables.summary import detected
from alora_ts.bench.tables.table import ResultTable

__all__ = ["waiting"]


def _metrics() -> list[Metric]:
    found = [
        Metric(
            title=f"{name}, {said}",
            read=detected(f"{choice} / {key}"),
            digits=digits,
            better=None,
        )
        for name, key, digits in (
            ("incident delay", "incident delay (rows)", 1),
            ("normal rows in incidents", "normal rows in incidents", 3),
        )
        for choice, said in (("given threshold", "label-free"), ("best threshold", "oracle"))
    ]
    for choice, said in (("best threshold", "oracle"), ("given threshold", "label-free")):
        found += [
            Metric(
                title=f"rows waited, {said}",
                read=detected(f"{choice} / mean delay (rows)"),
                digits=1,
                better="less",
                yardsticks_compete=False,
            ),
            Metric(
                title=f"events caught, {said}",
                read=detected(f"{choice} / events caught"),
                yardsticks_compete=False,
            ),
            Metric(
                title=f"normal rows alarmed, {said}",
                read=detected(f"{choice} / normal rows alarmed"),
                better=None,
            ),
        ]
    return found


def waiting(records: Iterable[Record]) -> list[ResultTable]:
    """Rows waited, events caught and the price in false alarms; by plan and dataset."""
    found = [
        method_table(
            arena,
            _metrics(),
            name="waiting",
            title=f"Waiting time on {place_of(arena)}",
            notes=[
                "Incident delay: rows from an event's first to the start of the first true "
                "incident that overlaps it, mean over the events found. "
                "Rows waited: from an event's first row to its first alarm, mean over the events "
                "that were caught. Events caught and normal rows alarmed are shares. An endless "
                "alarm waits for nothing: read all three together. Yardsticks are not marked.",
                "The paper shows waiting times in a figure only and prints no numbers.",
            ],
        )
        for arena in arenas(records)
    ]
    return [table for table in found if table is not None]
