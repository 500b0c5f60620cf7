"""D3R's network: take the stable part out, measure the drift, rebuild from noise."""

from __future__ import annotations

from dataclasses import dataclass

import torch
from torch import Tensor, nn
from torch.nn import functional

from alora_ts.baselines.d3r_blocks import (
    DecompositionBlock,
    SpatioTemporalBlock,
    TemporalBlock,
    kaiming_linear,
)
from alora_ts.network.alora_t import sinusoids

__all__ = ["TIME_FEATURES", "D3RNetwork", "D3ROutput", "offset"]

TIME_FEATURES = 5


@dataclass(frozen=True)
class D3ROutput:
    """What the network says of a batch of windows.

    Attributes
    ----------
    stable, trend, reconstruction : Tensor of shape (B, T, D)
        The part that recurs with time, the drift (one number per window and variable), and the
        window rebuilt.
    """

    stable: Tensor
    trend: Tensor
    reconstruction: Tensor


def offset(data: Tensor, stable: Tensor, *, reach: int) -> Tensor:
    """Mean over the window of how far the data lie from the nearest stable value around.

    Parameters
    ----------
    data, stable : Tensor of shape (B, T, D)
    reach : int
        Steps to both sides among which the stable value may be; it stays constant beyond the
        window.

    Returns
    -------
    Tensor of shape (B, 1, D)

    Examples
    --------
    >>> wave = torch.tensor([0.0, 1.0, 0.0, 1.0])[None, :, None]
    >>> offset(wave.flip(1) + 5, wave, reach=1)  # half a period late, 5 too high
    tensor([[[4.5000]]])
    """
    padded = functional.pad(stable.transpose(1, 2), (reach, reach), mode="replicate")
    around = padded.unfold(2, 2 * reach + 1, 1)  # (B, D, T, 2·reach + 1)
    residuals = data.transpose(1, 2)[..., None] - around
    nearest = residuals.abs().argmin(-1, keepdim=True)
    smallest = residuals.gather(-1, nearest)[..., 0]  # (B, D, T)
    return smallest.mean(-1)[:, None]


def _embed_time(width: int) -> nn.Sequential:
    return nn.Sequential(kaiming_linear(TIME_FEATURES, width), nn.LayerNorm(width))


class D3RNetwork(nn.Module):
    """Dynamic decomposition and reconstruction through noise.

    Parameters
    ----------
    variables : int
        D.
    window : int
        T.
    width, heads, feed_forward, blocks : int
        Sizes; all stacks have the same number of blocks.
    dropout : float
        In all blocks of a stack but its last.
    reach : int
        As in :func:`offset`.
    signal : float
        ᾱ: the share of the signal's variance that the noise leaves.
    """

    positions: Tensor

    def __init__(
        self,
        *,
        variables: int,
        window: int,
        width: int,
        heads: int,
        feed_forward: int,
        blocks: int,
        dropout: float,
        reach: int,
        signal: float,
    ) -> None:
        super().__init__()
        self.reach = reach
        self.signal = signal
        self.register_buffer("positions", sinusoids(window, width), persistent=False)
        sizes = {"heads": heads, "feed_forward": feed_forward}
        dropouts = [dropout] * (blocks - 1) + [0.0]

        self.data_embed = kaiming_linear(variables, width)
        self.data_positions = nn.LayerNorm(width)
        self.data_encoder = nn.Sequential(
            *(SpatioTemporalBlock(window, width, **sizes, dropout=rate) for rate in dropouts)
        )
        self.time_embed = _embed_time(width)
        self.time_encoder = nn.ModuleList(
            TemporalBlock(width, **sizes, dropout=rate) for rate in dropouts
        )
        self.decomposition = nn.ModuleList(
            DecompositionBlock(variables, width, **sizes, dropout=rate) for rate in dropouts
        )
        self.noisy_embed = kaiming_linear(variables, width)
        self.noisy_positions = nn.LayerNorm(width)
        self.noisy_time = _embed_time(width)
        self.rebuild = nn.Sequential(
            *(SpatioTemporalBlock(window, width, **sizes, dropout=rate) for rate in dropouts)
        )
        self.out = nn.Linear(width, variables)

    def forward(self, window: Tensor, time: Tensor, disturbance: Tensor | None = None) -> D3ROutput:
        """Decompose and rebuild windows.

        Parameters
        ----------
        window : Tensor of shape (B, T, D)
        time : Tensor of shape (B, T, 5)
        disturbance : Tensor of shape (B, 1, D), optional
            A drift added to the input and taken from trend and reconstruction again.
        """
        drift = torch.zeros_like(window[:, :1]) if disturbance is None else disturbance
        drifted = window + drift
        stable = self.decompose(drifted, time)
        trend = offset(drifted, stable, reach=self.reach).expand_as(drifted)
        reconstruction = self.reconstruct(drifted, trend, time)
        return D3ROutput(stable, trend - drift, reconstruction - drift)

    def decompose(self, window: Tensor, time: Tensor) -> Tensor:
        """Find the stable part of windows (B, T, D)."""
        data = self.data_embed(window) + self.data_positions(self.positions)
        data = self.data_encoder(data)  # (B, T, width)
        moment = self.time_embed(time)
        for block in self.time_encoder:
            moment, _ = block(moment)
        stable = torch.zeros_like(window)
        for block in self.decomposition:
            data, found = block(data, moment)
            stable = stable + found
        return stable

    def reconstruct(self, window: Tensor, trend: Tensor, time: Tensor) -> Tensor:
        """Rebuild windows (B, T, D) from little signal and much noise around the trend."""
        kept = self.signal**0.5
        noise = torch.randn_like(window)
        noisy = kept * window + (1 - self.signal) ** 0.5 * noise + (1 - kept) * trend
        level = self.noisy_embed(trend)
        hidden = self.noisy_embed(noisy) - level
        hidden = hidden + self.noisy_positions(self.positions) + self.noisy_time(time)
        rebuilt: Tensor = self.out(self.rebuild(hidden) + level)
        return rebuilt
