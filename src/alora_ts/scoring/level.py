"""The alarm level of any detector, from its scores on normal rows it was not fitted on."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from alora_ts.scoring.budget import DEFAULT_BUDGET, parse_budget
from alora_ts.scoring.peaks import Tail, fit_tail
from alora_ts.scoring.threshold import ALARM_SHARE, Threshold, ThresholdRule, choose_threshold

__all__ = ["AlarmOptions", "choose_level", "level_of"]

_AT_ONCE = 1.5
"""Peaks above the level for each false incident allowed; what follows storms keeps the rest."""


@dataclass(frozen=True, kw_only=True)
class AlarmOptions:
    """When a score alarms. See :class:`alora_ts.ALoRa` for each."""

    false_alarms: str = DEFAULT_BUDGET
    threshold: ThresholdRule | None = None
    alarm_share: float | None = None
    alarms_per_day: float | None = None
    drift_memory: int = 10_000

    @property
    def outdated(self) -> tuple[str, ...]:
        """Parameters given that count alarming rows; where there are any, they decide."""
        old = ("threshold", "alarm_share", "alarms_per_day")
        return tuple(name for name in old if getattr(self, name) is not None)


def choose_level(
    scores: NDArray[np.floating],
    blocks: NDArray[np.integer] | None = None,
    *,
    alarms: AlarmOptions,
    gap: int,
    rows_per_day: float | None = None,
) -> Threshold:
    """Choose the level that keeps a budget of false incidents.

    Parameters
    ----------
    scores : ndarray of shape (n,)
        Raw scores of normal rows that the detector was not fitted on.
    blocks : ndarray of int, shape (n,), or None
        Rows of different blocks are no neighbours.
    alarms : AlarmOptions
    gap : int
        Alarms with at most so many quiet rows between them are one incident.
    rows_per_day : float, optional
        How many rows a day has, where the budget is in days.

    Returns
    -------
    Threshold

    Examples
    --------
    >>> scores = np.exp(np.random.default_rng(0).normal(size=20_000))
    >>> rare = choose_level(scores, alarms=AlarmOptions(false_alarms="1 per 5000 rows"), gap=10)
    >>> often = choose_level(scores, alarms=AlarmOptions(), gap=10)
    >>> often.value < rare.value
    True
    >>> rare.note
    '1 per 5000 rows, by the 20 highest of 1,390 peaks in 20,000 held-back rows'
    """
    if alarms.outdated:
        rule: ThresholdRule = "tail" if alarms.threshold is None else alarms.threshold
        if alarms.threshold is None and alarms.alarms_per_day is not None:
            rule = "alarms-per-day"
        return choose_threshold(
            scores,
            rule=rule,
            alarm_share=ALARM_SHARE if alarms.alarm_share is None else alarms.alarm_share,
            alarms_per_day=1.0 if alarms.alarms_per_day is None else alarms.alarms_per_day,
            rows_per_day=rows_per_day,
        )
    budget = parse_budget(alarms.false_alarms)
    each = budget.rows(rows_per_day)
    tail, peaks = fit_tail(scores, blocks, gap=gap)
    note = (
        f"{budget.text}, by the {tail.peaks} highest of {peaks:,} peaks in {tail.rows:,} "
        "held-back rows"
    )
    if each > tail.rows:
        low, high = tail.interval(each)
        note += (
            f"; these are too few to promise it: expect between one in {low:,.0f} and one in "
            f"{high:,.0f} rows, or give a longer training period"
        )
    return Threshold(level_of(tail, each), "budget", note, 0.0, each, tail)


def level_of(tail: Tail, each: float) -> float:
    """The level that leaves one false incident in so many rows.

    Examples
    --------
    >>> tail = Tail(start=0.0, slope=1.0, peaks=20, rows=20_000)
    >>> level_of(tail, 3000.0)
    2.0
    """
    return max(tail.level(each / _AT_ONCE), float(np.finfo(np.float32).tiny))
