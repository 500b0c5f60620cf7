"""The drift of a source, from what is stored."""

from __future__ import annotations

from typing import Any

from alora_ts.serve.models.drift import show_drift
from alora_ts.serve.scoring.restore import usual_at
from alora_ts.serve.scoring.source import Source
from alora_ts.serve.service import Service
from alora_ts.serve.store.incidents import open_incidents
from alora_ts.serve.store.recent import rows_since, sampled_rows
from alora_ts.serve.store.sources import active_model
from alora_ts.serve.times import from_micros

__all__ = ["FEWEST", "report_drift"]

FEWEST = 200
_LONGEST = 7 * 86_400 * 1_000_000  # a week has every kind of day


def report_drift(service: Service, source: Source) -> dict[str, Any]:
    """Compare the newest rows with the first that the active model saw.

    Half of its time goes to each side, at most a week, from which ``drift_rows`` are taken in
    pieces spread evenly: neighbouring rows alone would show one hour of a daily cycle against
    another. With fewer than 200 on a side there is nothing to say yet.
    """
    fitted = service.models.get(source.active).model_
    with service.store.reading() as connection:
        active = active_model(connection, source.id)
        arrived = 0 if active is None else active.at_us
        count, start, end = rows_since(connection, source.id, arrived)
        rows = min(service.settings.drift_rows, count // 2)
        if rows < FEWEST:
            return {
                "inputs": [],
                "score": {"statistic": None, "level": "ok"},
                "since": None,
                "rows": rows,
                "advice": f"too few rows under the active model: {2 * FEWEST} are needed",
            }
        reach = min((end + 1 - start) // 2, _LONGEST)
        first, last = (
            sampled_rows(
                connection,
                source.id,
                len(source.variables),
                arrived=arrived,
                start=since,
                end=since + reach,
                limit=rows,
            )
            for since in (start, end + 1 - reach)
        )
        incidents = open_incidents(connection, source.id)
    columns = [source.variables.index(name) for name in source.wanted]
    standardiser = fitted.preparation.standardiser
    shown = show_drift(
        variables=source.wanted,
        reference=first.values[:, columns] - usual_at(fitted, first.times),
        recent=last.values[:, columns] - usual_at(fitted, last.times),
        reference_score=first.raw,
        recent_score=last.raw,
        center=standardiser.center,
        scale=standardiser.scale,
    )
    moved = [one["variable"] for one in shown["inputs"] if one["level"] == "drifted"]
    if incidents and (moved or shown["score"]["level"] != "ok"):
        shown["advice"] = (
            f"{', '.join(moved[:5]) or 'the score'} changed while an incident is open: it may be "
            "the fault itself; look at that first"
        )
    return {**shown, "since": from_micros(int(first.times[0])), "rows": rows}
