"""From scores to incidents with their culprits."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from alora_ts.diagnosis.incident import Culprit, Incident, Origin, find_incidents, severity_of
from alora_ts.diagnosis.shares import shares

__all__ = ["build_incidents"]

_LISTED_SHARE = 0.9
_LISTED_AT_MOST = 10


def build_incidents(
    *,
    score: NDArray[np.float64],
    localization: NDArray[np.floating],
    values: NDArray[np.floating],
    expected: NDArray[np.floating],
    scale: NDArray[np.float64],
    variables: Sequence[str],
    timestamps: NDArray[Any] | None,
    segments: NDArray[np.integer] | None,
    merge: int,
    minimum: int,
    origin_scores: Callable[[NDArray[np.intp]], NDArray[np.float64]] | None = None,
) -> tuple[Incident, ...]:
    """Find the incidents and rank their culprits.

    Parameters
    ----------
    score : ndarray of shape (N,)
        Calibrated.
    localization, values, expected : ndarray of shape (N, d)
        The last two in the variables' own units.
    scale : ndarray of shape (d,)
        One scaled unit of each variable, to compare deviations.
    variables : sequence of str
    timestamps, segments : ndarray of shape (N,) or None
    merge, minimum : int
        See :func:`~alora_ts.diagnosis.incident.find_incidents`.
    origin_scores : callable or None
        Gives the origin scores (n, d) of some rows; None names no origins.

    Returns
    -------
    tuple of Incident

    Notes
    -----
    A variable's share in an incident is its part of the localization scores summed over the
    alarming rows of the incident; rows in quiet breaks do not count. The origin is found in the
    same way from the origin scores.
    """
    incidents = []
    for start, end in find_incidents(score, merge=merge, minimum=minimum, segments=segments):
        rows = np.flatnonzero(score[start:end] > 1) + start
        part = _weigh(localization[rows], score[rows])
        peak = int(start + np.argmax(score[start:end]))
        deviation = (values[rows] - expected[rows]) / scale
        order = np.argsort(-part, kind="stable")
        enough = int(np.searchsorted(np.cumsum(part[order]), _LISTED_SHARE)) + 1
        culprits = []
        for at in order[: min(enough, _LISTED_AT_MOST)]:
            # The side it was on for most of the incident; a rebound at its end must not decide.
            side = 1.0 if deviation[:, at].sum() >= 0 else -1.0
            worst = int(np.argmax(side * deviation[:, at]))
            culprits.append(
                Culprit(
                    variable=variables[at],
                    share=float(part[at]),
                    direction="above" if side > 0 else "below",
                    value=float(values[rows[worst], at]),
                    expected=float(expected[rows[worst], at]),
                )
            )
        highest = float(score[peak])
        incidents.append(
            Incident(
                start=start,
                end=end,
                start_time=start if timestamps is None else timestamps[start],
                end_time=end - 1 if timestamps is None else timestamps[end - 1],
                peak=peak,
                score=highest,
                severity=severity_of(highest),
                culprits=tuple(culprits),
                origin=None
                if origin_scores is None
                else _origin(origin_scores(rows), score[rows], variables),
            )
        )
    return tuple(incidents)


def _weigh(scores: NDArray[np.floating], weight: NDArray[np.float64]) -> NDArray[np.float64]:
    """Each variable's share over some rows, (d,); a row counts by how much it alarms."""
    return shares(shares(scores).T @ weight)


def _origin(
    scores: NDArray[np.float64], weight: NDArray[np.float64], variables: Sequence[str]
) -> Origin:
    part = _weigh(scores, weight)
    first = int(np.argmax(part))
    return Origin(variables[first], float(part[first]))
