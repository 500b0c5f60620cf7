"""Alarm thresholds from normal scores alone: quantile, peaks over threshold, alarms per day.

The code serves every detector, not only ALoRa: scores of normal rows in, one number out. Dividing
a detector's scores by it puts them on the scale on which more than 1 alarms.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from alora_ts.errors import AloraError, nearest
from alora_ts.scoring.peaks import Tail

__all__ = ["ALARM_SHARE", "Threshold", "ThresholdRule", "choose_threshold"]

ThresholdRule = Literal["tail", "quantile", "alarms-per-day", "budget"]

ALARM_SHARE = 2e-2
"""Share of normal rows that may alarm, where nobody says another."""

_TAIL_SHARE = 0.05
_COUNTABLE = 50
"""Scores beyond the threshold that make a fit unnecessary: they can be counted."""

_FEWEST_FOR_SHAPE = 30
_FEWEST_FOR_SCALE = 5


@dataclass(frozen=True)
class Threshold:
    """h2 and where it comes from.

    Attributes
    ----------
    value : float
        Positive; a raw score above it alarms.
    rule : str
        The rule asked for.
    note : str
        What was really done, in words, fallbacks included.
    share : float
        The share of normal rows that was allowed to alarm; 0 for a budget in incidents.
    each : float or None
        For a budget: rows from one false incident to the next that were asked for.
    tail : Tail or None
        For a budget: how often normal rows show a peak above a level.
    """

    value: float
    rule: ThresholdRule
    note: str
    share: float
    each: float | None = None
    tail: Tail | None = None

    @classmethod
    def from_dict(cls, saved: Mapping[str, Any]) -> Threshold:
        """Back from ``dataclasses.asdict``."""
        tail = saved.get("tail")
        return cls(**{**saved, "tail": None if tail is None else Tail(**tail)})


def choose_threshold(
    scores: NDArray[np.floating],
    *,
    rule: ThresholdRule = "tail",
    alarm_share: float = ALARM_SHARE,
    alarms_per_day: float = 1.0,
    rows_per_day: float | None = None,
) -> Threshold:
    """Choose h2 from the scores of normal rows.

    Parameters
    ----------
    scores : ndarray of shape (n,)
        Raw scores of normal rows, best of rows that the detector was not fitted on.
    rule : {"tail", "quantile", "alarms-per-day"}
        "quantile" takes the empirical quantile that leaves ``alarm_share`` above it. "tail" fits
        a generalised Pareto distribution to the highest 5 % and reads the same share off the fit,
        which also works for shares the sample is too small to show; where it shows them well (50
        scores or more beyond the threshold) it counts as "quantile" does. "alarms-per-day" is
        "tail" for the share that gives so many alarming rows a day.
    alarm_share : float
        Share of normal rows that may alarm.
    alarms_per_day : float
        Used by the rule of that name.
    rows_per_day : float, optional
        Needed by it: how many rows a day has.

    Returns
    -------
    Threshold

    Examples
    --------
    >>> scores = np.random.default_rng(0).exponential(size=20_000)
    >>> chosen = choose_threshold(scores, alarm_share=1e-4)
    >>> bool(8 < chosen.value < 11)  # the true value is ln(10,000) = 9.2
    True
    >>> choose_threshold(np.ones(50)).note
    'all normal scores are equal; the threshold is a tenth above them'
    """
    rules: tuple[ThresholdRule, ...] = ("tail", "quantile", "alarms-per-day")
    if rule not in rules:
        raise AloraError(f"unknown threshold rule {rule!r}{nearest(rule, rules)}")
    if not np.isfinite(scores).all() or scores.size == 0:
        raise AloraError("a threshold needs at least one normal score, and only finite ones")
    share = alarm_share
    if rule == "alarms-per-day":
        if rows_per_day is None or rows_per_day <= 0:
            raise AloraError(
                "the rule 'alarms-per-day' needs timestamps, to know how many rows a day has; "
                "give a time column or use the rule 'tail' with alarm_share"
            )
        share = min(0.5, alarms_per_day / rows_per_day)
    if not 0 < share < 1:
        raise AloraError(f"alarm_share must lie between 0 and 1, not {share}")
    value, note = _quantile(scores, share) if rule == "quantile" else _tail(scores, share)
    return Threshold(max(value, float(np.finfo(np.float32).tiny)), rule, note, share)


def _quantile(scores: NDArray[np.floating], share: float) -> tuple[float, str]:
    if scores.min() == scores.max():
        return _all_equal(scores)
    note = f"the {1 - share:.6g} quantile of {scores.size:,} normal scores"
    if share * scores.size < 1:
        note += " (their maximum: too few to show so small a share)"
    return float(np.quantile(scores, 1 - share)), note


def _tail(scores: NDArray[np.floating], share: float) -> tuple[float, str]:
    """Read the quantile off a generalised Pareto tail fitted by probability-weighted moments.

    The moments (Hosking and Wallis 1987) have a closed form, so ties, heavy tails and small
    samples cannot make a search diverge. The shape is kept between -0.5 and 0.5, where the moments
    exist.
    """
    if share >= _TAIL_SHARE or share * scores.size >= _COUNTABLE:
        return _quantile(scores, share)
    if scores.min() == scores.max():
        return _all_equal(scores)
    start = float(np.quantile(scores, 1 - _TAIL_SHARE))
    excess = np.sort(scores[scores > start].astype(np.float64) - start)
    n = excess.size
    if n < _FEWEST_FOR_SCALE:
        top = float(scores.max())
        return 1.1 * top if top > 0 else 0.9 * top + 1e-12, (
            f"only {n} scores in the upper tail; the threshold is a tenth above the highest"
        )
    mean = float(excess.mean())
    shape = 0.0
    scale = mean
    if n >= _FEWEST_FOR_SHAPE:
        plotting = (np.arange(1, n + 1) - 0.35) / n
        weighted = float(((1 - plotting) * excess).mean())
        shape = float(np.clip(2 - mean / (mean - 2 * weighted), -0.5, 0.5))
        scale = mean * (1 - shape)
    ratio = share * scores.size / n
    beyond = -math.log(ratio) if abs(shape) < 1e-9 else (ratio**-shape - 1) / shape
    kind = "generalised Pareto" if n >= _FEWEST_FOR_SHAPE else "exponential (few scores)"
    note = f"{kind} tail of {scores.size:,} normal scores, share {share:.3g} above"
    return start + scale * max(beyond, 0.0), note


def _all_equal(scores: NDArray[np.floating]) -> tuple[float, str]:
    value = float(scores[0])
    return value + 0.1 * abs(
        value
    ), "all normal scores are equal; the threshold is a tenth above them"
