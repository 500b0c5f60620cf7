"""From a table to a Diagnosis."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from alora_ts.data import Table
from alora_ts.diagnosis import Diagnosis, Incident
from alora_ts.diagnosis.builder import Block
from alora_ts.diagnosis.stretch import Alarming, Stretch
from alora_ts.errors import DataError
from alora_ts.model.card import model_card
from alora_ts.model.examine import Gather, examine
from alora_ts.model.fitted import FittedModel, join_segments
from alora_ts.model.health import check_diagnosis
from alora_ts.progress import Report
from alora_ts.scoring import gather_evidence

__all__ = ["diagnose", "diagnose_part", "explain_rows"]


def diagnose(
    model: FittedModel,
    table: Table,
    *,
    segments: NDArray[np.integer] | None,
    report: Report,
    gather: Gather = gather_evidence,
) -> Diagnosis:
    """Score every row, find the incidents and name their culprits."""
    found, block = diagnose_part(model, table, segments=segments, report=report, gather=gather)
    pushed = model.incident_builder().push(block)
    found = replace(found, alarm=pushed.alarm, incidents=pushed.incidents)
    return replace(found, health=check_diagnosis(model, found))


def diagnose_part(
    model: FittedModel,
    table: Table,
    *,
    segments: NDArray[np.integer] | None,
    report: Report,
    gather: Gather = gather_evidence,
) -> tuple[Diagnosis, Block]:
    """Score rows; leave alarms and incidents to a builder that may have seen rows before them.

    Returns
    -------
    Diagnosis
        Without an alarm or incident.
    Block
        The same rows, for the builder.
    """
    prepared, moments = model.apply(table, segments)
    borders = join_segments(prepared, segments)
    examined = examine(
        model,
        prepared,
        model.seen(prepared),
        borders,
        moments=moments,
        report=report,
        gather=gather,
    )
    block, evidence, rows = examined.block(), examined.evidence, prepared.rows
    standardiser = model.preparation.standardiser
    # What is said of a row does not depend on the other rows asked for: incidents ask again for
    # the few that alarm.
    localization = examined.localization(np.arange(len(borders)))
    course = None if moments is None else model.course(moments[rows])

    def shown(scaled: NDArray[np.float32]) -> NDArray[np.float32]:
        own = standardiser.restore(scaled)[rows]
        return (own if course is None else own + course).astype(np.float32)

    found = Diagnosis(
        variables=model.preparation.variables,
        timestamps=block.times,
        score=block.score,
        alarm=np.zeros(len(block), dtype=bool),
        raw=examined.raw[rows],
        rank=evidence.rank[rows],
        error=examined.error[rows].astype(np.float32),
        localization=localization[rows].astype(np.float32),
        values=shown(prepared.values),
        expected=shown(evidence.expected),
        course=None if course is None else course.astype(np.float32),
        warm_up=block.warm_up,
        incidents=(),
        contributions=model.contributions,
        gaps=prepared.gaps,
        preparation=prepared.report,
        model=model_card(model),
        table=table,
        judge=model.judge,
    )
    return found, block


def explain_rows(
    model: FittedModel,
    table: Table,
    start: int,
    end: int,
    *,
    segments: NDArray[np.integer] | None,
    report: Report,
) -> Incident:
    """Explain some rows as if they were an incident."""
    if not 0 <= start < end <= len(table):
        raise DataError(
            f"{table.source}: rows {start} to {end} are not a stretch of its {len(table):,} rows; "
            "give the first row and the one after the last"
        )
    prepared, moments = model.apply(table, segments)
    values, borders = model.seen(prepared), join_segments(prepared, segments)
    block = examine(model, prepared, values, borders, moments=moments, report=report).block()
    rows = np.arange(start, end)
    times = rows if block.times is None else block.times[rows]
    said = block.details(rows)
    stretch = Stretch(
        model.preparation.variables,
        Alarming(
            rows,
            times,
            block.score[rows],
            block.raw[rows],
            said,
            heard=None if block.heard is None else block.heard.part(rows),
        ),
    )
    stretch.ends_at(0.0)
    return stretch.incident()
