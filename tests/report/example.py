"""Diagnoses without a model: the simulated plant, its healthy twin as the expectation."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np

from alora_ts.data import PreparationReport, Table
from alora_ts.datasets.synthetic import plant
from alora_ts.diagnosis.builder import Block, IncidentBuilder
from alora_ts.diagnosis.diagnosis import Diagnosis
from tests.diagnosis.judges import plain_details, plain_judge


def diagnosis_of(
    values: np.ndarray,
    expected: np.ndarray,
    *,
    variables: tuple[str, ...] | None = None,
    timestamps: np.ndarray | None = None,
    zone: str | None = None,
    alarm_at: float = 9.0,
    merge: int = 10,
    **changes: Any,
) -> Diagnosis:
    """The score is the summed squared deviation (in units of 1), divided by ``alarm_at``."""
    values, expected = values.astype(np.float32), expected.astype(np.float32)
    n, d = values.shape
    names = variables or tuple(f"x{i}" for i in range(d))
    error = np.nan_to_num(values - expected) ** 2
    raw = error.sum(axis=1, dtype=np.float64)
    score = raw / alarm_at
    warm_up = np.zeros(n, dtype=np.bool_)
    warm_up[:3] = n > 10
    # Incidents are explained by the deviation: for this judge the healthy twin is at zero.
    off = np.nan_to_num(values - expected).astype(np.float64)
    judge = plain_judge(d, scale=np.full(d, 0.3))
    pushed = IncidentBuilder(names, merge=merge, minimum=1).push(
        Block(
            score,
            raw,
            warm_up,
            lambda rows: plain_details(off, rows, judge, times=timestamps),
            times=timestamps,
        )
    )
    made = Diagnosis(
        variables=names,
        timestamps=timestamps,
        score=score,
        alarm=pushed.alarm,
        raw=raw,
        rank=(1 + np.log2(1 + score)).astype(np.int16),
        error=error,
        localization=error,
        values=values,
        expected=expected,
        warm_up=warm_up,
        incidents=pushed.incidents,
        contributions=np.eye(d) + 0.1 * np.sin(np.arange(d * d)).reshape(d, d),
        gaps=(),
        preparation=PreparationReport(rows=n, prepared_rows=n, segments=1),
        model={"window": 20, "variables": list(names), "expected_alarms_per_day": 0.25},
        table=Table(values, names, timestamps, time_zone=zone),
    )
    return replace(made, **changes)


def plant_diagnosis() -> Diagnosis:
    """The demo plant as a perfect model would see it; six incidents."""
    data, twin = plant(), plant(faults=[])
    spread = data.train.std(axis=0)
    noise = 0.15 * np.random.default_rng(0).standard_normal(data.test.shape)
    found = diagnosis_of(
        data.test / spread,
        twin.test / spread + noise,
        variables=data.variables,
        timestamps=data.test_timestamps,
        alarm_at=1.6,
        merge=40,
    )
    return replace(found, values=data.test, expected=found.expected * spread.astype(np.float32))


def quiet_diagnosis(rows: int = 50, variables: int = 3) -> Diagnosis:
    """Nothing happens, and nobody looked at a clock."""
    values = np.random.default_rng(1).standard_normal((rows, variables))
    return diagnosis_of(values, values + 0.1)
