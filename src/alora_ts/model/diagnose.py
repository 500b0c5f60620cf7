"""From a table to a Diagnosis."""

from __future__ import annotations

from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from alora_ts.data import Table, plan_windows
from alora_ts.diagnosis import Diagnosis
from alora_ts.diagnosis.assemble import build_incidents
from alora_ts.fast.engine import Engine
from alora_ts.model.card import model_card
from alora_ts.model.fitted import FittedModel
from alora_ts.model.localize import localize_rows, origin_rows
from alora_ts.progress import Report
from alora_ts.scoring import gather_evidence
from alora_ts.scoring.evidence import Evidence
from alora_ts.scoring.rules import causal_mean, memory_segments

__all__ = ["Gather", "diagnose"]


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


def diagnose(
    model: FittedModel,
    table: Table,
    *,
    segments: NDArray[np.integer] | None,
    report: Report,
    gather: Gather = gather_evidence,
) -> Diagnosis:
    """Score every row, find the incidents and name their culprits."""
    prepared, values, borders = model.prepare(table, segments)
    calibration, options = model.calibration, model.options
    evidence = gather(
        model.engine,
        values,
        borders,
        window=model.window,
        rank_level=calibration.rank_level,
        report=report,
    )
    residual = values - evidence.expected
    error = calibration.rule.error(residual)
    memory = memory_segments(borders, evidence.warm_up)
    raw = calibration.rule.raw(error.sum(1), evidence.rank, memory)
    remembered = causal_mean(calibration.rule.blame(residual), options.localization_memory, memory)
    plan = plan_windows(len(values), model.window, borders)

    def windows_of(which: NDArray[np.intp]) -> NDArray[np.float32]:
        gathered: NDArray[np.float32] = plan.gather(values, plan.of_row[which])
        return gathered

    localization = localize_rows(model, remembered, windows_of)
    standardiser = model.preparation.standardiser
    rows = prepared.rows
    observed = standardiser.restore(prepared.values)[rows]
    expected = standardiser.restore(evidence.expected)[rows]
    drift = calibration.level().follow(raw, evidence.warm_up)
    score = (raw / (calibration.threshold.value * drift))[rows]
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
        origin_scores=None
        if model.mechanisms is None
        else lambda alarming: origin_rows(model, rows[alarming], windows_of),
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
