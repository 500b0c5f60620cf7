"""Every detection metric of one score, by name."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from alora_ts.metrics.auc import auc_pr, auc_roc
from alora_ts.metrics.curves import at_threshold, best_f1
from alora_ts.metrics.delay import detection_delay, false_alarms
from alora_ts.metrics.incidents import (
    GAP,
    WIDENING,
    IncidentJudgement,
    incident_curve,
    judge_incidents,
)
from alora_ts.metrics.results import BestF1, PrecisionRecall
from alora_ts.metrics.vus import range_auc, vus

__all__ = ["ALL", "BEST", "GIVEN", "Value", "is_of_incidents", "measured"]

BEST, GIVEN, ALL = "best threshold", "given threshold", "all thresholds"
F1_METRICS = ("affiliation", "range", "event", "point")
RATES = (1.0, 0.2)
"""False incidents per 1,000 normal rows at which the events found are told."""


@dataclass(frozen=True)
class Value:
    """One number, the precision and recall behind it, and whether more of it is better."""

    value: float | None
    precision: float | None = None
    recall: float | None = None
    more_is_better: bool = True


def measured(
    label: NDArray[np.bool_],
    score: NDArray[np.float64],
    *,
    best: float,
    alarm: NDArray[np.bool_] | None,
    window: int,
    seconds_per_row: float | None,
    i_know_it_misleads: bool = False,
    gap: int = GAP,
    widening: int = WIDENING,
    incidents_only: bool = False,
) -> dict[tuple[str, str], Value]:
    """All metrics, keyed by (how the threshold is chosen, name).

    Parameters
    ----------
    label : ndarray of bool, shape (n,)
        With both classes.
    score : ndarray of shape (n,)
        Finite.
    best : float
        The threshold for the alarms under ``BEST``, incidents aside: these have their own.
    alarm : ndarray of bool, shape (n,), or None
        Alarms raised without the labels; adds what is under ``GIVEN``.
    window, seconds_per_row, i_know_it_misleads, gap, widening, incidents_only
        As for :func:`~alora_ts.metrics.evaluate`.

    Returns
    -------
    dict

    Examples
    --------
    >>> label, score = np.array([False, True]), np.array([0.0, 1.0])
    >>> found = measured(label, score, best=0.5, alarm=None, window=0, seconds_per_row=None)
    >>> found["best threshold", "point F1"]
    Value(value=1.0, precision=1.0, recall=1.0, more_is_better=True)
    """
    found: dict[tuple[str, str], Value] = {}
    curve = incident_curve(label, score, gap=gap, widening=widening)
    alarms = {BEST: score > curve.best().threshold}
    if alarm is not None:
        alarms = {GIVEN: alarm, **alarms}
    for choice, rows in alarms.items():
        judged = judge_incidents(
            label, rows, gap=gap, widening=widening, seconds_per_row=seconds_per_row
        )
        found |= _incidents(choice, judged)
    for rate in RATES:
        name = f"events found at {rate:g} false per 1,000 rows"
        found[BEST, name] = Value(curve.found_at(rate))
    if incidents_only:
        return found
    # Among honest numbers a point-adjusted one would look like the best, so it must be asked for.
    f1_metrics = [*F1_METRICS, *(["point-adjusted"] if i_know_it_misleads else [])]
    if alarm is not None:
        for metric in f1_metrics:
            once = at_threshold(label, alarm, 0.5, metric, i_know_it_misleads=i_know_it_misleads)
            found[GIVEN, f"{metric} F1"] = _f1(once)
        found |= _timing(label, alarm, GIVEN, seconds_per_row)
    for metric in f1_metrics:
        reached = best_f1(label, score, metric, i_know_it_misleads=i_know_it_misleads)
        found[BEST, f"{metric} F1"] = _f1(reached)
    found |= _timing(label, score > best, BEST, seconds_per_row)
    volume = vus(label, score, window)
    widest = range_auc(label, score, window)
    for name, value in (
        ("AUC-ROC", auc_roc(label, score)),
        ("AUC-PR", auc_pr(label, score)),
        ("VUS-ROC", volume.roc),
        ("VUS-PR", volume.pr),
        ("range-AUC-ROC", widest.roc),
        ("range-AUC-PR", widest.pr),
    ):
        found[ALL, name] = Value(value)
    return found


def _incidents(choice: str, judged: IncidentJudgement) -> dict[tuple[str, str], Value]:
    seconds = judged.seconds_per_row
    waited, unit = judged.delay, "rows" if seconds is None else "s"
    if waited is not None and seconds is not None:
        waited *= seconds
    fewer = {
        "false incidents per 1,000 rows": judged.per_thousand,
        **({} if judged.per_day is None else {"false incidents per day": judged.per_day}),
        f"incident delay ({unit})": waited,
        "normal rows in incidents": judged.normal_share,
    }
    return {
        (choice, "incident F1"): Value(judged.f1, judged.precision, judged.recall),
        **{(choice, name): Value(value, more_is_better=False) for name, value in fewer.items()},
    }


def is_of_incidents(name: str) -> bool:
    """Whether a measure counts incidents rather than rows.

    Examples
    --------
    >>> is_of_incidents("incident F1"), is_of_incidents("events caught")
    (True, False)
    """
    return "incident" in name or name.startswith("events found")


def _f1(result: BestF1 | PrecisionRecall) -> Value:
    return Value(result.f1, result.precision, result.recall)


def _timing(
    label: NDArray[np.bool_], alarm: NDArray[np.bool_], choice: str, seconds_per_row: float | None
) -> dict[tuple[str, str], Value]:
    late = detection_delay(label, alarm, seconds_per_row=seconds_per_row)
    wrong = false_alarms(label, alarm, seconds_per_row=seconds_per_row)
    unit = "rows" if seconds_per_row is None else "s"
    rate = (
        ("false alarms", float(wrong.episodes))
        if wrong.per_day is None
        else ("false alarms per day", wrong.per_day)
    )
    return {
        (choice, "events caught"): Value(late.caught),
        (choice, f"mean delay ({unit})"): Value(late.mean, more_is_better=False),
        (choice, rate[0]): Value(rate[1], more_is_better=False),
        (choice, "normal rows alarmed"): Value(wrong.normal_share, more_is_better=False),
    }
