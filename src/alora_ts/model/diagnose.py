"""From a table to a Diagnosis."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from alora_ts.data import Table
from alora_ts.diagnosis import Diagnosis, localize
from alora_ts.diagnosis.assemble import build_incidents
from alora_ts.model.card import model_card
from alora_ts.model.fitted import FittedModel
from alora_ts.progress import Report
from alora_ts.scoring import gather_evidence

__all__ = ["comparable_contributions", "diagnose"]


def diagnose(
    model: FittedModel,
    table: Table,
    *,
    segments: NDArray[np.integer] | None,
    report: Report,
) -> Diagnosis:
    """Score every row, find the incidents and name their culprits."""
    prepared, values, borders = model.prepare(table, segments)
    calibration, options = model.calibration, model.options
    evidence = gather_evidence(
        model.engine,
        values,
        borders,
        window=model.window,
        rank_level=calibration.rank_level,
        report=report,
    )
    residual = values - evidence.expected
    error = calibration.rule.error(residual)
    raw = calibration.rule.raw(error.sum(1), evidence.rank, borders)
    localization = localize(
        calibration.rule.comparable(residual),
        comparable_contributions(model),
        form=options.localization,
        top=options.localization_top,
    )
    standardiser = model.preparation.standardiser
    rows = prepared.rows
    observed = standardiser.restore(prepared.values)[rows]
    expected = standardiser.restore(evidence.expected)[rows]
    score = raw[rows] / calibration.threshold.value
    timestamps = None if prepared.timestamps is None else prepared.timestamps[rows]
    incidents = build_incidents(
        score=score,
        localization=localization[rows],
        values=observed,
        expected=expected,
        scale=standardiser.scale,
        variables=model.preparation.variables,
        timestamps=timestamps,
        segments=borders[rows],
        merge=model.window // 2 if options.merge is None else options.merge,
        minimum=options.minimum,
    )
    return Diagnosis(
        variables=model.preparation.variables,
        timestamps=timestamps,
        score=score,
        raw=raw[rows],
        rank=evidence.rank[rows],
        error=error[rows].astype(np.float32),
        localization=localization[rows].astype(np.float32),
        values=observed.astype(np.float32),
        expected=expected.astype(np.float32),
        warm_up=evidence.warm_up[rows],
        incidents=incidents,
        contributions=model.contributions,
        gaps=prepared.gaps,
        preparation=prepared.report,
        model=model_card(model),
        table=table,
    )


def comparable_contributions(model: FittedModel) -> NDArray[np.float64]:
    """C between residuals as the score compares them.

    A deviation of one normal error in input i moves reconstruction j by C_ij · s_i / s_j normal
    errors, where s is the root of the normal squared error.
    """
    unit = model.calibration.rule.unit
    scaled: NDArray[np.float64] = model.contributions * unit[:, None] / unit[None, :]
    return scaled
