"""What happened, in the order in which it happened, and in words."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from alora_ts.diagnosis.severity import count_severities
from alora_ts.report.moments import Clock, number

if TYPE_CHECKING:
    from alora_ts.diagnosis.diagnosis import Diagnosis
    from alora_ts.diagnosis.incident import Incident

__all__ = ["Reached", "Story", "sentence", "summary", "tell"]


@dataclass(frozen=True)
class Reached:
    """The row at which an incident reached a signal, and on which side of normal it then was.

    ``before``: it was away already in the first row looked at.
    """

    variable: str
    row: int
    direction: str
    before: bool = False


@dataclass(frozen=True)
class Story:
    """One incident, ready to be described.

    Attributes
    ----------
    number : int
        From 1, in order of time.
    incident : Incident
        As diagnosed.
    reached : tuple of Reached
        The first to leave normal first, in order of time.
    """

    number: int
    incident: Incident
    reached: tuple[Reached, ...]

    @property
    def culprit(self) -> str:
        """The variable with the strongest evidence, or that there is none."""
        return "diffuse" if self.incident.diffuse else self.incident.culprits[0].variable


def tell(diagnosis: Diagnosis) -> tuple[Story, ...]:
    """Put every incident's story beside the rows of the diagnosis.

    Parameters
    ----------
    diagnosis : Diagnosis
        What was found.

    Returns
    -------
    tuple of Story
        In order of time.
    """
    stamps = diagnosis.timestamps

    def row_of(time: Any) -> int:
        return int(time) if stamps is None else int(np.searchsorted(stamps, time))

    return tuple(
        Story(
            position,
            incident,
            tuple(
                Reached(one.variable, row_of(one.time), one.direction, one.earliest is None)
                for one in incident.spread
            ),
        )
        for position, incident in enumerate(diagnosis.incidents, start=1)
    )


def sentence(story: Story, clock: Clock) -> str:
    """Describe one incident: who left normal first, how strong it was, what it reached."""
    incident = story.incident
    strongest = incident.culprits[0].variable
    if not story.reached:
        where = "no single signal" if incident.diffuse else strongest
        return (
            f"began at {clock.at(incident.start)} in {where}, "
            f"{number(incident.score)} times the alarm level"
        )
    first = story.reached[0]
    began = "had begun by" if first.before else "began at"
    said = (
        f"{began} {clock.at(first.row)} in {first.variable} ({first.direction} normal), "
        f"{number(incident.score)} times the alarm level"
    )
    if incident.diffuse:
        said += "; it is diffuse, no clear culprit"
    elif strongest != first.variable:
        said += f", strongest in {strongest}"
    later = [one for one in story.reached[1:] if one.row > first.row]
    if later:
        said += f", and reached {later[0].variable} {clock.between(first.row, later[0].row)} later"
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
