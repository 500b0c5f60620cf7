"""What D3R learns from beside the rows: the stable part of training rows, and the time of day."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import polars as pl
from numpy.typing import NDArray

from alora_ts.baselines.inputs import Rows
from alora_ts.data.windows import segment_starts

__all__ = ["rolling_median", "time_features", "with_stable_part", "with_time"]


def rolling_median(values: NDArray[Any], window: int) -> NDArray[np.float32]:
    """Median of the ``window`` rows around each row that has so many.

    Parameters
    ----------
    values : ndarray of shape (N, d)
    window : int
        At most N.

    Returns
    -------
    ndarray of float32, shape (N − window + 1, d)
        Item i is the median of rows i … i + window − 1; it belongs to row i + window // 2.

    Examples
    --------
    >>> rolling_median(np.array([[1.0], [9.0], [2.0], [4.0]]), 3)[:, 0]
    array([2., 4.], dtype=float32)
    """
    columns = [
        pl.Series(column).rolling_median(window)[window - 1 :].to_numpy()
        for column in np.ascontiguousarray(values.T, dtype=np.float64)
    ]
    return np.stack(columns, axis=1).astype(np.float32)


def with_stable_part(rows: Rows, period: int) -> Rows:
    """Put beside each row its distance from the median of a period around it.

    Parameters
    ----------
    rows : Rows
        Training rows.
    period : int
        Rows of a period; a third of the longest segment where that is less.

    Returns
    -------
    Rows
        With 2·d columns, without the half periods at each segment's ends that have no median
        around them, and without segments shorter than a period.

    Examples
    --------
    >>> from alora_ts.baselines.inputs import InputReader, Scaling
    >>> rows = InputReader(Scaling()).fit(np.arange(9.0))
    >>> with_stable_part(rows, 3).values.shape
    (7, 2)
    """
    starts = segment_starts(len(rows), rows.segments)
    stops = np.r_[starts[1:], len(rows)]
    period = min(period, max(1, int((stops - starts).max()) // 3))
    before = period // 2
    kept, stable = [], []
    for start, stop in zip(starts, stops, strict=True):
        if stop - start >= period:
            trend = rolling_median(rows.values[start:stop], period)
            inside = np.arange(start + before, start + before + len(trend))
            kept.append(inside)
            stable.append(rows.values[inside] - trend)
    index = np.concatenate(kept)
    return Rows(
        values=np.concatenate([rows.values[index], np.concatenate(stable)], axis=1),
        # Renumbered: two segments around one that was left out must not become one.
        segments=np.repeat(np.arange(len(kept), dtype=np.int32), [len(part) for part in kept]),
        timestamps=None if rows.timestamps is None else rows.timestamps[index],
        answers=np.arange(len(index)),
    )


def time_features(timestamps: NDArray[Any] | None, count: int) -> NDArray[np.float32]:
    """Minute, hour, weekday, day and month of each row, each within about ±0.5.

    Parameters
    ----------
    timestamps : ndarray of datetime64, shape (N,), or anything else
        Without timestamps the rows are taken as consecutive minutes.
    count : int
        N.

    Returns
    -------
    ndarray of float32, shape (N, 5)
        The month is divided by 365, as published.

    Examples
    --------
    >>> time_features(np.array(["2024-01-31T23:59"], "datetime64[us]"), 1)
    array([[ 0.5 ,  0.5 , -0.16666667,  0.53333336, -0.49726027]], dtype=float32)
    """
    if timestamps is None or timestamps.dtype.kind != "M":
        timestamps = np.datetime64("2000-01-01", "m") + np.arange(count)
    moments = pl.Series(timestamps.astype("datetime64[us]")).dt
    columns = [
        moments.minute().to_numpy() / 59,
        moments.hour().to_numpy() / 23,
        (moments.weekday().to_numpy() - 1) / 6,
        moments.day().to_numpy() / 30,
        moments.month().to_numpy() / 365,
    ]
    return (np.stack(columns, axis=1) - 0.5).astype(np.float32)


def with_time(rows: Rows) -> Rows:
    """Put the time features behind the columns of the rows.

    Examples
    --------
    >>> from alora_ts.baselines.inputs import InputReader, Scaling
    >>> with_time(InputReader(Scaling()).fit(np.arange(4.0))).values.shape
    (4, 6)
    """
    features = time_features(rows.timestamps, len(rows))
    return replace(rows, values=np.concatenate([rows.values, features], axis=1))
