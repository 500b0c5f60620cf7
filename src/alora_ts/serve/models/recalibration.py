"""The alarm level found again on recent rows."""

from __future__ import annotations

from typing import Any

import numpy as np

from alora_ts.errors import DataError
from alora_ts.scoring import choose_level
from alora_ts.serve.problems import ConflictError
from alora_ts.serve.scoring.source import Source
from alora_ts.serve.service import Service
from alora_ts.serve.store.incidents import list_incidents
from alora_ts.serve.store.recent import scored_rows
from alora_ts.serve.store.sources import (
    active_model,
    save_recalibration,
    undo_recalibrations,
)
from alora_ts.serve.times import from_micros

__all__ = ["recalibrate", "undo_recalibration"]

FEWEST = 200
_INCIDENTS = 10_000


def recalibrate(service: Service, source: Source) -> dict[str, Any]:
    """Choose the alarm level by the model's own rule from recent scores.

    Rows of incidents that people called real, or that were worse than low, are left out: a verdict
    "normal" silences a pattern and must not raise the level of everything else. Other low ones
    stay in: a level lets some normal rows alarm, and leaving them out would lower it a little more
    each time. The result lies within ``recalibrate_limit`` times the model's level, up or down.
    """
    settings = service.settings
    model = service.models.get(source.active)
    with service.store.reading() as connection:
        active = active_model(connection, source.id)
        recent = scored_rows(
            connection,
            source.id,
            len(source.variables),
            arrived=0 if active is None else active.at_us,
            limit=settings.recalibrate_rows,
            newest=True,
        )
        bad = list_incidents(
            connection,
            source=source.id,
            state=None,
            start=int(recent.times[0]) if len(recent.times) else 0,
            end=None,
            before=None,
            limit=_INCIDENTS,
        )
    normal = np.ones(len(recent.times), dtype=bool)
    for incident in bad:
        harmless = incident.verdict != "real" and incident.severity == "low"
        if incident.kind == "anomaly" and not harmless:
            normal &= (recent.times < incident.start_us) | (recent.times > incident.end_us)
    if normal.sum() < FEWEST:
        raise ConflictError(
            f"the source has {int(normal.sum())} normal rows under its model, recalibration needs "
            f"{FEWEST}; wait for more"
        )
    own = model.model_.calibration.threshold
    rows = np.flatnonzero(normal)
    chosen = choose_level(
        recent.raw[rows] / recent.drift[rows],
        np.cumsum(np.diff(rows, prepend=rows[0]) > 1),
        alarms=model.alarm_options(),
        gap=model.model_.calibration.gap,
        rows_per_day=model.model_.preparation.rows_per_day,
    )
    limit = settings.recalibrate_limit
    value = float(np.clip(chosen.value, own.value / limit, own.value * limit))
    if not np.isfinite(value):
        raise DataError("the recent scores give no finite alarm level; look at the source's rows")
    note = f"{chosen.note}, rows {from_micros(int(recent.times[0]))} and later"
    service.store.change(
        "level recalibrated",
        source.name,
        lambda c: save_recalibration(c, source.id, source.active, value, note),
        {"value": value},
    )
    return _show(service, source, note)


def undo_recalibration(service: Service, source: Source) -> dict[str, Any]:
    """Return to the alarm level the model was fitted with."""
    model_id = source.active
    service.store.change(
        "recalibration undone",
        source.name,
        lambda c: undo_recalibrations(c, source.id, model_id),
    )
    return _show(service, source, "the model's own level")


def _show(service: Service, source: Source, note: str) -> dict[str, Any]:
    return {
        "source": source.name,
        "threshold": service.registry.refresh_threshold(source),
        "model_threshold": service.registry.own_threshold(source),
        "note": note,
    }
