"""Records of the store as the API shows them."""

from __future__ import annotations

from typing import Any

import numpy as np

from alora_ts.diagnosis.incident import severity_of
from alora_ts.serve.incidents.record import DETAILS
from alora_ts.serve.store.cells import unpack_cells, unpack_detail
from alora_ts.serve.store.record import Record
from alora_ts.serve.times import from_micros

__all__ = ["show_incident", "show_reading", "show_readings"]


NO_WORK: dict[str, Any] = {"acknowledged": None, "assignee": None, "notes": []}
"""What nobody has done anything about."""


def show_incident(record: dict[str, Any], source: str) -> dict[str, Any]:
    """An incident as JSON; ``end`` is null while it is open."""
    closed = record["state"] != "open"
    return {
        "id": record["id"],
        "source": source,
        "kind": record["kind"],
        "variable": record["variable"],
        "connector": record["detail"].get("connector"),
        "state": record["state"],
        "start": from_micros(record["start_us"]),
        "end": from_micros(record["end_us"]) if closed else None,
        "last_time": from_micros(record["end_us"]),
        "severity": record["severity"],
        # What was found before a field was known has none.
        **{name: record["detail"].get(name) for name in DETAILS},
        "origin": _origin(record["detail"].get("origin")),
        "model_id": record["model_id"],
        "verdict": record["verdict"],
        "pattern": record["pattern"],
        "silenced": bool(record.get("silenced")),
        "recurring": {
            "count": record.get("count") or 1,
            "first": from_micros(record.get("first_us") or record["start_us"]),
            "series": record.get("series") or record["id"],
        },
        "work": {**NO_WORK, **(record.get("work") or {})},
    }


def _origin(found: dict[str, Any] | None) -> dict[str, Any] | None:
    """An origin; a version before this one stored a share of scores as its certainty."""
    if found is None:
        return None
    return {
        "variable": found["variable"],
        "certainty": found.get("certainty", found.get("share", 0.0)),
    }


def show_reading(
    *,
    time: int,
    score: float,
    raw: float,
    rank: int,
    novelty: float,
    alarm: bool,
    warm_up: bool,
    variables: tuple[str, ...],
    values: Any,
    expected: Any,
    error: Any,
) -> dict[str, Any]:
    """A reading as JSON; missing numbers are null."""
    return {
        "time": from_micros(time),
        "score": score,
        "raw": raw,
        "rank": rank,
        "novelty": novelty,
        "warm_up": bool(warm_up),
        "is_anomaly": bool(alarm),
        "severity": severity_of(score) if alarm else None,
        "error": _by_name(variables, error),
        "expected": _by_name(variables, expected),
        "values": _by_name(variables, values),
    }


def show_readings(found: list[Record], variables: tuple[str, ...]) -> list[dict[str, Any]]:
    """Readings as JSON."""
    d = len(variables)
    values = unpack_cells([row.cells for row in found], d)
    expected, error, _ = unpack_detail([row.detail for row in found], d)
    return [
        show_reading(
            time=row.time_us,
            score=row.score,
            raw=row.raw,
            rank=row.rank,
            novelty=row.novelty,
            alarm=row.alarm,
            warm_up=row.warm_up,
            variables=variables,
            values=values[at],
            expected=expected[at],
            error=error[at],
        )
        for at, row in enumerate(found)
    ]


def _by_name(variables: tuple[str, ...], numbers: Any) -> dict[str, float | None]:
    return {
        name: None if missing else number
        for name, number, missing in zip(
            variables, numbers.tolist(), np.isnan(numbers).tolist(), strict=True
        )
    }
