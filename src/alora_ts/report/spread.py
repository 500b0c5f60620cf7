"""How an incident spread along known influences: names in order of time, and arrows."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from html import escape

from alora_ts.data.structure import Edges

__all__ = ["spread_drawing"]

_LINE = 26
_MOST = 10
_CHARACTERS = 60


def spread_drawing(ways: Edges, moments: Mapping[str, str], *, order: Sequence[str]) -> str:
    """Draw influences between what an incident reached, as SVG; nothing where there are none.

    Parameters
    ----------
    ways : tuple of (str, str)
        From cause to effect.
    moments : mapping of str to str
        When each name was reached, in words.
    order : sequence of str
        The names in order of time.

    Examples
    --------
    >>> drawn = spread_drawing((("valve", "flow"),), {"flow": "3 s later"}, order=["valve", "flow"])
    >>> drawn.count('class="tie"'), drawn.index("valve<") < drawn.index("flow<")
    (1, True)
    >>> spread_drawing((), {}, order=[])
    ''
    """
    ends = {name for way in ways for name in way}
    shown = [name for name in dict.fromkeys(order) if name in ends][:_MOST]
    place = {name: _LINE * (at + 0.5) for at, name in enumerate(shown)}
    drawn = [(cause, effect) for cause, effect in ways if cause in place and effect in place]
    if not drawn:
        return ""
    widest = max(abs(place[cause] - place[effect]) for cause, effect in drawn)
    left = 14 + widest / 2
    parts = []
    for cause, effect in drawn:
        start, end = place[cause], place[effect]
        bow = left - 6 - abs(end - start) / 2
        parts.append(
            f'<path class="tie" marker-end="url(#step)" d="M{left - 6:.0f} {start:.0f}'
            f'C{bow:.0f} {start:.0f} {bow:.0f} {end:.0f} {left - 7:.0f} {end:.0f}"/>'
        )
    for name, height in place.items():
        when = moments.get(name, "")
        label = name if len(name) <= _CHARACTERS else name[: _CHARACTERS - 1] + "…"
        parts.append(
            f'<circle class="dot" cx="{left:.0f}" cy="{height:.0f}" r="4"/>'
            f'<text x="{left + 12:.0f}" y="{height + 4:.0f}" font-size="13">{escape(label)}'
            f'<tspan dx="10" font-size="12" class="way">{escape(when)}</tspan></text>'
        )
    width, height = left + 560, _LINE * len(place)
    return (
        '<figure class="spread"><figcaption class="way">The ways it may have gone, by the '
        "influences you named</figcaption>"
        f'<svg class="net" viewBox="0 0 {width:.0f} {height}" style="max-width:{width:.0f}px" '
        f'role="img" aria-label="{escape(_spoken(drawn), quote=True)}">'
        '<defs><marker id="step" viewBox="0 0 8 8" refX="7" refY="4" markerWidth="7" '
        'markerHeight="7" markerUnits="userSpaceOnUse" orient="auto">'
        '<path d="M0 0L8 4L0 8z" fill="context-stroke"/></marker></defs>'
        f"{''.join(parts)}</svg></figure>"
    )


def _spoken(ways: Sequence[tuple[str, str]]) -> str:
    return ", ".join(f"{cause} to {effect}" for cause, effect in ways)
