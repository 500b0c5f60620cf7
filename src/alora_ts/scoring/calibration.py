"""Everything a score takes from normal data: h1, residual scales, h2."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from alora_ts.data.windows import plan_windows
from alora_ts.errors import AloraError
from alora_ts.fast.engine import Engine
from alora_ts.params import Options
from alora_ts.progress import Report
from alora_ts.scoring.drift import Level, summarise
from alora_ts.scoring.rules import ScoreRule, Scoring
from alora_ts.scoring.spectrum import RankRule, choose_rank_level, singular_values
from alora_ts.scoring.threshold import Threshold, ThresholdRule, choose_threshold

__all__ = ["AlarmOptions", "Calibration", "CalibrationOptions", "calibrate", "choose_windows"]

_ROWS_EACH = 6000
"""Rows looked at of the training rows, spread over all of them, and of the held-back rows."""

_LEAST_SQUARE = 1e-8


@dataclass(frozen=True, kw_only=True, repr=False)
class CalibrationOptions(Options):
    """How residuals and rank are measured against normal rows.

    Attributes
    ----------
    cap : float
        Most that one variable adds to a refined score at one moment, in multiples of its normal
        squared error.
    smoothing : int
        Rows over which a refined score is averaged, looking back.
    rank_rule : {"quantile", "max-4th", "max-5th"}
        How h1 is chosen.
    rank_level : float or None
        h1 itself, such as a published one; None chooses it by ``rank_rule``.

    Examples
    --------
    >>> CalibrationOptions.paper()
    CalibrationOptions(rank_rule='max-4th')
    """

    cap: float = 1000.0
    smoothing: int = 2
    rank_rule: RankRule = "quantile"
    rank_level: float | None = None

    @classmethod
    def paper(cls) -> CalibrationOptions:
        """The paper's h1: above the largest fourth singular value of normal windows."""
        return cls(rank_rule="max-4th")


@dataclass(frozen=True, kw_only=True)
class AlarmOptions:
    """When a score alarms. See :class:`alora_ts.ALoRa` for each."""

    threshold: ThresholdRule
    alarm_share: float
    alarms_per_day: float
    drift_memory: int


@dataclass(frozen=True)
class Calibration:
    """What was learned from normal rows.

    Attributes
    ----------
    rank_level : float
        h1.
    rule : ScoreRule
        How residuals and rank become a raw score.
    threshold : Threshold
        h2.
    rows, held_back_rows : int
        How many rows all this rests on, and how many of them training did not use.
    normal : tuple of float
        Quantiles of the raw scores the threshold rests on.
    drift_memory : int
        Rows over which their level is followed; 0 keeps the threshold where it is.
    """

    rank_level: float
    rule: ScoreRule
    threshold: Threshold
    rows: int
    held_back_rows: int
    normal: tuple[float, ...] = (0.0,)
    drift_memory: int = 0

    def level(self) -> Level:
        """A fresh follower of the scores' level."""
        return Level(self.normal, memory=self.drift_memory)

    def to_dict(self) -> dict[str, Any]:
        """In a form JSON can hold."""
        arrays = {name: getattr(self.rule, name).tolist() for name in ("scale", "weight")}
        rule = {**asdict(self.rule), **arrays}
        return {**asdict(self), "rule": rule}

    @classmethod
    def from_dict(cls, saved: Mapping[str, Any]) -> Calibration:
        """Back from :meth:`to_dict`."""
        scale = np.array(saved["rule"]["scale"], dtype=np.float64)
        # Models saved before switches were weighed count all variables alike.
        weight = np.array(saved["rule"].get("weight", np.ones_like(scale)), dtype=np.float64)
        rule = {**saved["rule"], "scale": scale, "weight": weight}
        return cls(
            rank_level=float(saved["rank_level"]),
            rule=ScoreRule(**rule),
            threshold=Threshold(**saved["threshold"]),
            rows=saved["rows"],
            held_back_rows=saved["held_back_rows"],
            # Models saved before the level was followed have a fixed threshold.
            normal=tuple(saved.get("normal", (0.0,))),
            drift_memory=saved.get("drift_memory", 0),
        )


def calibrate(
    engine: Engine,
    values: NDArray[np.float32],
    segments: NDArray[np.integer] | None,
    *,
    held_back_from: int,
    window: int,
    scoring: Scoring,
    options: CalibrationOptions,
    alarms: AlarmOptions,
    rows_per_day: float | None,
    report: Report,
) -> Calibration:
    """Measure normal behaviour on training rows from everywhere and on held-back rows.

    Parameters
    ----------
    engine : Engine
    values : ndarray of shape (N, d)
        Prepared training rows, the held-back ones last.
    segments : ndarray of int, shape (N,), or None
    held_back_from : int
        First row that training did not use; N when there is none.
    window : int
        T.
    scoring : {"refined", "paper", "error"}
        See :class:`~alora_ts.scoring.ScoreRule`.
    options : CalibrationOptions
    alarms : AlarmOptions
    rows_per_day : float or None
        For the rule "alarms-per-day".
    report : callable
        Receives the progress.

    Returns
    -------
    Calibration

    Notes
    -----
    All of them use both kinds of rows, because one stretch alone may be unusually quiet, unusually
    wild, or of one kind only. On rows the network was trained on scores are lower than on new ones,
    but with as few of all windows as training draws, that matters less than the kind of stretch.
    """
    whole = plan_windows(len(values), window, segments)
    chosen = choose_windows(whole.ends, held_back_from)
    plan = replace(whole, ends=whole.ends[chosen], starts=whole.starts[chosen])
    residual = np.empty((len(plan.ends), values.shape[1]))
    sigma = np.empty((len(plan.ends), window), dtype=np.float32)
    for chunk in engine.chunks(values, plan, report, task="calibrating"):
        residual[chunk.windows] = values[plan.ends[chunk.windows]] - chunk.expected
        sigma[chunk.windows] = singular_values(chunk.attention)
    rank_level = options.rank_level
    if rank_level is None:
        rank_level = choose_rank_level(sigma, rule=options.rank_rule)
    elif not rank_level > 0:
        raise AloraError(f"rank_level={rank_level} must be a number above 0, or None")
    rank = (sigma > rank_level).sum(1)
    rule = ScoreRule(
        scoring=scoring,
        scale=_normal_squares(residual),
        cap=options.cap,
        smoothing=options.smoothing,
        weight=_switch_weights(values),
    )
    # The first window that ends among the held-back rows still begins before them, as in use.
    held_back = plan.ends >= held_back_from
    if not held_back.any():
        held_back[:] = True
    total = rule.error(residual).sum(1)
    ends = plan.ends[held_back]
    following = rule.raw(
        total[held_back], rank[held_back], None if segments is None else segments[ends]
    )
    # Windows spread over training are not neighbours, so each stands for itself.
    raw = np.concatenate([rule.moment(total[~held_back], rank[~held_back]), following])
    threshold = choose_threshold(
        raw,
        rule=alarms.threshold,
        alarm_share=alarms.alarm_share,
        alarms_per_day=alarms.alarms_per_day,
        rows_per_day=rows_per_day,
    )
    return Calibration(
        rank_level,
        rule,
        threshold,
        rows=len(plan.ends),
        held_back_rows=int(held_back.sum()),
        normal=summarise(raw),
        drift_memory=alarms.drift_memory,
    )


def choose_windows(ends: NDArray[np.intp], held_back_from: int) -> NDArray[np.intp]:
    """Which windows to look at: some that end in training rows, then the first held-back ones."""
    border = int(np.searchsorted(ends, held_back_from))
    count = min(border, _ROWS_EACH)
    spread = np.linspace(0, border - 1, count).round().astype(np.intp)
    return np.concatenate([spread, np.arange(border, min(len(ends), border + _ROWS_EACH))])


def _normal_squares(residual: NDArray[np.float64]) -> NDArray[np.float64]:
    """Mean squared residual of each variable on normal rows: what counts as 1.

    There is no floor for quiet variables. The rows come from all of training, so a variable that
    hardly moved in them hardly moves; only one that the network follows to the last bit needs a
    bound.
    """
    squares: NDArray[np.float64] = np.square(residual).mean(0)
    return np.maximum(squares, _LEAST_SQUARE)


def _switch_weights(values: NDArray[np.float32]) -> NDArray[np.float64]:
    """What each variable counts: 1, less for switches where they outnumber the measurements.

    A switch has at most two values in the training data: a command, a flag, an alarm that was
    never raised. How far it is from its expectation is not a size. A few of them among
    measurements are evidence like any other; where nearly all variables are switches, as in a
    spacecraft's telemetry with its commands, their combinations would drown what is measured.
    """
    switches = np.array([bool(np.isin(one, (one.min(), one.max())).all()) for one in values.T])
    count = int(switches.sum())
    balance = min(1.0, (len(switches) - count) / count) if count else 1.0
    # Nothing but switches: then they are what there is.
    weight = balance**2 if balance > 0 else 1.0
    return np.where(switches, weight, 1.0)
