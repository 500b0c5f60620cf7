"""Appendix E in plain loops."""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray

Array = NDArray[np.float64]


def follow(
    window: Array, queries: list[Array], keys: list[Array], values: list[Array], *, skip: bool
) -> tuple[Array, list[Array]]:
    """The latent series (T, D) of one window and the attention matrices of its layers."""
    z = [list(row) for row in window]
    steps, width = window.shape
    matrices = []
    for wq, wk, wv in zip(queries, keys, values, strict=True):
        q, k, v = (_times(z, weights) for weights in (wq, wk, wv))
        attention = np.zeros((steps, steps))
        for t in range(steps):
            scores = [
                sum(q[t][a] * k[s][a] for a in range(width)) / math.sqrt(width)
                for s in range(steps)
            ]
            top = max(scores)
            powers = [math.exp(score - top) for score in scores]
            attention[t] = [power / sum(powers) for power in powers]
        new = [
            [sum(attention[t, s] * v[s][a] for s in range(steps)) for a in range(width)]
            for t in range(steps)
        ]
        z = [[new[t][a] + z[t][a] for a in range(width)] for t in range(steps)] if skip else new
        matrices.append(attention)
    return np.array(z), matrices


def mix(window: Array, matrices: list[Array], values: list[Array], *, skip: bool) -> Array:
    """The latent series when the attention matrices are given."""
    z = window
    for attention, weights in zip(matrices, values, strict=True):
        new = attention @ z @ weights
        z = new + z if skip else new
    return z


def _times(rows: list[list[float]], weights: Array) -> list[list[float]]:
    return [
        [sum(row[a] * weights[a, b] for a in range(len(row))) for b in range(weights.shape[1])]
        for row in rows
    ]
