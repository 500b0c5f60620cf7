"""Incidents by how bad they are: worst first, and counted in words."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from typing import get_args

from alora_ts.diagnosis.incident import Incident, Severity
from alora_ts.errors import AloraError, nearest

__all__ = ["at_least", "by_severity", "count_severities"]

_ORDER: tuple[Severity, ...] = tuple(reversed(get_args(Severity)))


def by_severity(incidents: Sequence[Incident]) -> list[Incident]:
    """The worst first: by severity, then by score; equal ones in order of time."""
    return sorted(incidents, key=lambda one: (_ORDER.index(one.severity), -one.score))


def count_severities(incidents: Sequence[Incident]) -> str:
    """How many there are of each severity.

    Examples
    --------
    >>> count_severities([])
    'no incident'
    """
    if not incidents:
        return "no incident"
    counted = Counter(one.severity for one in incidents)
    if len(incidents) == 1:
        return f"1 incident ({incidents[0].severity})"
    each = ", ".join(
        f"{counted[severity]:,} {severity}" for severity in _ORDER if counted[severity]
    )
    return f"{len(incidents):,} incidents ({each})"


def at_least(incidents: Sequence[Incident], severity: str) -> list[Incident]:
    """Those of a severity and above, in their order.

    Raises
    ------
    AloraError
        For a severity that does not exist.
    """
    if severity not in _ORDER:
        raise AloraError(f"there is no severity {severity!r}{nearest(severity, _ORDER)}")
    return [one for one in incidents if _ORDER.index(one.severity) <= _ORDER.index(severity)]
