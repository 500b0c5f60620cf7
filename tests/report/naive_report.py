"""The drawing helpers, one point at a time."""

from __future__ import annotations

import math


def naive_path(xs: list[float], ys: list[float]) -> str:
    out, pen_down, length = "", False, 0
    for x, y in zip(xs, ys, strict=True):
        if not math.isfinite(y):
            if length == 1:
                out += "h1"
            pen_down, length = False, 0
            continue
        out += ("L" if pen_down else "M") + f"{round(x)} {round(y)}"
        pen_down, length = True, length + 1
    return out + ("h1" if length == 1 else "")


def naive_height(value: float, low: float, high: float, *, alarm: bool) -> float:
    if not math.isfinite(value):
        return math.nan
    if alarm:
        value, low, high = (math.log2(1 + max(v, 0.0)) for v in (value, low, high))
    return 1000 * (1 - min(max((value - low) / (high - low), 0.0), 1.0))
