"""How soon events are noticed, and how often nothing is."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray

from alora_ts.errors import AloraError, DataError
from alora_ts.metrics.events import runs
from alora_ts.metrics.inputs import as_binary, as_events, same_length

__all__ = ["Delay", "FalseAlarms", "detection_delay", "false_alarms"]

SECONDS_PER_DAY = 86_400.0


@dataclass(frozen=True)
class Delay:
    """How soon each event was noticed.

    Attributes
    ----------
    delays : ndarray of shape (m,)
        From the start of each event to its first alarm; NaN for an event without one.
    caught : float
        Share of the events with an alarm.
    mean, median : float or None
        Over the caught events; None when none was caught.
    """

    delays: NDArray[np.float64]
    caught: float
    mean: float | None
    median: float | None


@dataclass(frozen=True)
class FalseAlarms:
    """How often normal operation was disturbed.

    Attributes
    ----------
    episodes : int
        Episodes of alarm that touch no event.
    normal_share : float
        Share of the normal rows that are alarmed. An alarm that never ends has few episodes; here
        it shows.
    per_day : float or None
        Episodes per day of normal operation; None when the time between rows is not given.
    """

    episodes: int
    normal_share: float
    per_day: float | None


def detection_delay(
    label: ArrayLike, alarm: ArrayLike, *, seconds_per_row: float | None = None
) -> Delay:
    """Time from the start of each event to its first alarm.

    Alarms before the event do not count as noticing it.

    Parameters
    ----------
    label, alarm : array_like of shape (n,)
        0 or 1 per row.
    seconds_per_row : float, optional
        Time between rows. Without it delays are in rows.

    Returns
    -------
    Delay

    Raises
    ------
    DataError
        When the arrays are unusable or the label marks no event.

    Examples
    --------
    >>> found = detection_delay([0, 1, 1, 1, 0, 1], [0, 0, 0, 1, 0, 0], seconds_per_row=60)
    >>> found.delays.tolist(), found.caught
    ([120.0, nan], 0.5)
    """
    truth = as_events(label)
    alarms = as_binary(alarm, "alarm")
    same_length(truth, alarms, ("label", "alarm"))
    unit = 1.0 if seconds_per_row is None else _positive(seconds_per_row)
    starts, ends = runs(truth)
    rows = np.where(alarms & truth, np.arange(truth.size), truth.size)
    first = np.minimum.reduceat(rows, starts)
    caught = first < ends
    delays = np.where(caught, (first - starts) * unit, np.nan)
    some = bool(caught.any())
    return Delay(
        delays=delays,
        caught=float(caught.mean()),
        mean=float(delays[caught].mean()) if some else None,
        median=float(np.median(delays[caught])) if some else None,
    )


def false_alarms(
    label: ArrayLike, alarm: ArrayLike, *, seconds_per_row: float | None = None
) -> FalseAlarms:
    """Count the alarms of normal operation.

    Parameters
    ----------
    label, alarm : array_like of shape (n,)
        0 or 1 per row; the label may be all 0.
    seconds_per_row : float, optional
        Time between rows, needed for alarms per day.

    Returns
    -------
    FalseAlarms

    Raises
    ------
    DataError
        When the arrays are unusable or no row is normal.

    Examples
    --------
    >>> false_alarms([0, 0, 0, 0, 1, 1], [1, 0, 1, 0, 1, 1], seconds_per_row=21_600)
    FalseAlarms(episodes=2, normal_share=0.5, per_day=2.0)
    """
    truth = as_binary(label, "label")
    alarms = as_binary(alarm, "alarm")
    same_length(truth, alarms, ("label", "alarm"))
    normal = int((~truth).sum())
    if normal == 0:
        raise DataError("label has no normal row, so there is no normal operation to disturb")
    starts, ends = runs(alarms)
    anomalous = np.concatenate([[0], np.cumsum(truth)])
    episodes = int((anomalous[ends] == anomalous[starts]).sum())
    seconds = None if seconds_per_row is None else normal * _positive(seconds_per_row)
    return FalseAlarms(
        episodes=episodes,
        normal_share=float((alarms & ~truth).sum() / normal),
        per_day=None if seconds is None else episodes * SECONDS_PER_DAY / seconds,
    )


def _positive(seconds_per_row: float) -> float:
    if not (np.isfinite(seconds_per_row) and seconds_per_row > 0):
        raise AloraError(f"seconds_per_row must be positive, but it is {seconds_per_row}")
    return float(seconds_per_row)
