"""One story of an incident, made once and told everywhere.

Reports, messages, the command line, JSON and the service show what :func:`tell` finds: who
deviates, where it most likely began, who left normal first, and how it spread.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from alora_ts.diagnosis.explanation import Explanation, Judge
from alora_ts.diagnosis.incident import Culprit, Origin
from alora_ts.diagnosis.onset import Arrival, arrivals
from alora_ts.diagnosis.sample import Rows

__all__ = ["Story", "tell"]

_LISTED_AT_MOST = 10

_DIGITS = 5  # of one scaled unit: what rounding in between leaves exact


@dataclass(frozen=True)
class Story:
    """See the attributes of the same names of :class:`~alora_ts.diagnosis.incident.Incident`."""

    culprits: tuple[Culprit, ...]
    origin: Origin
    spread: tuple[Arrival, ...]
    aside: tuple[str, ...]


def tell(judge: Judge, variables: Sequence[str], rows: Rows, before: Rows) -> Story:
    """Explain an incident.

    Parameters
    ----------
    judge : Judge
    variables : sequence of str
    rows : Rows
        Alarming rows, at least one.
    before : Rows
        The rows before the first of them; may be none.

    Returns
    -------
    Story
    """
    whole = before.followed_by(rows)
    told = judge.telling(whole.values, len(before))
    rows = whole.pick(told)
    found = judge.explain(rows.values, _surprise(judge, whole, told))
    course = judge.deviation(whole.values, found.aside)
    reached = arrivals(course, whole.times, [(at, variables[at]) for at in found.culprits.tolist()])
    first = _first_alone(reached) if judge.usual.relations else None
    if first is not None and len(found.culprits) > 1:
        found = found.led_by(variables.index(first))
    origin = int(found.culprits[0])
    listed = found.culprits[:_LISTED_AT_MOST].tolist()
    names = {variables[at] for at in listed}
    return Story(
        culprits=tuple(_culprit(judge, found, rows, at, variables[at]) for at in listed),
        origin=Origin(variables[origin], found.certainty),
        spread=tuple(one for one in reached if one.variable in names),
        aside=tuple(variables[at] for at in np.flatnonzero(found.aside).tolist()),
    )


def _first_alone(reached: Sequence[Arrival]) -> str | None:
    """The culprit that was surely away before any other one was."""
    alone = reached and all(one.time != reached[0].time for one in reached[1:])
    return reached[0].variable if alone else None


def _surprise(judge: Judge, rows: Rows, told: NDArray[np.intp]) -> NDArray[np.floating] | None:
    """Surprises of some rows and of those before, so that each of them ends a window.

    An alarm comes after the fault, and the first rows of a fault say most.
    """
    if judge.mechanisms is None:
        return None
    reach = judge.window - judge.mechanisms.lags - 1
    newest = np.arange(max(told[0] - reach, 0), told[0])
    rows = rows.pick(np.concatenate([newest, told]))
    known = ~np.isnan(rows.surprise).any(1)
    if not known.any():
        return None
    # Rules are given what the network sees, within its limit; what lies beyond surprises as well.
    outside = judge.beyond(rows.values[known]) / judge.mechanisms.size
    whole: NDArray[np.floating] = rows.surprise[known] + outside
    return whole


def _culprit(judge: Judge, found: Explanation, rows: Rows, at: int, name: str) -> Culprit:
    deviation = found.deviation[:, at]
    # The side it was on for most of the incident; a rebound at its end must not decide.
    side = 1.0 if deviation.sum() >= 0 else -1.0
    worst = int(np.argmax(side * deviation))
    scale = float(judge.standardiser.scale[at])
    # What was taken off is there again for people.
    course = 0.0 if rows.course is None else float(rows.course[worst, at])
    return Culprit(
        variable=name,
        share=float(found.share[at]),
        direction="above" if side > 0 else "below",
        value=_as_written(float(rows.values[worst, at]) + course, scale),
        expected=_as_written(float(found.expected[worst, at]) + course, scale),
    )


def _as_written(value: float, scale: float) -> float:
    """A value without the dust that scaling it to and fro leaves: 0 and not -7.3e-09.

    Examples
    --------
    >>> _as_written(-7.3e-09, 0.2), _as_written(12.299999998, 3.0)
    (0.0, 12.3)
    """
    decimals = _DIGITS - int(np.floor(np.log10(scale)))
    # Zero added: no minus sign before nothing.
    return round(value, min(decimals, 300)) + 0.0 if decimals > 0 else float(round(value))
