"""Slow twins of Anomaly Transformer's and MEMTO's formulas, one number at a time."""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray

Array = NDArray[np.floating]


def prior_row(raw: float, at: int, steps: int) -> list[float]:
    """The normalised density around one time step."""
    sigma = 3 ** (1 / (1 + math.exp(-5 * raw)) + 1e-5) - 1
    density = [
        math.exp(-((at - j) ** 2) / (2 * sigma**2)) / (math.sqrt(2 * math.pi) * sigma)
        for j in range(steps)
    ]
    return [value / sum(density) for value in density]


def row_kl(p: Array, q: Array) -> Array:
    """(H, T, T) twice to (T,): mean over heads of the divergence of rows."""
    heads, steps, _ = p.shape
    result = np.zeros(steps)
    for h in range(heads):
        for i in range(steps):
            for j in range(steps):
                ratio = math.log(p[h, i, j] + 1e-4) - math.log(q[h, i, j] + 1e-4)
                result[i] += p[h, i, j] * ratio / heads
    return result


def memory_update(items: Array, queries: Array, gate: Array) -> Array:
    """New items when the gate's value is known, one item at a time."""
    updated = np.empty_like(items)
    for m, item in enumerate(items):
        strength = np.array([math.exp(float(item @ query)) for query in queries])
        gathered = sum(
            share * query for share, query in zip(strength / strength.sum(), queries, strict=True)
        )
        updated[m] = (1 - gate[m]) * item + gate[m] * gathered
    return updated
