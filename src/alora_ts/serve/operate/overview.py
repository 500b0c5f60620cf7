"""A source as it is now."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from typing import Any

from alora_ts.serve.http.describe import show_incident
from alora_ts.serve.scoring.source import Source
from alora_ts.serve.service import Service
from alora_ts.serve.store.incidents import open_incidents
from alora_ts.serve.store.record import Record
from alora_ts.serve.store.rows import recent_scores, recent_scores_of_all
from alora_ts.serve.store.sources import can_roll_back
from alora_ts.serve.times import from_micros, now_micros

__all__ = ["show_source", "show_sources"]

# Of all sources together: with thousands of them the little lines have fewer points.
_SCORES = 50_000
_GRADES = {"low": 1, "medium": 2, "high": 3}


def show_sources(
    service: Service, *, recent: int = 0, names: Collection[str] = ()
) -> list[dict[str, Any]]:
    """Every source, or some, with its state and so many of its last scores, by name."""
    sources = [one for one in service.sources.all() if not names or one.name in names]
    recent = min(recent, max(1, _SCORES // max(1, len(sources))))
    with service.store.reading() as connection:
        found, earlier = open_incidents(connection), can_roll_back(connection)
        # At least one; a source without rows is not asked for.
        some = [source.id for source in sources if source.newest is not None]
        scores = recent_scores_of_all(connection, some, limit=max(recent, 1))
    return [
        _show(
            service,
            source,
            found.get(source.id, []),
            scores.get(source.id, []),
            recent=recent,
            earlier=source.id in earlier,
        )
        for source in sources
    ]


def show_source(service: Service, source: Source) -> dict[str, Any]:
    """One source with its state."""
    with service.store.reading() as connection:
        found = open_incidents(connection, source.id)
        last = () if source.newest is None else recent_scores(connection, source.id, limit=1)
        return _show(
            service,
            source,
            found.get(source.id, []),
            last,
            recent=0,
            earlier=source.id in can_roll_back(connection, source.id),
        )


def _show(
    service: Service,
    source: Source,
    incidents: Sequence[Record],
    last: Sequence[Record],
    *,
    recent: int,
    earlier: bool,
) -> dict[str, Any]:
    reading = last[-1] if last else None
    shown = [show_incident(record._asdict(), source.name) for record in incidents]
    alarming = [incident for incident in shown if not incident["silenced"]]
    silent = sorted(
        {
            culprit["variable"]
            for incident in shown
            if incident["kind"] == "silence"
            for culprit in incident["culprits"]
        }
    )
    return {
        "name": source.name,
        "model_id": source.model_id,
        "variables": list(source.wanted),
        "rows": source.rows,
        "first_time": None if source.first is None else from_micros(source.first),
        "last_time": None if source.newest is None else from_micros(source.newest),
        "score": None if reading is None else reading.score,
        "threshold": None if source.collecting else source.threshold,
        "state": _state(service, source, alarming, reading),
        "silent_signals": silent,
        "open_incidents": len(alarming),
        "silenced_incidents": len(shown) - len(alarming),
        "worst": max(alarming, key=_how_bad, default=None),
        "recent": [row.score for row in last[-recent:]] if recent else [],
        "can_roll_back": earlier,
        "scored_from": None if source.scored_from is None else from_micros(source.scored_from),
        "trouble": service.crew.troubles.get(source.name),
    }


def _how_bad(incident: dict[str, Any]) -> tuple[bool, int, float]:
    """Anomalies before silences, then by severity and height."""
    anomaly = incident["kind"] != "silence"
    return anomaly, _GRADES.get(incident["severity"], 0), incident["peak"] or 0.0


def _state(
    service: Service, source: Source, incidents: Sequence[dict[str, Any]], last: Record | None
) -> str:
    """The worst that is true of it: an open anomaly stays one when no more rows come.

    It follows from incidents, not from the last row, of which a single one can be odd.
    """
    if source.collecting:
        return "collecting"
    if source.newest is None:
        return "waiting"
    if any(incident["kind"] != "silence" for incident in incidents):
        return "alarm"
    after = service.settings.silent_after * 1e6
    if after and now_micros() - max(source.arrived, source.heard) > after:
        return "silent"
    return "warm-up" if last is None or last.warm_up else "ok"
