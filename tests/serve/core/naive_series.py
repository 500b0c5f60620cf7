"""Extremes the slow way."""

from __future__ import annotations

import math


def extremes(
    times: list[int], values: list[float], *, start: int, width: int, parts: int
) -> list[tuple[int, float]]:
    """Time and value of the first lowest and first highest in every stretch, in order."""
    kept: set[tuple[int, float]] = set()
    for part in range(parts):
        inside = [
            (time, value)
            for time, value in zip(times, values, strict=True)
            if min((time - start) * parts // width, parts - 1) == part and not math.isnan(value)
        ]
        if inside:
            kept.add(min(inside, key=lambda one: one[1]))
            kept.add(max(inside, key=lambda one: one[1]))
    return sorted(kept)
