"""OmniAnomaly's network: a recurrent variational autoencoder with a planar flow."""

from __future__ import annotations

import math
from dataclasses import dataclass

import torch
from torch import Tensor, nn

from alora_ts.baselines.parts.flows import PlanarFlow, chain
from alora_ts.baselines.parts.recurrent_gaussian import (
    GaussianHead,
    RecurrentGaussian,
    gaussian_log_prob,
)

__all__ = ["OmniAnomalyNetwork", "OmniOutput", "random_walk_log_prob"]


def random_walk_log_prob(z: Tensor) -> Tensor:
    """Log-density of z under a random walk seen through noise, by a scalar Kalman filter.

    Per latent entry: s_1 ~ N(0, 1), s_t = s_{t−1} + N(0, 1), z_t = s_t + N(0, 1).

    Parameters
    ----------
    z : Tensor of shape (B, T, n)

    Returns
    -------
    Tensor of shape (B, T)
        log p(z_t | z_1 … z_{t−1}), summed over the entries.

    Examples
    --------
    >>> random_walk_log_prob(torch.zeros(1, 1, 1))  # z_1 ~ N(0, 2)
    tensor([[-1.2655]])
    """
    mean = torch.zeros_like(z[:, 0])
    spread = 1.0  # P, which depends on t alone
    parts = []
    for seen in z.unbind(1):
        total = spread + 1  # S
        surprise = seen - mean
        log_prob = -0.5 * (surprise.square() / total + math.log(2 * math.pi * total))
        parts.append(log_prob.sum(-1))
        gain = spread / total
        mean = mean + gain * surprise
        spread = (1 - gain) * spread + 1
    return torch.stack(parts, dim=1)


@dataclass(frozen=True)
class OmniOutput:
    """One posterior sample for each of B windows.

    Attributes
    ----------
    mean, std : Tensor of shape (B, T, D)
        Of the reconstructed rows.
    z : Tensor of shape (B, T, n)
        The latent path after the flow.
    log_posterior : Tensor of shape (B, T)
        log q(z_t): the density before the flow less the flow's log-determinant.
    """

    mean: Tensor
    std: Tensor
    z: Tensor
    log_posterior: Tensor

    def log_likelihood(self, window: Tensor) -> Tensor:
        """Log-density of each cell of the windows, (B, T, D)."""
        return gaussian_log_prob(window, self.mean, self.std)


class OmniAnomalyNetwork(nn.Module):
    """Encode a window to a latent path and decode the path to Gaussians over its rows.

    Parameters
    ----------
    variables : int
        D.
    latent : int
        n, the length of z_t.
    width : int
        Width of both GRUs and of the two linear layers behind each.
    flows : int
        Number of planar layers.
    """

    def __init__(
        self, *, variables: int, latent: int = 3, width: int = 500, flows: int = 20
    ) -> None:
        super().__init__()
        self.latent = latent
        self.encoder = nn.ModuleDict(
            {
                "gru": nn.GRU(variables, width, batch_first=True),
                "features": nn.Sequential(nn.Linear(width, width), nn.Linear(width, width)),
                "posterior": RecurrentGaussian(width, latent, scale="softplus"),
            }
        )
        self.flows = nn.ModuleList(PlanarFlow(latent) for _ in range(flows))
        self.decoder = nn.ModuleDict(
            {
                "gru": nn.GRU(latent, width, batch_first=True),
                "features": nn.Sequential(nn.Linear(width, width), nn.Linear(width, width)),
                "rows": GaussianHead(width, variables, scale="softplus"),
            }
        )

    def forward(self, window: Tensor, noise: Tensor) -> OmniOutput:
        """Pass windows (B, T, D) through, with standard normal noise (B, T, n)."""
        hidden, _ = self.encoder["gru"](window)
        features = self.encoder["features"](hidden)  # (B, T, width)
        posterior = self.encoder["posterior"]
        assert isinstance(posterior, RecurrentGaussian)
        base, log_base = posterior.sample(features, noise)
        z, log_det = chain(self.flows, base)  # (B, T, n), (B, T)
        decoded, _ = self.decoder["gru"](z)
        mean, std = self.decoder["rows"](self.decoder["features"](decoded))
        return OmniOutput(mean, std, z, log_base - log_det)
