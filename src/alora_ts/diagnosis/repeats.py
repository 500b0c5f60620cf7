"""Incidents that come again: the same leading culprits, in the same direction, before long.

The one definition of "the same pattern" for the whole product.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from alora_ts.diagnosis.incident import Incident

__all__ = ["WITHIN", "Recurring", "find_repeats", "pattern_of"]

WITHIN = 5000
"""Rows from the end of an incident within which the next of its pattern is the same one again."""

_LEADING = 2
_LEADS = 0.2

Pattern = frozenset[tuple[str, str]]


@dataclass(frozen=True)
class Recurring:
    """Incidents of one pattern, each soon after the one before.

    Attributes
    ----------
    incidents : tuple of Incident
        In order of time; one where it did not come again.
    """

    incidents: tuple[Incident, ...]

    @property
    def count(self) -> int:
        """How often it came."""
        return len(self.incidents)

    @property
    def worst(self) -> Incident:
        """The one with the highest score."""
        return max(self.incidents, key=lambda one: one.score)


def pattern_of(incident: Incident) -> Pattern:
    """The leading culprits with their directions.

    The first, and the second where it has a fifth of the blame or more.
    """
    leading = [
        (one.variable, one.direction)
        for place, one in enumerate(incident.culprits[:_LEADING])
        if place == 0 or one.share >= _LEADS
    ]
    return frozenset(leading)


def find_repeats(incidents: Sequence[Incident], *, within: int = WITHIN) -> tuple[Recurring, ...]:
    """Put incidents of the same pattern together.

    Parameters
    ----------
    incidents : sequence of Incident
        In order of time.
    within : int
        Rows from the end of one to the start of the next at most.

    Returns
    -------
    tuple of Recurring
        In order of their first incident; every incident is in one of them.
    """
    groups: list[list[Incident]] = []
    last: dict[Pattern, list[Incident]] = {}
    for incident in incidents:
        pattern = pattern_of(incident)
        known = last.get(pattern)
        if known is not None and incident.start - known[-1].end <= within:
            known.append(incident)
        else:
            last[pattern] = [incident]
            groups.append(last[pattern])
    return tuple(Recurring(tuple(group)) for group in groups)
