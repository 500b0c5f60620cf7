"""InterFusion's network: one latent map over time and variables, one latent path over time."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import torch
from torch import Tensor, nn

from alora_ts.baselines.parts.flows import RealNVP
from alora_ts.baselines.parts.recurrent_gaussian import (
    GaussianHead,
    RecurrentGaussian,
    gaussian_log_prob,
)
from alora_ts.errors import AloraError

__all__ = ["ConvolutionalVAE", "FusionOutput", "InterFusionNetwork"]

_KERNEL = 5


@dataclass(frozen=True)
class FusionOutput:
    """One posterior sample for each of B windows.

    Attributes
    ----------
    mean, std : Tensor of shape (B, T, D)
        Of the reconstructed rows.
    divergence : Tensor of shape (B,)
        log q − log p of the sampled latents, summed over the window.
    """

    mean: Tensor
    std: Tensor
    divergence: Tensor

    def log_likelihood(self, window: Tensor) -> Tensor:
        """Log-density of each cell of the windows, (B, T, D)."""
        return gaussian_log_prob(window, self.mean, self.std)

    def bound(self, window: Tensor) -> Tensor:
        """The evidence lower bound of each window, (B,)."""
        return self.log_likelihood(window).sum((1, 2)) - self.divergence


class ConvolutionalVAE(nn.Module):
    """Compress the time axis of every variable to z2 and spread it again.

    Parameters
    ----------
    variables : int
        D, the channels of all convolutions.
    window : int
        T.
    convolutions : int
        How many, odd; the first, third, … halve the length.
    """

    def __init__(self, *, variables: int, window: int, convolutions: int) -> None:
        super().__init__()
        if convolutions % 2 == 0:
            raise AloraError(f"InterFusion: convolutions={convolutions} must be odd")
        strides = [2 if index % 2 == 0 else 1 for index in range(convolutions)]
        lengths = [window]
        for stride in strides:
            lengths.append(-(-lengths[-1] // stride))
        self.down = nn.ModuleList(
            nn.Conv1d(variables, variables, _KERNEL, stride=stride, padding=_KERNEL // 2)
            for stride in strides
        )
        self.up = nn.ModuleList(
            nn.ConvTranspose1d(
                variables,
                variables,
                _KERNEL,
                stride=stride,
                padding=_KERNEL // 2,
                output_padding=long - (short - 1) * stride - 1,
            )
            for stride, short, long in zip(strides, lengths[:0:-1], lengths[-2::-1], strict=True)
        )
        self.posterior = GaussianHead(variables, variables, scale="exp")
        self.rows = GaussianHead(variables, variables, scale="exp")

    def encode(self, window: Tensor) -> tuple[Tensor, Tensor]:
        """Draw z2 (B, T', D) for windows (B, T, D); also return log q − log p, (B,)."""
        hidden = window.transpose(1, 2)
        for convolution in self.down:
            hidden = convolution(hidden).relu()
        mean, std = self.posterior(hidden.transpose(1, 2))
        noise = torch.randn_like(mean)
        z2 = mean + std * noise
        # The normalising constants of both Gaussians are the same and cancel.
        surplus = 0.5 * (z2.square() - noise.square()) - std.log()
        return z2, surplus.sum((1, 2))

    def decode(self, z2: Tensor) -> Tensor:
        """Spread z2 (B, T', D) over the window, (B, T, D)."""
        hidden = z2.transpose(1, 2)
        for convolution in self.up:
            hidden = convolution(hidden).relu()
        return hidden.transpose(1, 2)

    def forward(self, window: Tensor) -> FusionOutput:
        """Rebuild windows (B, T, D) from z2 alone, as the pre-training does."""
        z2, divergence = self.encode(window)
        mean, std = self.rows(self.decode(z2))
        return FusionOutput(mean, std, divergence)

    def kernels(self) -> Iterator[Tensor]:
        """Return the weights that are kept small."""
        for convolution in (*self.down, *self.up):
            assert isinstance(convolution.weight, Tensor)
            yield convolution.weight


class InterFusionNetwork(nn.Module):
    """The convolutional autoencoder, and on top of it the path z1 and the rows.

    Parameters
    ----------
    variables, window, convolutions : int
        As in :class:`ConvolutionalVAE`.
    latent : int
        Length of z1 at a step, at least 2.
    width : int
        Width of the recurrent and linear layers.
    flows, flow_width : int
        Number of flow layers and their hidden width.

    Notes
    -----
    The buffer ``usual`` holds the mean log-likelihood of a normal window once trained.
    """

    usual: Tensor

    def __init__(
        self,
        *,
        variables: int,
        window: int,
        convolutions: int,
        latent: int,
        width: int,
        flows: int,
        flow_width: int,
    ) -> None:
        super().__init__()
        self.convolutional = ConvolutionalVAE(
            variables=variables, window=window, convolutions=convolutions
        )
        self.gru = nn.GRU(variables, width, batch_first=True)
        self.features = nn.Sequential(
            nn.Linear(width, width), nn.ReLU(), nn.Linear(width, width), nn.ReLU()
        )
        self.posterior = RecurrentGaussian(width, latent, scale="exp")
        self.flow = RealNVP(latent, layers=flows, width=flow_width)
        self.prior = RecurrentGaussian(variables, latent, scale="exp")
        self.widen = nn.Linear(latent, variables)
        self.fuse = nn.Sequential(
            nn.Linear(2 * variables, width), nn.ReLU(), nn.Linear(width, width), nn.ReLU()
        )
        self.rows = GaussianHead(width, variables, scale="exp")
        self.register_buffer("usual", torch.zeros(()))

    def forward(self, window: Tensor) -> FusionOutput:
        """Rebuild windows (B, T, D) from one sample of both latents."""
        z2, divergence = self.convolutional.encode(window)
        spread = self.convolutional.decode(z2)  # e, (B, T, D)
        backwards, _ = self.gru(spread.flip(1))
        features = self.features(backwards.flip(1))  # (B, T, width)
        noise = torch.randn(*window.shape[:2], self.posterior.size, device=window.device)
        base, log_base = self.posterior.sample(features, noise)
        z1, log_det = self.flow(base)  # (B, T, n), (B, T)
        log_posterior = (log_base - log_det).sum(1)
        divergence = divergence + log_posterior - self.prior.log_prob(spread, z1).sum(1)
        mean, std = self.rows(self.fuse(torch.cat([self.widen(z1), spread], dim=-1)))
        return FusionOutput(mean, std, divergence)

    def kernels(self) -> Iterator[Tensor]:
        """Return the weights that are kept small."""
        yield from self.convolutional.kernels()
        for layers in (self.features, self.fuse):
            yield from (layer.weight for layer in layers if isinstance(layer, nn.Linear))
        yield from self.flow.hidden_weights()
