"""What the signals of an incident would have been, judging by those that behaved."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
from sqlalchemy import Connection

from alora_ts.data.hold import RowHold
from alora_ts.estimator import ALoRa
from alora_ts.serve.rows.chart_series import thin_line
from alora_ts.serve.scoring.restore import row_micros
from alora_ts.serve.scoring.source import Source
from alora_ts.serve.store.rows import rows_from

__all__ = ["implied_lines", "room_around"]

_ROWS = 5000
_POINTS = 700


def room_around(model: ALoRa, record: Mapping[str, Any]) -> int:
    """Microseconds before and after an incident that show it well: a window of rows or more."""
    lasted = int(record["end_us"]) - int(record["start_us"])
    return max(model.model_.window * row_micros(model), round(0.6 * lasted))


def implied_lines(
    connection: Connection, source: Source, model: ALoRa, record: Mapping[str, Any]
) -> dict[str, Any]:
    """A line for each culprit, around its incident.

    Parameters
    ----------
    connection : Connection
    source : Source
    model : ALoRa
        The model that found the incident.
    record : mapping
        The incident as stored.

    Returns
    -------
    dict
        By variable ``t`` (milliseconds since 1970) and ``v``, of at most 5,000 rows; empty for an
        incident of a version that did not say whom to set aside.
    """
    detail, fitted = record["detail"], model.model_
    aside, variables = detail.get("aside"), fitted.preparation.variables
    if aside is None or any(name not in source.variables for name in variables):
        return {}
    start, end = record["start_us"], record["end_us"]
    room = room_around(model, record)
    block = rows_from(
        connection,
        source.id,
        len(source.variables),
        start=start - room,
        end=end + room + 1,
        limit=_ROWS,
    )
    if not len(block):
        return {}
    hold = RowHold(fitted.preparation.standardiser.center)
    columns = [source.variables.index(name) for name in variables]
    values = np.stack([hold.fill(row) for row in block.values[:, columns]])
    expected = fitted.judge.expected(values, np.isin(variables, aside))
    places = {name: at for at, name in enumerate(variables)}
    return {
        one["variable"]: thin_line(block.times, expected[:, places[one["variable"]]], _POINTS)
        for one in detail["culprits"]
        if one["variable"] in places
    }
