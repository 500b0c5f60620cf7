"""An incident seen through what the user knows of the system: groups, and known influences."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from alora_ts.data.structure import Edges, group_names, rank_groups
from alora_ts.diagnosis.fields import Fact
from alora_ts.diagnosis.incident import Incident
from alora_ts.diagnosis.onset import Arrival

__all__ = ["GroupPart", "Structure", "group_parts", "known_ways"]

_SHOWN = 5


@dataclass(frozen=True)
class GroupPart:
    """One group's part in an incident.

    Attributes
    ----------
    name : str
    share : float
        Of its culprits together.
    variables : tuple of str
        Its culprits, the strongest first.
    """

    name: str
    share: float
    variables: tuple[str, ...]


def group_parts(
    incident: Incident, variables: Sequence[str], rule: str | Mapping[str, str]
) -> tuple[GroupPart, ...]:
    """The groups of an incident's culprits, in the order of their strongest.

    Parameters
    ----------
    incident : Incident
    variables : sequence of str
        All that were diagnosed.
    rule : str or mapping
        See :func:`alora_ts.data.structure.group_names`.
    """
    group_of = dict(zip(variables, group_names(variables, rule), strict=True))
    ranked = rank_groups((one.variable for one in incident.culprits), group_of)
    return tuple(
        GroupPart(
            name,
            sum(one.share for one in incident.culprits if group_of[one.variable] == name),
            tuple(one.variable for one in incident.culprits if group_of[one.variable] == name),
        )
        for name in ranked
    )


def known_ways(
    spread: Sequence[Arrival],
    variables: Sequence[str],
    edges: Edges,
    rule: str | Mapping[str, str] | None = None,
) -> Edges:
    """Known influences along which an incident may have spread.

    Parameters
    ----------
    spread : sequence of Arrival
        When the incident reached which variable, in order of time.
    variables : sequence of str
        All that were diagnosed.
    edges : tuple of (str, str)
        From cause to effect, between variables or, with a rule, their groups. One of something
        else is never drawn.
    rule : str or mapping, optional
        See :func:`alora_ts.data.structure.group_names`.

    Returns
    -------
    tuple of (str, str)
        Those whose both ends the incident reached, the cause not after the effect, in the order
        of time.
    """
    names = group_names(variables, rule) if rule is not None else tuple(variables)
    group_of = dict(zip(variables, names, strict=True))
    moments: dict[str, int] = {}
    order = {time: at for at, time in enumerate(dict.fromkeys(one.time for one in spread))}
    for one in spread:
        for name in (one.variable, group_of[one.variable]):
            moments.setdefault(name, order[one.time])
    ways = [
        (cause, effect)
        for cause, effect in dict.fromkeys(edges)
        if cause in moments and effect in moments and moments[cause] <= moments[effect]
    ]
    return tuple(sorted(ways, key=lambda way: (moments[way[0]], moments[way[1]])))


@dataclass(frozen=True)
class Structure:
    """What the user knows of the system; either may be missing.

    Attributes
    ----------
    groups : str, mapping or None
        See :func:`alora_ts.data.structure.group_names`.
    influences : tuple of (str, str)
        From cause to effect, between variables or groups.
    """

    groups: str | Mapping[str, str] | None = None
    influences: Edges | None = None

    def ways(self, spread: Sequence[Arrival], variables: Sequence[str]) -> Edges:
        """Known influences along which an incident may have spread, see :func:`known_ways`."""
        if self.influences is None:
            return ()
        return known_ways(spread, variables, self.influences, self.groups)

    def first_reached(self, spread: Sequence[Arrival], variables: Sequence[str]) -> dict[str, str]:
        """The first variable reached of each variable and group, in order of time."""
        names = variables if self.groups is None else group_names(variables, self.groups)
        group_of = dict(zip(variables, names, strict=True))
        first: dict[str, str] = {}
        for one in spread:
            for name in (one.variable, group_of[one.variable]):
                first.setdefault(name, one.variable)
        return first

    def facts(self, incident: Incident, variables: Sequence[str]) -> list[Fact]:
        """What it says of an incident, in words."""
        told = []
        if self.groups is not None:
            parts = group_parts(incident, variables, self.groups)[:_SHOWN]
            text = ", ".join(f"{part.name} ({round(100 * part.share)} %)" for part in parts)
            told.append(Fact("groups", text))
        if self.influences is not None:
            ways = self.ways(incident.spread, variables)[:_SHOWN]
            text = ", ".join(f"{cause} → {effect}" for cause, effect in ways)
            told.append(Fact("known influences", text or "none between the signals it reached"))
        return told
