"""Slow twins of NPSR's formulas."""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray

Array = NDArray[np.floating]


def induced_score(errors: Array, gate: Array, reach: int) -> list[float]:
    """The double sum as it is written."""
    count = len(errors)
    scores = []
    for t in range(count):
        there = sum(1 for j in range(t - reach, t + reach + 1) if 0 <= j < count)
        total = 0.0
        for k in range(1, reach + 1):
            if t - k >= 0:
                total += errors[t - k] * math.prod(gate[j] for j in range(t - k + 1, t + 1))
            if t + k < count:
                total += errors[t + k] * math.prod(gate[j] for j in range(t, t + k))
        scores.append(errors[t] + 2 * reach / there * total)
    return scores


def median_blocks(values: Array, segments: list[int], size: int) -> list[list[float]]:
    """Medians of consecutive rows, segment by segment."""
    blocks = []
    for segment in dict.fromkeys(segments):
        inside = [row for row, number in zip(values, segments, strict=True) if number == segment]
        starts = range(0, len(inside), size)
        blocks += [np.median(inside[start : start + size], axis=0).tolist() for start in starts]
    return blocks


def softmax_attention(query: Array, key: Array, value: Array) -> Array:
    """Exact attention of one head, row by row."""
    rows = []
    for one in query:
        weight = np.exp(key @ one / math.sqrt(len(one)))
        rows.append(weight @ value / weight.sum())
    return np.array(rows)
