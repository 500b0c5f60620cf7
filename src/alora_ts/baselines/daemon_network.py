"""The networks of DAEMON: a variational autoencoder and two discriminators, all convolutional."""

from __future__ import annotations

import math
from dataclasses import dataclass

import torch
from torch import Tensor, nn
from torch.nn import functional

__all__ = ["DaemonNetworks", "Discriminator", "Generated", "Generator"]

_SHORTEST = 4  # steps that are left before a head looks at all of them


def _trunk(channels: int, base: int, length: int) -> nn.Sequential:
    """Halve the length until four steps are left, doubling the channels each time."""
    layers: list[nn.Module] = []
    out = base
    for _ in range(round(math.log2(length // _SHORTEST))):
        layers += [
            nn.Conv1d(channels, out, kernel_size=4, stride=2, padding=1),
            nn.BatchNorm1d(out),
            nn.LeakyReLU(0.2),
        ]
        channels, out = out, 2 * out
    return nn.Sequential(*layers)


def _widest(base: int, length: int) -> int:
    """Channels at a trunk's end."""
    return base * length // (2 * _SHORTEST)


def initialise(module: nn.Module) -> None:
    """Redraw the weights of convolutions and batch norms."""
    for part in module.modules():
        if isinstance(part, nn.Conv1d | nn.ConvTranspose1d):
            nn.init.xavier_normal_(part.weight)
        elif isinstance(part, nn.BatchNorm1d):
            nn.init.normal_(part.weight, 1.0, 0.02)
        else:
            continue
        if part.bias is not None:
            nn.init.zeros_(part.bias)


@dataclass(frozen=True)
class Generated:
    """What the generator gives.

    Attributes
    ----------
    reconstruction : Tensor of shape (B, d, T)
    latent : Tensor of shape (B, latent, 1)
    """

    reconstruction: Tensor
    latent: Tensor


class Generator(nn.Module):
    """A variational autoencoder over windows.

    Parameters
    ----------
    variables : int
        d.
    window : int
        T, a power of two of at least 8.
    base, latent : int
        Channels of the first layer, and of the latent.
    """

    def __init__(self, variables: int, *, window: int, base: int, latent: int) -> None:
        super().__init__()
        widest = _widest(base, window)
        self.trunk = _trunk(variables, base, window)
        self.mean = nn.Conv1d(widest, latent, kernel_size=_SHORTEST)
        self.spread = nn.Conv1d(widest, latent, kernel_size=_SHORTEST)
        layers: list[nn.Module] = [
            nn.ConvTranspose1d(latent, widest, kernel_size=_SHORTEST),
            nn.BatchNorm1d(widest),
            nn.ReLU(),
        ]
        channels = widest
        while channels > base:
            layers += [
                nn.ConvTranspose1d(channels, channels // 2, kernel_size=4, stride=2, padding=1),
                nn.BatchNorm1d(channels // 2),
                nn.ReLU(),
            ]
            channels //= 2
        layers += [
            nn.ConvTranspose1d(base, variables, kernel_size=4, stride=2, padding=1),
            nn.Sigmoid(),
        ]
        self.decoder = nn.Sequential(*layers)

    def encode(self, window: Tensor) -> tuple[Tensor, Tensor]:
        """Mean and log-variance (B, latent, 1) of the latent; the variance is always above 1."""
        features = self.trunk(window)
        return self.mean(features), functional.softplus(self.spread(features)) + 1e-4

    def forward(self, window: Tensor, *, noise: bool = True) -> Generated:
        """Rebuild (B, d, T) from a drawn latent, or from its mean."""
        latent, log_variance = self.encode(window)
        if noise:
            latent = latent + (log_variance / 2).exp() * torch.randn_like(latent)
        return Generated(self.decoder(latent), latent)


class Discriminator(nn.Module):
    """Distinguishes given from generated series.

    Parameters
    ----------
    channels, length : int
        Shape of what it sees.
    base : int
        Channels of the first layer.
    """

    def __init__(self, channels: int, length: int, *, base: int) -> None:
        super().__init__()
        self.trunk = _trunk(channels, base, length)
        self.head = nn.Conv1d(_widest(base, length), 1, kernel_size=_SHORTEST)

    def forward(self, series: Tensor) -> Tensor:
        """Log-odds (B, 1, 1) that (B, channels, length) was given."""
        odds: Tensor = self.head(self.trunk(series))
        return odds

    def loss(self, given: Tensor, generated: Tensor) -> Tensor:
        """Cross-entropy of taking one for given and the other for generated."""
        taken, refused = self(given), self(generated)
        return functional.binary_cross_entropy_with_logits(
            taken, torch.ones_like(taken)
        ) + functional.binary_cross_entropy_with_logits(refused, torch.zeros_like(refused))


class DaemonNetworks(nn.Module):
    """All three networks, and the range of the training rows' saliency.

    Parameters
    ----------
    variables : int
        d.
    window, base, latent : int
        See :class:`Generator`.

    Examples
    --------
    >>> networks = DaemonNetworks(3, window=16, base=4, latent=8)
    >>> networks.generator(torch.zeros(2, 3, 16)).reconstruction.shape
    torch.Size([2, 3, 16])
    """

    offset: Tensor
    factor: Tensor

    def __init__(self, variables: int, *, window: int, base: int, latent: int) -> None:
        super().__init__()
        self.generator = Generator(variables, window=window, base=base, latent=latent)
        self.of_windows = Discriminator(variables, window, base=base)
        self.of_latents = Discriminator(1, latent, base=base)
        self.register_buffer("offset", torch.zeros(variables, dtype=torch.float64))
        self.register_buffer("factor", torch.ones(variables, dtype=torch.float64))
        initialise(self)
