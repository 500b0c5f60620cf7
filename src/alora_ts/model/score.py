"""Scores alone, for tables of any length: what is not needed for them is never held."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from alora_ts.data import Table
from alora_ts.data.windows import segment_starts
from alora_ts.diagnosis.alarms import Alarms
from alora_ts.model.fitted import FittedModel, join_segments, limit
from alora_ts.model.surprise import surprise_of
from alora_ts.progress import Report
from alora_ts.scoring import walk
from alora_ts.scoring.rules import memory_segments

__all__ = ["Judged", "judge"]


@dataclass(frozen=True)
class Judged:
    """Score and alarm of each row.

    Attributes
    ----------
    score : ndarray of shape (N,)
        Calibrated: in times of the alarm level.
    alarm : ndarray of bool, shape (N,)
        See :mod:`alora_ts.diagnosis.alarms`.
    """

    score: NDArray[np.float64]
    alarm: NDArray[np.bool_]


def judge(
    model: FittedModel,
    table: Table,
    *,
    segments: NDArray[np.integer] | None,
    report: Report,
) -> Judged:
    """Score every row and say which alarm."""
    prepared, _ = model.apply(table, segments)
    borders = join_segments(prepared, segments)
    beyond = None if model.bounds is None else model.bounds.of(prepared.values, borders)
    # In place, so that large tables are held once.
    values = limit(prepared.values, model.input_limit, keep=False)
    calibration = model.calibration
    total = np.empty(len(values))
    rank = np.empty(len(values), dtype=np.int16)
    warm_up = np.empty(len(values), dtype=bool)
    for part in walk(
        model.engine,
        values,
        borders,
        window=model.window,
        rank_level=calibration.rank_level,
        report=report,
    ):
        residual = values[part.rows] - part.expected
        total[part.rows] = calibration.rule.error(residual).sum(1)
        rank[part.rows], warm_up[part.rows] = part.rank, part.warm_up
    surprise = surprise_of(model, values, warm_up)
    raw = calibration.rule.raw(total, rank, memory_segments(borders, warm_up), surprise)
    if beyond is not None:
        raw += calibration.threshold.value * beyond
    novelty = None if model.novelty is None else model.novelty.of(values, borders)
    drift = calibration.level().follow(raw, warm_up, novelty)
    rows = prepared.rows
    score = (raw / (calibration.threshold.value * drift))[rows]
    begins = np.zeros(len(rows), dtype=bool)
    begins[segment_starts(len(rows), borders[rows])] = True
    return Judged(score, Alarms().take(score, warm_up[rows], begins))
