"""An incident as the store keeps it: columns it is found by, and one document with the rest."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from alora_ts.diagnosis.fields import FIELDS, Field, describe
from alora_ts.diagnosis.stretch import Stretch
from alora_ts.serve.times import from_micros

__all__ = ["DETAILS", "anomaly_record", "silence_record"]

# These have columns of their own.
_COLUMNS = {"start", "end", "severity", "pattern"}
_NAMES = {"score": "peak"}

DETAILS: dict[str, Field] = {
    _NAMES.get(field.name, field.name): field for field in FIELDS if field.name not in _COLUMNS
}
"""The fields in the document, by the names the API has for them."""


def anomaly_record(stretch: Stretch) -> dict[str, Any]:
    """The columns that follow from the rows of an anomaly."""
    incident = stretch.incident()
    described = describe(incident, moment=lambda time: from_micros(int(time)))
    return {
        "kind": "anomaly",
        "variable": None,
        "state": "open" if stretch.open else "closed",
        "start_us": int(incident.start_time),
        "end_us": int(incident.end_time),
        "severity": incident.severity,
        "pattern": described["pattern"],
        "peak_raw": incident.raw,
        "detail": {name: described[field.name] for name, field in DETAILS.items()},
    }


def silence_record(signals: Sequence[str], connector: str | None, start: int) -> dict[str, Any]:
    """The same columns of signals that stopped coming; ``connector`` is who noticed."""
    return {
        "kind": "silence",
        "variable": signals[0] if len(signals) == 1 else None,
        "state": "open",
        "start_us": start,
        "end_us": start,
        "severity": "medium",
        "pattern": None,
        "peak_raw": 0.0,
        "detail": {
            "rows": 0,
            "peak_time": from_micros(start),
            "peak": 0.0,
            "culprits": [
                {"variable": name, "share": 1 / len(signals), "direction": "silent"}
                for name in signals
            ],
            "connector": connector,
        },
    }
