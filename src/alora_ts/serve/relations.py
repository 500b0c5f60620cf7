"""How an incident spread, as far as the model's contributions tell."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

__all__ = ["incident_graph"]

_EDGES = 12
_WEAKEST = 0.05
_ORIGIN_SHARE = 0.5


def incident_graph(
    culprits: Sequence[dict[str, Any]], variables: Sequence[str], C: NDArray[np.floating]
) -> dict[str, Any]:
    """Culprits as nodes, the strong contributions between them as edges.

    Parameters
    ----------
    culprits : sequence of dict
        ``variable`` and ``share``, largest share first.
    variables : sequence of str
    C : ndarray of shape (d, d)
        Row i: how strongly variable i enters the expectation of each other.

    Returns
    -------
    dict
        ``nodes`` with ``role`` "origin" (the largest share and those with at least half of it)
        or "affected"; ``edges`` from the larger share to the smaller, with the weight in C.

    Examples
    --------
    >>> graph = incident_graph(
    ...     [{"variable": "a", "share": 0.8}, {"variable": "b", "share": 0.1}],
    ...     ["a", "b"],
    ...     np.array([[1.0, 0.5], [0.2, 1.0]]),
    ... )
    >>> graph["edges"]
    [{'from': 'a', 'to': 'b', 'weight': 0.5}]
    """
    places = {name: at for at, name in enumerate(variables)}
    known = [culprit for culprit in culprits if culprit["variable"] in places]
    if not known:
        return {"nodes": [], "edges": []}
    highest = known[0]["share"]
    nodes = [
        {
            "variable": culprit["variable"],
            "role": "origin" if culprit["share"] >= _ORIGIN_SHARE * highest else "affected",
            "share": culprit["share"],
        }
        for culprit in known
    ]
    strongest = float(np.abs(C).max()) or 1.0
    edges = []
    for at, cause in enumerate(known):
        for effect in known[at + 1 :]:
            weight = float(C[places[cause["variable"]], places[effect["variable"]]])
            if abs(weight) >= _WEAKEST * strongest:
                edges.append(
                    {"from": cause["variable"], "to": effect["variable"], "weight": weight}
                )
    edges.sort(key=lambda edge: -abs(edge["weight"]))
    return {"nodes": nodes, "edges": edges[:_EDGES]}
