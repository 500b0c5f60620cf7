"""Scores alone, for tables of any length: what is not needed for them is never held."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from alora_ts.data import Table
from alora_ts.model.fitted import FittedModel
from alora_ts.progress import Report
from alora_ts.scoring import walk
from alora_ts.scoring.drift import Level
from alora_ts.scoring.rules import memory_segments

__all__ = ["score", "score_prepared"]


def score(
    model: FittedModel,
    table: Table,
    *,
    segments: NDArray[np.integer] | None,
    report: Report,
) -> NDArray[np.float64]:
    """Calibrated score of each row, (N,); more than 1 alarms."""
    prepared, values, borders = model.prepare(table, segments, keep=False)
    calibrated = score_prepared(model, values, borders, report=report)
    answered: NDArray[np.float64] = calibrated[prepared.rows]
    return answered


def score_prepared(
    model: FittedModel,
    values: NDArray[np.float32],
    segments: NDArray[np.integer],
    *,
    report: Report,
    level: Level | None = None,
    answered: int = 0,
) -> NDArray[np.float64]:
    """Calibrated score of each prepared row, (M,).

    Where rows come in pieces, ``level`` remembers the pieces before, and the first ``answered``
    rows are ones it has already seen.
    """
    calibration = model.calibration
    total = np.empty(len(values))
    rank = np.empty(len(values), dtype=np.int16)
    warm_up = np.empty(len(values), dtype=bool)
    for part in walk(
        model.engine,
        values,
        segments,
        window=model.window,
        rank_level=calibration.rank_level,
        report=report,
    ):
        residual = values[part.rows] - part.expected
        total[part.rows] = calibration.rule.error(residual).sum(1)
        rank[part.rows], warm_up[part.rows] = part.rank, part.warm_up
    raw = calibration.rule.raw(total, rank, memory_segments(segments, warm_up))
    followed = calibration.level() if level is None else level
    calibrated: NDArray[np.float64] = raw / calibration.threshold.value
    calibrated[answered:] /= followed.follow(raw[answered:], warm_up[answered:])
    return calibrated
