"""Slow twins of DAEMON's formulas."""

from __future__ import annotations

import cmath
import math
from typing import TYPE_CHECKING

import numpy as np
import torch
from numpy.typing import NDArray

if TYPE_CHECKING:
    from alora_ts.baselines.daemon_network import Generator

Array = NDArray[np.floating]


def spectral_residual(series: Array) -> list[float]:
    """One column, with the Fourier sums written out."""
    count = len(series)
    spectrum = [
        sum(x * cmath.exp(-2j * math.pi * k * t / count) for t, x in enumerate(series))
        for k in range(count)
    ]
    logs = [math.log(max(abs(value), 1e-8)) for value in spectrum]
    residual = []
    for k, value in enumerate(spectrum):
        recent = logs[max(0, k - 2) : k + 1]
        surprise = math.exp(logs[k] - sum(recent) / len(recent))
        residual.append(value / abs(value) * surprise if abs(value) > 1e-8 else 0.0)
    turn = 2j * math.pi / count
    return [
        abs(sum(value * cmath.exp(turn * k * t) for k, value in enumerate(residual))) / count
        for t in range(count)
    ]


def attribution(generator: Generator, window: torch.Tensor, steps: int) -> Array:
    """Shares of the variables of one window (d, T), one point of the path at a time."""
    with torch.no_grad():
        rebuilt = generator(window[None], noise=False).reconstruction[0]
    slopes = torch.zeros(len(window))
    for step in range(steps):
        point = window + step / (steps - 1) * (rebuilt - window)
        point = point[None].detach().requires_grad_()
        error = (generator(point, noise=False).reconstruction - point).abs().mean()
        (slope,) = torch.autograd.grad(error, point)
        slopes += slope[0, :, -1]
    published = slopes * (rebuilt - window)[:, -1] / steps
    ours: Array = (-published / published.abs().sum()).numpy()
    return ours
