"""Incidents: stretches of alarm with a peak, a severity and the variables to look at."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Literal

from alora_ts.diagnosis.onset import Arrival
from alora_ts.diagnosis.returns import ReturnPeriod
from alora_ts.diagnosis.witnesses import Witness

__all__ = ["DIFFUSE", "STANDS_OUT", "Culprit", "Ending", "Incident", "Origin", "severity_of"]

Direction = Literal["above", "below"]
Severity = Literal["low", "medium", "high"]
Ending = Literal["quiet", "gap", "another"]

_MEDIUM, _HIGH = 3.0, 10.0

STANDS_OUT = 0.5
"""Certainty above which an origin is clear: it is then likelier than all others together."""

DIFFUSE = 0.2
"""Largest share below which no signal explains enough of an incident to be its culprit."""


@dataclass(frozen=True)
class Culprit:
    """One variable's part in an incident.

    Attributes
    ----------
    variable : str
    share : float
        Its part of the evidence beyond normal; the shares of all variables sum to 1.
    direction : {"above", "below"}
        On which side of its expected value it was over the alarming rows.
    value, expected : float
        Both where it deviated most to that side, in the variable's own unit. Expected is what it
        would have been, judging by the signals that behaved.
    """

    variable: str
    share: float
    direction: Direction
    value: float
    expected: float


@dataclass(frozen=True)
class Origin:
    """The variable in which an incident most likely began.

    Attributes
    ----------
    variable : str
    certainty : float
        How likely it is: of the origins named with 0.9, nine in ten should be right
        (docs/rootcause.md).
    """

    variable: str
    certainty: float

    @property
    def clear(self) -> bool:
        """Whether it is likelier than all other variables together."""
        return self.certainty > STANDS_OUT


@dataclass(frozen=True)
class Incident:
    """A stretch of rows that belong to one alarm.

    What other programs and people see of it is listed in :mod:`alora_ts.diagnosis.fields`.

    Attributes
    ----------
    start, end : int
        First row and row after the last.
    start_time, end_time : object
        Timestamps of the first and last row (row numbers where there are none).
    peak : int
        Row of the highest score.
    peak_time : object
        Its timestamp.
    score : float
        The highest score: how many times the alarm level.
    raw : float
        The same before calibration, drift taken out.
    severity : {"low", "medium", "high"}
        Below 3 times the alarm level, below 10 times, and above.
    culprits : tuple of Culprit
        Who deviates, the strongest first (:mod:`alora_ts.diagnosis.explanation`).
    origin : Origin or None
        Where it most likely began, which need not be what deviates most.
    spread : tuple of Arrival
        When the origin and the culprits left normal, in order of time.
    aside : tuple of str
        Variables that were not used to judge the others.
    returns : ReturnPeriod or None
        How often normal operation shows a peak as high; None where the model cannot tell.
    changed : bool
        Whether the system has changed since: what is usual moved during the incident by more than
        half the alarm level, because more than half of the rows remembered (5,000 of 10,000 by
        default) lie there by now. Later rows are judged by the new level; fit again.
    witnesses : tuple of Witness
        What gave the evidence at the peak, the strongest first; none where the score hears only
        one (:mod:`alora_ts.diagnosis.witnesses`).
    ending : {"quiet", "gap", "another"} or None
        Whether quiet rows ended it, or a gap did: then nobody knows how it went on. Another
        incident ends it where something far worse begins while it lasts, or where that is over
        and what lasted goes on (:mod:`alora_ts.diagnosis.flares`). None while it lasts, as far as
        there are rows.
    """

    start: int
    end: int
    start_time: Any
    end_time: Any
    peak: int
    peak_time: Any
    score: float
    raw: float
    severity: Severity
    culprits: tuple[Culprit, ...]
    origin: Origin | None = None
    spread: tuple[Arrival, ...] = ()
    aside: tuple[str, ...] = ()
    returns: ReturnPeriod | None = None
    changed: bool = False
    witnesses: tuple[Witness, ...] = ()
    ending: Ending | None = None

    def _repr_html_(self) -> str:
        from alora_ts.report.notebook import incident_html

        return incident_html(self)

    @property
    def onset(self) -> Arrival | None:
        """The first signal to leave normal; None where none did for long enough to tell."""
        return self.spread[0] if self.spread else None

    @property
    def diffuse(self) -> bool:
        """Whether no signal explains much of it."""
        return all(culprit.share < DIFFUSE for culprit in self.culprits)

    @property
    def rows(self) -> int:
        """How many rows the incident lasts."""
        return self.end - self.start


def severity_of(score: float) -> Severity:
    """Put a calibrated score into words.

    Examples
    --------
    >>> severity_of(1.2), severity_of(4.0), severity_of(50.0)
    ('low', 'medium', 'high')
    """
    if score < _MEDIUM:
        return "low"
    return "medium" if score < _HIGH else "high"
