"""Everything a score takes from normal data: h1, residual scales, h2."""

from __future__ import annotations

from collections.abc import Callable, Mapping
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
from alora_ts.scoring.following import STORM_BUDGETS, Following
from alora_ts.scoring.level import AlarmOptions, choose_level
from alora_ts.scoring.novelty import weigh
from alora_ts.scoring.observations import STILL, observations
from alora_ts.scoring.rules import ScoreRule, Scoring
from alora_ts.scoring.spectrum import RankRule, choose_rank_level, singular_values
from alora_ts.scoring.threshold import Threshold

__all__ = ["Calibration", "CalibrationOptions", "calibrate", "switch_weights"]

_SPREAD_ROWS = 6000
"""Rows looked at of those training used, spread over all of them."""

_LONGEST_MEMORY = 100_000

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
    gap : int
        Alarms with at most so many quiet rows between them are one incident.
    novelty : tuple of float or None
        Quantiles of the novelty of those rows; None where the score does not ask for it.
    bounds : bool
        Whether a signal far beyond all of training alarms by itself
        (:mod:`alora_ts.scoring.bounds`).
    """

    rank_level: float
    rule: ScoreRule
    threshold: Threshold
    rows: int
    held_back_rows: int
    normal: tuple[float, ...] = (0.0,)
    drift_memory: int = 0
    gap: int = 10
    novelty: tuple[float, ...] | None = None
    bounds: bool = False

    def level(self) -> Level | Following:
        """A fresh follower of the scores' level."""
        if self.threshold.each is None:
            return Level(self.normal, memory=self.drift_memory)
        return Following(
            self.normal,
            memory=self.drift_memory,
            level=self.threshold.value,
            each=self.threshold.each,
            gap=self.gap,
            novelty=self.novelty,
        )

    @property
    def memory(self) -> int:
        """Rows gone by that :meth:`level` goes by, 100,000 at most."""
        each = self.threshold.each
        if each is None:
            return self.drift_memory
        return min(round(self.drift_memory + STORM_BUDGETS * each) + self.gap, _LONGEST_MEMORY)

    def to_dict(self) -> dict[str, Any]:
        """In a form JSON can hold."""
        rule = {
            name: value.tolist() if isinstance(value, np.ndarray) else value
            for name, value in asdict(self.rule).items()
        }
        return {**asdict(self), "rule": rule}

    @classmethod
    def from_dict(cls, saved: Mapping[str, Any]) -> Calibration:
        """Back from :meth:`to_dict`."""
        scale = np.array(saved["rule"]["scale"], dtype=np.float64)
        # Models saved before switches were weighed count all variables alike.
        weight = np.array(saved["rule"].get("weight", np.ones_like(scale)), dtype=np.float64)
        rule = {**saved["rule"], "scale": scale, "weight": weight}
        for name in ("surprise_scale", "observed", "surprise_observed"):
            if rule.get(name) is not None:
                rule[name] = np.array(rule[name], dtype=np.float64)
        return cls(
            rank_level=float(saved["rank_level"]),
            rule=ScoreRule(**rule),
            threshold=Threshold.from_dict(saved["threshold"]),
            rows=saved["rows"],
            held_back_rows=saved["held_back_rows"],
            # Models saved before the level was followed have a fixed threshold.
            normal=tuple(saved.get("normal", (0.0,))),
            drift_memory=saved.get("drift_memory", 0),
            gap=saved.get("gap", 10),
            novelty=None if saved.get("novelty") is None else tuple(saved["novelty"]),
            bounds=bool(saved.get("bounds", False)),
        )


def calibrate(
    engine: Engine,
    values: NDArray[np.float32],
    segments: NDArray[np.integer] | None,
    *,
    held_back: NDArray[np.bool_],
    window: int,
    scoring: Scoring,
    options: CalibrationOptions,
    alarms: AlarmOptions,
    gap: int,
    rows_per_day: float | None,
    report: Report,
    surprise: Callable[[NDArray[np.intp]], NDArray[np.float64]] | None = None,
    novelty: NDArray[np.float64] | None = None,
) -> Calibration:
    """Measure normal behaviour on training rows from everywhere and on held-back rows.

    Parameters
    ----------
    engine : Engine
    values : ndarray of shape (N, d)
        Prepared training rows.
    segments : ndarray of int, shape (N,), or None
    held_back : ndarray of bool, shape (N,)
        The rows that training did not use.
    window : int
        T.
    scoring : {"joint", "refined", "paper", "error"}
        See :class:`~alora_ts.scoring.ScoreRule`.
    options : CalibrationOptions
    alarms : AlarmOptions
    gap : int
        Alarms with at most so many quiet rows between them are one incident.
    rows_per_day : float or None
        For budgets in days.
    report : callable
        Receives the progress.
    surprise : callable or None
        For a joint score: how much each variable surprises at some rows, (n, d).
    novelty : ndarray of shape (N,) or None
        For a joint score: how new each row is to the others.

    Returns
    -------
    Calibration

    Notes
    -----
    Scales and h1 use both kinds of rows, because one stretch alone may be unusually quiet,
    unusually wild, or of one kind only. The alarm level rests on held-back rows alone: on rows
    the network was trained on, high scores are rarer (measured in docs/quality.md).
    """
    whole = plan_windows(len(values), window, segments)
    chosen = _choose_windows(whole.ends, held_back)
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
    surprising = None if surprise is None else surprise(plan.ends)
    new = held_back[plan.ends]
    if not new.any():
        new[:] = True
    ends = plan.ends[new]
    # Rows that follow one another within a segment; where they do not, a block of them ends.
    apart = np.diff(ends, prepend=ends[0]) > 1
    if segments is not None:
        apart |= np.diff(segments[ends], prepend=segments[ends[0]]) != 0
    blocks = np.cumsum(apart, dtype=np.int64)
    moved = np.ptp(values, axis=0) > STILL

    def observed(deviation: NDArray[np.float64]) -> NDArray[np.float64]:
        found = observations(deviation[new], blocks) * (len(new) / new.sum())
        return np.where(moved, np.maximum(found, 1.0), 1.0)

    rule = ScoreRule(
        scoring=scoring,
        scale=_normal_squares(residual),
        cap=options.cap,
        smoothing=options.smoothing,
        weight=switch_weights(values),
        surprise_scale=None if surprising is None else _normal_squares(surprising),
        observed=None if surprising is None else observed(residual),
        surprise_observed=None if surprising is None else observed(surprising),
    )
    raw = rule.raw(
        rule.error(residual[new]).sum(1),
        rank[new],
        blocks,
        None if surprising is None else rule.surprise(surprising[new]),
    )
    new_to = None if novelty is None else novelty[ends]
    if new_to is not None:
        raw = raw * np.array([weigh(one) for one in new_to.tolist()])
    return Calibration(
        rank_level,
        rule,
        choose_level(raw, blocks, alarms=alarms, gap=gap, rows_per_day=rows_per_day),
        rows=len(plan.ends),
        held_back_rows=int(new.sum()),
        normal=summarise(raw),
        drift_memory=alarms.drift_memory,
        gap=gap,
        novelty=None if new_to is None else summarise(new_to),
        bounds=new_to is not None,
    )


def _choose_windows(ends: NDArray[np.intp], held_back: NDArray[np.bool_]) -> NDArray[np.intp]:
    """Which windows to look at: some that end in training rows, all that end in held-back ones."""
    learned = np.flatnonzero(~held_back[ends])
    few = min(len(learned), _SPREAD_ROWS)
    spread = learned[np.linspace(0, len(learned) - 1, few).round().astype(np.intp)]
    return np.sort(np.concatenate([spread, np.flatnonzero(held_back[ends])]))


def _normal_squares(residual: NDArray[np.float64]) -> NDArray[np.float64]:
    """Mean squared residual of each variable on normal rows: what counts as 1.

    There is no floor for quiet variables. The rows come from all of training, so a variable that
    hardly moved in them hardly moves; only one that the network follows to the last bit needs a
    bound.
    """
    squares: NDArray[np.float64] = np.square(residual).mean(0)
    return np.maximum(squares, _LEAST_SQUARE)


def switch_weights(values: NDArray[np.float32]) -> NDArray[np.float64]:
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
