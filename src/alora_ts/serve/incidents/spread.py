"""How an incident spread, as far as the model's contributions show."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from alora_ts.diagnosis.incident import STANDS_OUT

__all__ = ["incident_graph"]

_EDGES = 12
_WEAKEST = 0.05
_ORIGIN_SHARE = 0.5


def incident_graph(
    culprits: Sequence[dict[str, Any]],
    variables: Sequence[str],
    C: NDArray[np.floating],
    *,
    origin: dict[str, Any] | None = None,
) -> dict[str, Any]:
    """Culprits as nodes, the strong contributions between them as edges.

    Parameters
    ----------
    culprits : sequence of dict
        ``variable`` and ``share``, largest share first.
    variables : sequence of str
    C : ndarray of shape (d, d)
        Row i: how strongly variable i enters the expectation of each other.
    origin : dict, optional
        ``variable`` and ``certainty`` of where it most likely began.

    Returns
    -------
    dict
        ``nodes`` with ``role`` "origin" or "affected"; ``edges`` from the origin and from the
        larger share to the smaller, with the weight in C.

    Notes
    -----
    An origin counts when it is clear: likelier than all others together.
    It may deviate too little to be a culprit, and its node then has no share. Where none stands
    out, the culprit with the largest share and those with at least half of it are drawn as
    origins.

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
    shares = {one["variable"]: one["share"] for one in culprits if one["variable"] in places}
    if not shares:
        return {"nodes": [], "edges": []}
    order = list(shares)
    if origin is not None and origin["variable"] in places and origin["certainty"] > STANDS_OUT:
        origins = {origin["variable"]}
        order = [origin["variable"], *(name for name in order if name not in origins)]
    else:
        highest = max(shares.values())
        origins = {name for name, share in shares.items() if share >= _ORIGIN_SHARE * highest}
    nodes = [
        {
            "variable": name,
            "role": "origin" if name in origins else "affected",
            "share": shares.get(name),
        }
        for name in order
    ]
    strongest = float(np.abs(C).max()) or 1.0
    edges = []
    for at, cause in enumerate(order):
        for effect in order[at + 1 :]:
            weight = float(C[places[cause], places[effect]])
            if abs(weight) >= _WEAKEST * strongest:
                edges.append({"from": cause, "to": effect, "weight": weight})
    edges.sort(key=lambda edge: -abs(edge["weight"]))
    return {"nodes": nodes, "edges": edges[:_EDGES]}
