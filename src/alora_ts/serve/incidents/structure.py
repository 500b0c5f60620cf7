"""What people know of a source's signals, and how an incident spread along it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from pydantic import BaseModel, ConfigDict

from alora_ts.data.structure import group_names, keep_known, read_edges, tell_unknown
from alora_ts.diagnosis.onset import Arrival
from alora_ts.diagnosis.structure import Structure

__all__ = ["StructureSettings", "known_graph"]

_MOST = 10


class StructureSettings(BaseModel):
    """What is known of a source.

    Attributes
    ----------
    influences
        A CSV file of influences between signals or groups: two columns, cause and effect, with a
        header. It is read when an incident is looked at.
    groups
        Which signals belong together, such as ``prefix before _``.
    """

    model_config = ConfigDict(extra="forbid", frozen=True)

    influences: Path
    groups: str | None = None


def known_graph(
    incident: Mapping[str, Any], variables: Sequence[str], known: StructureSettings
) -> dict[str, Any]:
    """What an incident reached as nodes, the known influences between them as edges.

    Parameters
    ----------
    incident : mapping
        Its ``culprits`` and ``spread``.
    variables : sequence of str
        All that the model knows.
    known : StructureSettings

    Returns
    -------
    dict
        ``nodes`` in order of time, at most ten, each with its ``share``, the ``time`` at which it
        was reached and its ``role``: "origin" where no earlier one acts on it, else "affected".
        ``edges`` from earlier to later ones. ``note`` says which names are unknown, if any is.

    Raises
    ------
    DataError
        When the file or the rule of groups cannot be used for these variables at all.
    """
    names = variables if known.groups is None else group_names(variables, known.groups)
    every = {*variables, *names}
    edges, unknown = keep_known(read_edges(known.influences), every, where=str(known.influences))
    structure = Structure(known.groups, edges)
    spread = [Arrival(**one) for one in incident["spread"] or ()]
    ways = structure.ways(spread, variables)
    ends = {name for way in ways for name in way}
    first = structure.first_reached(spread, variables)
    shown = [name for name in first if name in ends][:_MOST]
    place = {name: at for at, name in enumerate(shown)}
    # Of two that act on each other and were reached in the same row, the stronger comes first.
    drawn = [
        (cause, effect)
        for cause, effect in ways
        if cause in place and effect in place and place[cause] < place[effect]
    ]
    times = {one.variable: one.time for one in spread}
    group_of = dict(zip(variables, names, strict=True))
    reached = {effect for _, effect in drawn}
    nodes = [
        {
            "variable": name,
            "role": "affected" if name in reached else "origin",
            "share": sum(
                one["share"]
                for one in incident["culprits"]
                if name in (one["variable"], group_of.get(one["variable"]))
            ),
            "time": times[first[name]],
        }
        for name in shown
    ]
    return {
        "nodes": nodes,
        "edges": [{"from": one, "to": other} for one, other in drawn],
        "note": tell_unknown(unknown, every) if unknown else None,
    }
