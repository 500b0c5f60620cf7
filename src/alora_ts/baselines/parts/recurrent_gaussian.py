"""Latent vectors along a window, each Gaussian given the features of its step and the last one."""

from __future__ import annotations

import math
from typing import Literal

import torch
from torch import Tensor, nn
from torch.nn import functional

__all__ = ["LOG_STD_BOUNDS", "GaussianHead", "RecurrentGaussian", "Scale", "gaussian_log_prob"]

Scale = Literal["softplus", "exp"]
LOG_STD_BOUNDS = (-5.0, 2.0)
_LEAST_STD = 1e-4


def gaussian_log_prob(x: Tensor, mean: Tensor, std: Tensor) -> Tensor:
    """Log-density of independent Gaussians, entry by entry.

    Examples
    --------
    >>> gaussian_log_prob(torch.zeros(1), torch.zeros(1), torch.ones(1))
    tensor([-0.9189])
    """
    return -0.5 * ((x - mean) / std).square() - std.log() - 0.5 * math.log(2 * math.pi)


def _positive(raw: Tensor, scale: Scale) -> Tensor:
    if scale == "softplus":
        return functional.softplus(raw) + _LEAST_STD
    return raw.clamp(*LOG_STD_BOUNDS).exp()


class GaussianHead(nn.Module):
    """Mean and standard deviation as two linear maps of the features.

    Parameters
    ----------
    features, size : int
        Length of the features and of the Gaussian vector.
    scale : {"softplus", "exp"}
        How a number becomes a standard deviation: softplus plus 1e-4, or the exponential of the
        number clipped to [−5, 2].
    """

    def __init__(self, features: int, size: int, *, scale: Scale) -> None:
        super().__init__()
        self.scale: Scale = scale
        self.mean = nn.Linear(features, size)
        self.spread = nn.Linear(features, size)

    def forward(self, features: Tensor) -> tuple[Tensor, Tensor]:
        """Return mean and standard deviation, (…, size) each."""
        return self.mean(features), _positive(self.spread(features), self.scale)


class RecurrentGaussian(nn.Module):
    """z_t ~ N(mean(d_t, z_{t−1}), std(d_t, z_{t−1})), both linear in [d_t; z_{t−1}], z_0 = 0.

    Parameters
    ----------
    features : int
        Length of d_t.
    size : int
        Length of z_t.
    scale : {"softplus", "exp"}
        As in :class:`GaussianHead`.
    """

    def __init__(self, features: int, size: int, *, scale: Scale) -> None:
        super().__init__()
        self.size = size
        self.head = GaussianHead(features + size, size, scale=scale)

    def sample(self, features: Tensor, noise: Tensor) -> tuple[Tensor, Tensor]:
        """Draw z along the window.

        Parameters
        ----------
        features : Tensor of shape (B, T, F)
        noise : Tensor of shape (B, T, size)
            Standard normal draws.

        Returns
        -------
        z : Tensor of shape (B, T, size)
        log_prob : Tensor of shape (B, T)
            Log-density of each z_t given what came before it.
        """
        weight = torch.cat([self.head.mean.weight, self.head.spread.weight])  # (2·size, F + size)
        bias = torch.cat([self.head.mean.bias, self.head.spread.bias])
        count = features.shape[-1]
        # Only the part that depends on the last z must wait for it.
        prepared = functional.linear(features, weight[:, :count], bias)  # (B, T, 2·size)
        of_last = weight[:, count:].T
        last = noise.new_zeros(noise.shape[0], self.size)
        drawn, stds = [], []
        for ready, epsilon in zip(prepared.unbind(1), noise.unbind(1), strict=True):
            mean, raw = torch.addmm(ready, last, of_last).chunk(2, dim=-1)
            std = _positive(raw, self.head.scale)
            last = mean + std * epsilon
            drawn.append(last)
            stds.append(std)
        std = torch.stack(stds, dim=1)
        # (z − mean) / std is the noise itself, which spares a subtraction and its rounding.
        log_prob = gaussian_log_prob(noise, torch.zeros_like(noise), torch.ones_like(noise))
        return torch.stack(drawn, dim=1), (log_prob - std.log()).sum(-1)

    def log_prob(self, features: Tensor, z: Tensor) -> Tensor:
        """Log-density of given z (B, T, size) step by step, (B, T)."""
        before = functional.pad(z[:, :-1], (0, 0, 1, 0))  # z_{t−1}, zeros first
        mean, std = self.head(torch.cat([features, before], dim=-1))
        return gaussian_log_prob(z, mean, std).sum(-1)
