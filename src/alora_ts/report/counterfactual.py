"""What every signal would have been over the whole period, judging by those that behaved.

An incident says whom to set aside. What the network expected is bent by exactly those, so a page
that showed it would blame signals that behave. Rows are judged as at the incident nearest to them.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from alora_ts.diagnosis.severity import by_severity

if TYPE_CHECKING:
    from alora_ts.diagnosis.diagnosis import Diagnosis
    from alora_ts.diagnosis.incident import Incident

__all__ = ["Counterfactual", "counterfactual", "nearest_incidents"]

_ROWS_AT_ONCE = 20_000
_INCIDENTS = 20  # each costs an inverse of all signals


@dataclass(frozen=True, eq=False)
class Counterfactual:
    """Arrays with a row for each row of a diagnosis.

    Attributes
    ----------
    expected : ndarray of float32, shape (N, d)
        In the signals' own units.
    deviation : ndarray of float32, shape (N, d)
        How far each signal is from that, in deviations; never negative.
    order : ndarray of int, shape (d,)
        The signals, those with the largest share of a strong incident first.
    """

    expected: NDArray[np.float32]
    deviation: NDArray[np.float32]
    order: NDArray[np.intp]


def counterfactual(diagnosis: Diagnosis) -> Counterfactual:
    """Judge all rows of a diagnosis by the signals that behaved.

    The worst incidents, at most twenty, say whom to set aside. A diagnosis without a judge has only
    what the network expected.
    """
    incidents = by_severity(diagnosis.incidents)[:_INCIDENTS]
    judge, shape = diagnosis.judge, diagnosis.values.shape
    if judge is None:
        expected = diagnosis.expected
        deviation = np.sqrt(diagnosis.error, dtype=np.float32)
    else:
        expected, deviation = np.empty(shape, np.float32), np.empty(shape, np.float32)
        for start, end, incident in nearest_incidents(len(diagnosis), incidents):
            aside = np.isin(diagnosis.variables, () if incident is None else incident.aside)
            for first in range(start, end, _ROWS_AT_ONCE):
                rows = slice(first, min(first + _ROWS_AT_ONCE, end))
                values, course = diagnosis.acyclic(rows)
                expected[rows] = judge.expected(values, aside) + course
                deviation[rows] = np.abs(judge.deviation(values, aside))
    return Counterfactual(expected, deviation, _order(diagnosis.variables, incidents, deviation))


def nearest_incidents(
    rows: int, incidents: Sequence[Incident]
) -> Iterator[tuple[int, int, Incident | None]]:
    """Which rows, as half-open ranges, are nearest to which incident.

    Examples
    --------
    >>> list(nearest_incidents(30, ()))
    [(0, 30, None)]
    """
    if not incidents:
        yield 0, rows, None
        return
    in_time = sorted(incidents, key=lambda one: one.start)
    start = 0
    for at, incident in enumerate(in_time):
        last = at + 1 == len(in_time)
        end = rows if last else (incident.end + in_time[at + 1].start) // 2
        yield start, end, incident
        start = end


def _order(
    variables: Sequence[str], incidents: Sequence[Incident], deviation: NDArray[np.float32]
) -> NDArray[np.intp]:
    weight = dict.fromkeys(variables, 0.0)
    for incident in incidents:
        for one in incident.culprits:
            weight[one.variable] = max(weight[one.variable], one.share * incident.score)
    blamed = np.array([weight[name] for name in variables])
    return np.lexsort((-deviation.max(axis=0, initial=0.0), -blamed))
