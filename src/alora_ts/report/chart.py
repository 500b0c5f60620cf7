"""Line charts as inline SVG that need no script and take zoom and hover from one where it runs.

A chart is a stretched SVG for the lines and plain HTML for the labels, so that lines follow the
width of the page while letters keep their size.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from html import escape

import numpy as np
from numpy.typing import NDArray

from alora_ts.report.moments import Clock
from alora_ts.report.scales import HEIGHT, Scale

__all__ = ["WIDTH", "Band", "Line", "chart", "path"]

# Horizontal units of a chart: enough for a fourfold zoom on a wide screen.
WIDTH = 10_000


@dataclass(frozen=True)
class Line:
    """One line of a chart.

    Attributes
    ----------
    name : str
        Shown with the value under the pointer.
    style : str
        CSS class.
    moments, values : ndarray of shape (n,)
        What is drawn; a value that is not finite interrupts the line.
    """

    name: str
    style: str
    moments: NDArray[np.float64]
    values: NDArray[np.floating]


@dataclass(frozen=True)
class Band:
    """A shaded stretch of a chart: an incident, or a gap in the data.

    With ``flag`` it carries a little flag that links to ``link``; where flags would overlap, the
    one with the larger ``weight`` is seen.
    """

    start: float
    end: float
    flag: str = ""
    link: str = ""
    title: str = ""
    weight: float = 0.0
    style: str = "band"


def path(x: NDArray[np.floating], y: NDArray[np.floating]) -> str:
    """Write a line as SVG path data with whole numbers, interrupted where ``y`` is missing.

    Examples
    --------
    >>> path(np.array([0.0, 1.2, 2.0, 3.0]), np.array([5.0, 6.4, np.nan, 8.0]))
    'M0 5L1 6M3 8h1'
    """
    known = np.isfinite(y)
    pieces: list[str] = []
    for run in np.split(np.arange(len(y)), np.flatnonzero(np.diff(known.astype(np.int8))) + 1):
        if not len(run) or not known[run[0]]:
            continue
        xs, ys = np.rint(x[run]).astype(int).tolist(), np.rint(y[run]).astype(int).tolist()
        points = [f"{a} {b}" for a, b in zip(xs, ys, strict=True)]
        # A lone point would be invisible; a stroke of one unit is a dot.
        pieces.append("M" + "L".join(points) + ("h1" if len(points) == 1 else ""))
    return "".join(pieces)


def _place(moment: float, low: float, high: float) -> float:
    return float(np.clip((moment - low) / max(high - low, 1e-12), 0, 1))


def chart(
    *,
    clock: Clock,
    low: float,
    high: float,
    scale: Scale,
    lines: Sequence[Line],
    label: str,
    bands: Sequence[Band] = (),
    style: str = "",
    between: bool = False,
    time_axis: bool = True,
) -> str:
    """Draw lines over time.

    Parameters
    ----------
    clock : Clock
        Writes the ticks.
    low, high : float
        First and last moment.
    scale : Scale
        The vertical axis; an alarm scale gets the line at 1 and a hot stroke above it.
    lines : sequence of Line
        Drawn in order; with ``between`` the space between the first two is shaded.
    label : str
        What a screen reader says.
    bands : sequence of Band
        Shaded stretches.
    style : str
        CSS classes of the figure; ``sync`` charts zoom together.
    between : bool
        See ``lines``.
    time_axis : bool
        Whether the moments are written below.

    Returns
    -------
    str
        HTML.
    """

    def across(moments: NDArray[np.float64]) -> NDArray[np.float64]:
        units: NDArray[np.float64] = (moments - low) / max(high - low, 1e-12) * WIDTH
        return units

    drawn = []
    for tick, _ in scale.ticks():
        height = float(scale.heights(np.array([tick]))[0])
        kind = "limit" if scale.alarm and tick == 1 else "grid"
        drawn.append(f'<path class="{kind}" d="M0 {height:.0f}H{WIDTH}"/>')
    for band in bands:
        left = _place(band.start, low, high) * WIDTH
        # Its stroke keeps even one row of a long year visible.
        width = _place(band.end, low, high) * WIDTH - left
        drawn.append(
            f'<rect class="{band.style}" x="{left:.0f}" width="{width:.0f}" height="{HEIGHT}"/>'
        )
    if between and len(lines) >= 2:
        drawn.append(_area(across(lines[0].moments), lines[0], lines[1], scale))
    for line in lines:
        data = path(across(line.moments), scale.heights(line.values))
        drawn.append(
            f'<path class="line {line.style}" data-name="{escape(line.name)}" d="{data}"/>'
        )
    if scale.alarm:
        limit = float(scale.heights(np.array([1.0]))[0])
        hot = lines[0].moments, np.maximum(lines[0].values, 1.0)
        data = path(across(hot[0]), scale.heights(hot[1]))
        drawn.append(f'<path class="hot" d="{data}L{WIDTH} {limit:.0f}L0 {limit:.0f}z"/>')
    heights = [
        f'<span style="top:{scale.heights(np.array([tick]))[0] / HEIGHT:.2%}">{escape(text)}</span>'
        for tick, text in scale.ticks()
    ]
    flags = "".join(
        f'<a class="flag" href="#{band.link}" data-at="{_place(band.start, low, high):.5f}" '
        f'data-weight="{band.weight:.6g}" style="left:{_place(band.start, low, high):.2%}" '
        f'title="{escape(band.title)}" aria-label="{escape(band.title)}">{escape(band.flag)}</a>'
        for band in bands
        if band.flag
    )
    moments = "".join(
        f'<span style="left:{_place(tick, low, high):.2%}">{escape(text)}</span>'
        for tick, text in clock.ticks(low, high)
        if 0.02 <= _place(tick, low, high) <= 0.98
    )
    facts = (
        f'data-low="{low!r}" data-high="{high!r}" data-clock="{clock.kind}" '
        f'data-bottom="{scale.low!r}" data-top="{scale.high!r}" data-alarm="{int(scale.alarm)}"'
    )
    foot = f'<div class="moments" aria-hidden="true">{moments}</div>' if time_axis else ""
    return (
        f'<figure class="chart {style}" {facts}>'
        + (f'<div class="flags">{flags}</div>' if flags else "")
        + f'<div class="heights" aria-hidden="true">{"".join(heights)}</div>'
        f'<div class="plot"><svg role="img" aria-label="{escape(label)}" '
        f'viewBox="0 0 {WIDTH} {HEIGHT}" preserveAspectRatio="none">{"".join(drawn)}</svg></div>'
        f"{foot}</figure>"
    )


def _area(x: NDArray[np.float64], first: Line, second: Line, scale: Scale) -> str:
    """Shade between two lines that share their moments."""
    upper, lower = scale.heights(first.values), scale.heights(second.values)
    known = np.isfinite(upper) & np.isfinite(lower)
    there, back = path(x[known], upper[known]), path(x[known][::-1], lower[known][::-1])
    return f'<path class="between" d="{there}L{back[1:]}z"/>' if known.any() else ""
