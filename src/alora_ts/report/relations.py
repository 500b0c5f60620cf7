"""Who influences whom: the contribution matrix as a map and its strongest ties as a ring."""

from __future__ import annotations

import json
import math
from collections.abc import Sequence
from html import escape

import numpy as np
from numpy.typing import NDArray

from alora_ts.report.moments import number

__all__ = ["contribution_map", "relation_ring", "strongest_ties", "strongest_variables"]

_MAPPED = 40
_TIES = 30
_LEVELS = 12


def strongest_variables(C: NDArray[np.floating], *, most: int = _MAPPED) -> list[int]:
    """Columns of the variables with the largest ties to others, in column order.

    Examples
    --------
    >>> strongest_variables(np.array([[9, 0, 1], [0, 9, 0], [2, 0, 9]]), most=2)
    [0, 2]
    """
    ties = np.abs(np.nan_to_num(np.asarray(C, dtype=np.float64)))
    np.fill_diagonal(ties, 0)
    strength = np.maximum(ties.max(axis=0), ties.max(axis=1))
    return sorted(np.argsort(-strength, kind="stable")[:most].tolist())


def strongest_ties(C: NDArray[np.floating], *, most: int = _TIES) -> list[tuple[int, int]]:
    """Pairs (cause, effect) of different variables by falling strength.

    Examples
    --------
    >>> strongest_ties(np.array([[9.0, 0.1], [-0.5, 9.0]]))
    [(1, 0), (0, 1)]
    """
    ties = np.abs(np.nan_to_num(np.asarray(C, dtype=np.float64)))
    np.fill_diagonal(ties, 0)
    order = np.argsort(-ties, axis=None, kind="stable")[:most]
    pairs = [divmod(int(at), ties.shape[1]) for at in order]
    return [pair for pair in pairs if ties[pair] > 0]


def _cut(name: str, most: int = 22) -> str:
    return name if len(name) <= most else name[: most - 1] + "…"


def contribution_map(C: NDArray[np.floating], variables: Sequence[str]) -> str:
    """Draw C as a square of shades; rows influence, columns are influenced."""
    chosen = strongest_variables(C)
    part = np.nan_to_num(np.asarray(C, dtype=np.float64))[np.ix_(chosen, chosen)]
    names = [variables[i] for i in chosen]
    off = np.abs(part[~np.eye(len(part), dtype=bool)])
    full = float(off.max()) if off.size and off.max() > 0 else 1.0
    levels = np.rint(np.minimum(np.abs(part) / full, 1) * _LEVELS).astype(int)
    cell = max(9.0, 420 / len(names))
    side, left, top = cell * len(names), 150, 130
    letters = f'font-size="{min(13.0, 0.95 * cell):.1f}"'
    drawn = [f'<rect class="paper" x="{left}" y="{top}" width="{side:.1f}" height="{side:.1f}"/>']
    for sign, style in ((1, "plus"), (-1, "minus")):
        for level in range(1, _LEVELS + 1):
            rows, columns = np.nonzero((levels == level) & (np.sign(part) == sign))
            if len(rows):
                square = f"h{cell:.1f}v{cell:.1f}h-{cell:.1f}z"
                data = "".join(
                    f"M{left + c * cell:.1f} {top + r * cell:.1f}{square}"
                    for r, c in zip(rows.tolist(), columns.tolist(), strict=True)
                )
                strength = level / _LEVELS
                drawn.append(f'<path class="{style}" opacity="{strength:.2f}" d="{data}"/>')
    for at, name in enumerate(names):
        middle = (at + 0.5) * cell
        drawn.append(
            f'<text x="{left - 6}" y="{top + middle + 4:.1f}" text-anchor="end" {letters}>'
            f"{escape(_cut(name))}</text>"
            f'<text {letters} transform="translate({left + middle + 3:.1f} {top - 6}) rotate(-60)">'
            f"{escape(_cut(name))}</text>"
        )
    facts = {"names": names, "values": [[float(f"{v:.3g}") for v in row] for row in part.tolist()]}
    # "</" inside the data must not end the element.
    data = json.dumps(facts, separators=(",", ":")).replace("<", "\\u003c")
    label = f"Contribution matrix of {len(names)} of {len(variables)} signals"
    return (
        f'<svg class="map" role="img" aria-label="{label}" '
        f'viewBox="0 0 {left + side + 70:.0f} {top + side + 4:.0f}">'
        f"<metadata>{data}</metadata>{''.join(drawn)}</svg>"
    )


def relation_ring(C: NDArray[np.floating], variables: Sequence[str], guilty: set[str]) -> str:
    """Draw the strongest ties between different variables; culprits stand out."""
    ties = strongest_ties(C)
    if not ties:
        return "<p>No signal influences another in this model.</p>"
    members = sorted({end for tie in ties for end in tie})
    angle = {m: 2 * math.pi * i / len(members) - math.pi / 2 for i, m in enumerate(members)}
    radius, middle = 165.0, 300.0
    where = {
        m: (middle + radius * math.cos(a), middle + radius * math.sin(a)) for m, a in angle.items()
    }
    strongest = abs(float(C[ties[0]]))
    drawn = [
        '<defs><marker id="tip" viewBox="0 0 8 8" refX="7" refY="4" markerWidth="7" '
        'markerHeight="7" markerUnits="userSpaceOnUse" orient="auto">'
        '<path d="M0 0L8 4L0 8z" fill="context-stroke"/></marker></defs>'
    ]
    for cause, effect in reversed(ties):
        (x0, y0), (x1, y1) = where[cause], where[effect]
        # Bent towards the middle and a little to one side, so that there and back differ.
        side = 0.12
        cx = (x0 + x1) / 2 * 0.55 + middle * 0.45 + side * (y1 - y0)
        cy = (y0 + y1) / 2 * 0.55 + middle * 0.45 - side * (x1 - x0)
        away = math.hypot(x1 - cx, y1 - cy) or 1.0
        x1, y1 = x1 - 7 * (x1 - cx) / away, y1 - 7 * (y1 - cy) / away
        value = float(C[cause, effect])
        share = abs(value) / strongest
        style = "tie minus" if value < 0 else "tie"
        drawn.append(
            f'<path class="{style}" data-from="{cause}" data-to="{effect}" '
            f'stroke-width="{0.8 + 2.6 * share:.1f}" stroke-opacity="{0.35 + 0.6 * share:.2f}" '
            f'marker-end="url(#tip)" d="M{x0:.0f} {y0:.0f}Q{cx:.0f} {cy:.0f} {x1:.0f} {y1:.0f}"/>'
        )
    for member in members:
        x, y = where[member]
        turn = math.degrees(angle[member])
        flip = abs(turn) > 90 and turn < 270
        anchor, reach, spin = ("end", -12, turn + 180) if flip else ("start", 12, turn)
        mark = " guilty" if variables[member] in guilty else ""
        drawn.append(
            f'<g data-node="{member}"><circle class="dot{mark}" cx="{x:.0f}" cy="{y:.0f}" r="5"/>'
            f'<text class="{mark.strip()}" font-size="13" text-anchor="{anchor}" '
            f'dominant-baseline="middle" '
            f'transform="translate({x:.1f} {y:.1f}) rotate({spin:.1f}) translate({reach} 0)">'
            f"{escape(_cut(variables[member]))}</text></g>"
        )
    first, second = ties[0]
    label = (
        f"The {len(ties)} strongest relations; the strongest leads from {variables[first]} to "
        f"{variables[second]} ({number(float(C[first, second]))})"
    )
    return (
        f'<svg class="net" role="img" aria-label="{escape(label)}" viewBox="0 0 600 600">'
        f"{''.join(drawn)}</svg>"
    )
