"""Incidents that come again: the same leading culprits, in the same direction, before long.

The one definition of "the same pattern" for the whole product.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import TypeVar

from alora_ts.diagnosis.incident import Culprit, Incident

__all__ = [
    "WITHIN",
    "Recurring",
    "find_repeats",
    "group_repeats",
    "pattern_key",
    "pattern_of",
    "pattern_text",
]

WITHIN = 5000
"""Rows from the end of an incident within which the next of its pattern is the same one again."""

_LEADING = 2
_LEADS = 0.2

Pattern = frozenset[tuple[str, str]]
_T = TypeVar("_T")


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


def pattern_of(culprits: Sequence[Culprit]) -> Pattern:
    """The leading culprits with their directions.

    The first, and the second where it has a fifth of the blame or more.
    """
    leading = [
        (one.variable, one.direction)
        for place, one in enumerate(culprits[:_LEADING])
        if place == 0 or one.share >= _LEADS
    ]
    return frozenset(leading)


def pattern_key(culprits: Sequence[Culprit]) -> str | None:
    """A short name of the pattern for stores and addresses; None where nothing leads.

    It follows from names and directions alone, so it is the same in every model, process and
    source.

    Examples
    --------
    >>> pattern_key([Culprit("flow", 0.9, "above", 3.0, 1.0)])
    'p_dfe52ce86ed7e029'
    """
    pattern = pattern_of(culprits)
    if not pattern:
        return None
    text = json.dumps(sorted(pattern))
    return f"p_{hashlib.sha256(text.encode()).hexdigest()[:16]}"


def pattern_text(culprits: Sequence[Culprit]) -> str:
    """The pattern in words.

    Examples
    --------
    >>> pattern_text([Culprit("flow", 0.9, "above", 3.0, 1.0)])
    'flow above'
    """
    return " and ".join(f"{name} {direction}" for name, direction in sorted(pattern_of(culprits)))


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
    groups = group_repeats(
        incidents,
        pattern=lambda one: pattern_of(one.culprits),
        between=lambda one, following: following.start - one.end,
        within=within,
    )
    return tuple(Recurring(tuple(group)) for group in groups)


def group_repeats(
    incidents: Iterable[_T],
    *,
    pattern: Callable[[_T], object],
    between: Callable[[_T, _T], float],
    within: float,
) -> list[list[_T]]:
    """The rule itself, for incidents in any form.

    Parameters
    ----------
    incidents : iterable
        In order of time.
    pattern : callable
        Gives what incidents of the same pattern have in common.
    between : callable
        Gives the pause between two incidents.
    within : float
        The longest pause within a group.

    Returns
    -------
    list of list
        In order of their first incident.
    """
    groups: list[list[_T]] = []
    last: dict[object, list[_T]] = {}
    for incident in incidents:
        key = pattern(incident)
        known = last.get(key)
        if known is not None and between(known[-1], incident) <= within:
            known.append(incident)
        else:
            last[key] = [incident]
            groups.append(last[key])
    return groups
