"""What the signals of an incident would have been, judging by those that behaved."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sqlalchemy import Connection

from alora_ts.data.hold import RowHold
from alora_ts.estimator import ALoRa
from alora_ts.serve.rows.chart_series import thin_line
from alora_ts.serve.scoring.restore import row_micros, usual_at
from alora_ts.serve.scoring.source import Source
from alora_ts.serve.store.incidents import list_incidents
from alora_ts.serve.store.rows import RowBlock, rows_from

__all__ = ["implied_lines", "implied_series", "room_around"]

_ROWS = 5000
_POINTS = 700
_INCIDENTS = 20
_BUCKETS = 20  # some thousand rows


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
    values, course = _filled(block, source, model)
    expected = fitted.judge.expected(values, np.isin(variables, aside)) + course
    places = {name: at for at, name in enumerate(variables)}
    return {
        one["variable"]: thin_line(block.times, expected[:, places[one["variable"]]], _POINTS)
        for one in detail["culprits"]
        if one["variable"] in places
    }


def implied_series(
    connection: Connection,
    source: Source,
    models: Callable[[str], ALoRa],
    *,
    start: int,
    end: int,
    signals: Sequence[str],
    points: int,
) -> dict[str, Any]:
    """A line for each of some signals over a period in which there are incidents.

    What the network expected is bent by the signals that misbehave, and then signals that behave
    seem to leave what is expected of them. Rows are judged as at the incident nearest to them.

    Parameters
    ----------
    connection : Connection
    source : Source
    models : callable
        Gives the model of an id.
    start, end : int
        Microseconds.
    signals : sequence of str
    points : int
        At most so many for each line.

    Returns
    -------
    dict
        By signal ``t`` and ``v``; empty where no incident of the active model is, and for more
        than some thousand rows.
    """
    if source.model_id is None or (end - start) // source.bucket_us > _BUCKETS:
        return {}
    touched = list_incidents(
        connection,
        source=source.id,
        state=None,
        start=start,
        end=end,
        before=None,
        limit=_INCIDENTS,
    )
    told = sorted(
        (
            one
            for one in touched
            if one.model_id == source.model_id and one.detail.get("aside") is not None
        ),
        key=lambda one: int(one.start_us),
    )
    model = models(source.model_id)
    variables = model.model_.preparation.variables
    if not told or any(name not in source.variables for name in variables):
        return {}
    block = rows_from(connection, source.id, len(source.variables), start=start, end=end)
    if not len(block):
        return {}
    values, course = _filled(block, source, model)
    between = [(one.end_us + then.start_us) // 2 for one, then in itertools.pairwise(told)]
    edges = [0, *np.searchsorted(block.times, between).tolist(), len(block)]
    expected = np.concatenate(
        [
            model.model_.judge.expected(values[first:last], np.isin(variables, one.detail["aside"]))
            for one, (first, last) in zip(told, itertools.pairwise(edges), strict=True)
        ]
    )
    expected = expected + course
    return {
        name: thin_line(block.times, expected[:, variables.index(name)], points)
        for name in signals
        if name in variables
    }


def _filled(
    block: RowBlock, source: Source, model: ALoRa
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """The model's signals without gaps, less what repeats, and that."""
    preparation = model.model_.preparation
    hold = RowHold(preparation.standardiser.center)
    columns = [source.variables.index(name) for name in preparation.variables]
    values = block.values[:, columns]
    course = usual_at(model.model_, block.times, values)
    return np.stack([hold.fill(row) for row in values - course]), course
