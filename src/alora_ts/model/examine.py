"""What a model says of prepared rows, and all that incidents are built from."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from alora_ts.data import Prepared, plan_windows
from alora_ts.diagnosis.builder import Block, Details
from alora_ts.diagnosis.witnesses import Heard
from alora_ts.fast.engine import Engine
from alora_ts.model.fitted import FittedModel
from alora_ts.model.localize import (
    AFFECTED_FORM,
    localize_rows,
    row_blame,
    row_surprises,
    surprises_within,
)
from alora_ts.model.surprise import surprise_of, surprises
from alora_ts.progress import Report
from alora_ts.scoring import gather_evidence
from alora_ts.scoring.drift import Level
from alora_ts.scoring.evidence import Evidence
from alora_ts.scoring.following import Following
from alora_ts.scoring.rules import causal_mean, memory_segments

__all__ = ["Examined", "Gather", "examine"]


class Gather(Protocol):
    """Runs the network over all rows, as :func:`~alora_ts.scoring.gather_evidence` does."""

    def __call__(
        self,
        engine: Engine,
        values: NDArray[np.float32],
        segments: NDArray[np.integer] | None,
        *,
        window: int,
        rank_level: float,
        report: Report,
    ) -> Evidence:
        """See :func:`~alora_ts.scoring.gather_evidence`."""
        ...


@dataclass(frozen=True)
class Examined:
    """Prepared rows and what a model says of them.

    Attributes
    ----------
    model : FittedModel
    prepared : Prepared
        M rows; ``prepared.rows`` are those of them that answer the caller's.
    values : ndarray of shape (M, d)
        What the network saw.
    segments : ndarray of int, shape (M,)
    evidence : Evidence
        Of all M rows.
    error : ndarray of shape (M, d)
    raw, drift : ndarray of shape (M,)
        Raw score, and by how much the threshold stood above its normal height.
    shift : ndarray of shape (M,)
        What was taken off each score as usual, in times of the alarm level.
    novelty : ndarray of shape (M,)
        How new each row is; zeros where the score does not ask.
    moments : ndarray of int, shape (M,), or None
        When in a cycle each row is; None without one.
    """

    model: FittedModel
    prepared: Prepared
    values: NDArray[np.float32]
    segments: NDArray[np.int64]
    evidence: Evidence
    error: NDArray[np.float64]
    raw: NDArray[np.float64]
    drift: NDArray[np.float64]
    shift: NDArray[np.float64]
    novelty: NDArray[np.float64]
    moments: NDArray[np.intp] | None

    def block(self) -> Block:
        """The caller's rows, for an incident builder."""
        rows = self.prepared.rows
        stamps = self.prepared.timestamps
        threshold = self.model.calibration.threshold.value
        return Block(
            score=(self.raw / (threshold * self.drift))[rows],
            raw=(self.raw / self.drift)[rows],
            warm_up=self.evidence.warm_up[rows],
            details=lambda asked: self._details(rows[asked]),
            times=None if stamps is None else stamps[rows],
            segments=self.segments[rows],
            shift=self.shift[rows],
            heard=self._heard(rows),
        )

    def _heard(self, rows: NDArray[np.intp]) -> Heard | None:
        known = self.model.witnesses
        if known is None:
            return None
        return known.hear(
            *(part[rows] for part in (self.raw, self.drift, self.shift, self.novelty))
        )

    def localization(self, rows: NDArray[np.intp]) -> NDArray[np.float64]:
        """Localization score of each variable at some prepared rows, (n, d)."""
        found: NDArray[np.float64] = localize_rows(
            self.model, self._remembered[rows], lambda some: self._windows(rows[some])
        )
        return found

    def _details(self, rows: NDArray[np.intp]) -> Details:
        surprise = row_surprises(self.model, rows, self._windows)
        surprise[self.evidence.warm_up[rows]] = np.nan  # their windows do not end at them
        return Details(
            values=self._own_units(rows),
            surprise=surprise,
            judge=self.model.judge,
            before=lambda at: self._before(int(rows[at])),
            course=self._course(rows),
        )

    def _course(self, rows: NDArray[np.intp]) -> NDArray[np.floating] | None:
        return self.model.course(None if self.moments is None else self.moments[rows])

    def _own_units(self, rows: NDArray[np.intp]) -> NDArray[np.float64]:
        return self.model.preparation.standardiser.restore(self.prepared.values[rows])

    def _before(
        self, row: int
    ) -> tuple[
        NDArray[np.float64],
        NDArray[np.float64],
        NDArray[Any] | None,
        NDArray[np.floating] | None,
    ]:
        """The rows of a window before its last."""
        earlier = np.arange(max(row - self.model.window + 1, 0), row)
        earlier = earlier[self.segments[earlier] == self.segments[row]]
        surprise = np.full((len(earlier), self.values.shape[1]), np.nan)
        if not self.evidence.warm_up[row]:
            surprise = surprises_within(self.model, self._windows(np.array([row]))[0])[:-1]
        stamps = self.prepared.timestamps
        return (
            self._own_units(earlier),
            surprise,
            None if stamps is None else stamps[earlier],
            self._course(earlier),
        )

    @cached_property
    def _remembered(self) -> NDArray[np.float64]:
        """What each variable gives a localization, averaged over the rows the model remembers."""
        values, warm_up = self.values, self.evidence.warm_up
        asked = self.model.options.localization == AFFECTED_FORM
        surprise = surprises(self.model, values, warm_up) if asked else None
        blame = row_blame(self.model, values, values - self.evidence.expected, surprise)
        memory = memory_segments(self.segments, warm_up)
        return causal_mean(blame, self.model.options.localization_memory, memory)

    @cached_property
    def _plan(self) -> Any:
        return plan_windows(len(self.values), self.model.window, self.segments)

    def _windows(self, rows: NDArray[np.intp]) -> NDArray[np.float32]:
        """The windows (n, T, d) that score some prepared rows."""
        gathered: NDArray[np.float32] = self._plan.gather(self.values, self._plan.of_row[rows])
        return gathered


def examine(
    model: FittedModel,
    prepared: Prepared,
    values: NDArray[np.float32],
    segments: NDArray[np.int64],
    *,
    moments: NDArray[np.intp] | None = None,
    report: Report,
    gather: Gather = gather_evidence,
    level: Level | Following | None = None,
    answered: int = 0,
) -> Examined:
    """Run the network over prepared rows and calibrate what it says.

    Parameters
    ----------
    model : FittedModel
    prepared : Prepared
    values : ndarray of shape (M, d)
        The prepared values within the input's limit.
    segments : ndarray of int, shape (M,)
    moments : ndarray of int, shape (M,), or None
        When in a cycle each row is; None without one.
    report : callable
        Receives the progress.
    gather : callable
        Runs the network.
    level : Level or Following, optional
        Where rows come in pieces: remembers the pieces before.
    answered : int
        The first rows, which it has already seen.
    """
    calibration = model.calibration
    evidence = gather(
        model.engine,
        values,
        segments,
        window=model.window,
        rank_level=calibration.rank_level,
        report=report,
    )
    error = calibration.rule.error(values - evidence.expected)
    memory = memory_segments(segments, evidence.warm_up)
    surprise = surprise_of(model, values, evidence.warm_up)
    raw = calibration.rule.raw(error.sum(1), evidence.rank, memory, surprise)
    if model.bounds is not None:
        raw += calibration.threshold.value * model.bounds.of(prepared.values, segments)
    followed = calibration.level() if level is None else level
    drift = np.ones(len(raw))
    novelty = np.zeros(len(raw)) if model.novelty is None else model.novelty.of(values, segments)
    drift[answered:] = followed.follow(
        raw[answered:], evidence.warm_up[answered:], novelty[answered:]
    )
    shift = np.zeros(len(raw))
    shift[answered:] = followed.shifts
    return Examined(
        model, prepared, values, segments, evidence, error, raw, drift, shift, novelty, moments
    )
