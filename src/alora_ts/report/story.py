"""What happened, in the order in which it happened, and in words."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from alora_ts.diagnosis.incident import STANDS_OUT
from alora_ts.diagnosis.severity import count_severities
from alora_ts.report.moments import Clock, number

if TYPE_CHECKING:
    from alora_ts.diagnosis.diagnosis import Diagnosis
    from alora_ts.diagnosis.incident import Incident

__all__ = ["Arrival", "Story", "sentence", "summary", "tell"]

# Rows looked at to learn how large a signal's error usually is: more would not change a quantile.
_QUIET_ROWS = 20_000
_QUIET = 0.999


@dataclass(frozen=True)
class Arrival:
    """The row at which a culprit's error first left its usual range within an incident."""

    variable: str
    row: int


@dataclass(frozen=True)
class Story:
    """One incident, ready to be described.

    Attributes
    ----------
    number : int
        From 1, in order of time.
    incident : Incident
        As diagnosed.
    arrivals : tuple of Arrival
        The main culprit first, then the others that left their expectation later, in order of
        time.
    """

    number: int
    incident: Incident
    arrivals: tuple[Arrival, ...]

    @property
    def culprit(self) -> str:
        """The variable with the largest share."""
        return self.incident.culprits[0].variable


def tell(diagnosis: Diagnosis) -> tuple[Story, ...]:
    """Work out for every incident which signals it reached, and when.

    Parameters
    ----------
    diagnosis : Diagnosis
        What was found.

    Returns
    -------
    tuple of Story
        In order of time.
    """
    if not diagnosis.incidents:
        return ()
    limits = _usual_error(diagnosis)
    column = {name: position for position, name in enumerate(diagnosis.variables)}
    stories = []
    for position, incident in enumerate(diagnosis.incidents):
        arrivals: list[Arrival] = []
        for culprit in incident.culprits:
            at = column[culprit.variable]
            errors = diagnosis.error[incident.start : incident.end, at]
            row = _first_lasting(errors > limits[at])
            if not arrivals:
                arrivals.append(Arrival(culprit.variable, incident.start + (row or 0)))
            elif row is not None and incident.start + row > arrivals[0].row:
                arrivals.append(Arrival(culprit.variable, incident.start + row))
        arrivals[1:] = sorted(arrivals[1:], key=lambda arrival: arrival.row)
        stories.append(Story(position + 1, incident, tuple(arrivals)))
    return tuple(stories)


def _usual_error(diagnosis: Diagnosis) -> NDArray[np.float64]:
    """The error that each signal exceeds once in a thousand quiet rows."""
    quiet = ~diagnosis.warm_up
    for incident in diagnosis.incidents:
        quiet[incident.start : incident.end] = False
    rows = np.flatnonzero(quiet)
    if not len(rows):
        return np.zeros(diagnosis.error.shape[1])
    rows = rows[:: max(1, len(rows) // _QUIET_ROWS)]
    limits: NDArray[np.float64] = np.quantile(diagnosis.error[rows], _QUIET, axis=0)
    return limits


def _first_lasting(outside: NDArray[np.bool_]) -> int | None:
    """Find the first of two neighbouring rows outside, or of one where there is but one."""
    if len(outside) > 1:
        outside = outside[:-1] & outside[1:]
    rows = np.flatnonzero(outside)
    return int(rows[0]) if len(rows) else None


def sentence(story: Story, clock: Clock) -> str:
    """Describe one incident: where it began, how strong it was, what it reached."""
    incident = story.incident
    first = story.arrivals[0]
    origin = incident.origin
    began = where = first.variable
    if origin is not None and origin.variable != began and origin.share > STANDS_OUT:
        began = origin.variable
        where = f"{began} (strongest in {first.variable})"
    said = (
        f"began at {clock.at(incident.start)} in {where}, "
        f"{number(incident.score)} times the alarm level"
    )
    others = [one for one in story.arrivals[1:] if one.variable != began]
    if others:
        later = others[0]
        said += f", and reached {later.variable} {clock.between(first.row, later.row)} later"
    return said


def summary(diagnosis: Diagnosis, stories: tuple[Story, ...], clock: Clock) -> str:
    """Describe the whole diagnosis in one sentence."""
    if not stories:
        score = np.where(diagnosis.warm_up, -np.inf, diagnosis.score)
        if not np.isfinite(score).any():
            return "Nothing could be judged: all rows belong to the warm-up."
        row = int(np.argmax(score))
        return (
            "No incident: the score stayed below the alarm level throughout "
            f"(highest {number(float(score[row]))} of it, at {clock.at(row)})."
        )
    worst = max(stories, key=lambda story: story.incident.score)
    said = count_severities([story.incident for story in stories])
    count = f"{said}; the worst" if len(stories) > 1 else "1 incident; it"
    return f"{count} {sentence(worst, clock)}."
