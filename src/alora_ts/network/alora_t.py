"""ALoRa-T, read top to bottom: embed, attend L times, reconstruct."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Self

import torch
from torch import Tensor, nn

from alora_ts.network.architecture import Architecture
from alora_ts.network.attention import ALoRaLayer
from alora_ts.network.embedding import DenseEmbedding, PairEmbedding
from alora_ts.network.linear import linear

__all__ = ["ALoRaT", "Encoding"]


@dataclass(frozen=True)
class Encoding:
    """What one forward pass gives.

    Attributes
    ----------
    reconstruction : Tensor of shape (B, T, d)
        Ŷ (Eq. 6).
    attention : tuple of L tensors of shape (B, T, T)
        S^(l), the mean over the heads.
    heads : tuple of L tensors of shape (B, H, T, T), or None
        S_h^(l), when asked for.
    """

    reconstruction: Tensor
    attention: tuple[Tensor, ...]
    heads: tuple[Tensor, ...] | None = None


class ALoRaT(nn.Module):
    """The Attention Low-Rank Transformer.

    Parameters
    ----------
    pairs : Tensor of shape (D, 2)
        The chosen pairs; their number is the model's width.
    variables, window : int
        d, the number of series, and T, the rows of a window.
    architecture : Architecture
        The other choices.
    generator : torch.Generator, optional
        Draws the first weights; by default torch's own, which the whole process shares.

    Examples
    --------
    >>> _ = torch.manual_seed(0)
    >>> pairs = torch.combinations(torch.arange(5))
    >>> network = ALoRaT(pairs, variables=5, window=12, architecture=Architecture(heads=2))
    >>> encoding = network(torch.randn(3, 12, 5))
    >>> encoding.reconstruction.shape, encoding.attention[0].shape
    (torch.Size([3, 12, 5]), torch.Size([3, 12, 12]))
    """

    positions: Tensor | None

    def __init__(
        self,
        pairs: Tensor,
        *,
        variables: int,
        window: int,
        architecture: Architecture,
        generator: torch.Generator | None = None,
    ) -> None:
        super().__init__()
        self.architecture = architecture
        self.variables = variables
        self.window = window
        embedded = len(pairs)
        how = architecture
        if how.embedding == "pairs":
            self.embed: PairEmbedding | DenseEmbedding = PairEmbedding(
                pairs,
                variables=variables,
                kernel=how.kernel,
                width=how.kernel_width,
                padding=how.padding,
                generator=generator,
            )
        else:
            self.embed = DenseEmbedding(
                variables=variables,
                embedded=embedded,
                width=how.kernel_width,
                padding=how.padding,
                generator=generator,
            )
        positions = sinusoids(window, embedded) if how.positional else None
        self.register_buffer("positions", positions, persistent=False)
        self.layers = nn.ModuleList(
            ALoRaLayer(
                embedded=embedded,
                window=window,
                heads=min(how.heads, embedded),
                skip=how.skip,
                feed_forward=how.feed_forward,
                activation=how.activation,
                time_norm=how.time_norm,
                causal=how.causal,
                generator=generator,
            )
            for _ in range(how.layers)
        )
        self.norm = nn.LayerNorm(embedded) if how.time_norm else None
        self.decode = linear(embedded, variables, generator)

    @classmethod
    def from_tensors(
        cls,
        tensors: Mapping[str, Tensor],
        *,
        variables: int,
        window: int,
        architecture: Architecture,
    ) -> Self:
        """Rebuild a trained network from its ``state_dict``, ready to be used."""
        network = cls(
            pairs_of(tensors),
            variables=variables,
            window=window,
            architecture=architecture,
            generator=torch.Generator(),
        )
        network.load_state_dict(tensors)
        return network.eval()

    @property
    def blocks(self) -> list[ALoRaLayer]:
        """The layers, typed."""
        return [layer for layer in self.layers if isinstance(layer, ALoRaLayer)]

    def forward(self, window: Tensor, *, per_head: bool = False) -> Encoding:
        """Reconstruct windows of shape (B, T, d)."""
        z = self.embed(window)  # (B, T, D)
        if self.positions is not None:
            z = z + self.positions
        means: list[Tensor] = []
        heads: list[Tensor] = []
        for layer in self.layers:
            z, attention = layer(z)  # (B, T, D), (B, H, T, T)
            means.append(attention.mean(1))
            if per_head:
                heads.append(attention)
        if self.norm is not None:
            z = self.norm(z)
        return Encoding(self.decode(z), tuple(means), tuple(heads) if per_head else None)


def pairs_of(tensors: Mapping[str, Tensor]) -> Tensor:
    """The pairs in a network's ``state_dict``, (D, 2)."""
    pairs = tensors.get("embed.pairs")
    if pairs is None:
        # A dense embedding has no pairs; only the width matters to build the network.
        pairs = torch.zeros(tensors["embed.weight"].shape[-1], 2, dtype=torch.long)
    return pairs


def sinusoids(steps: int, width: int) -> Tensor:
    """Sines and cosines of geometrically spaced frequencies, (T, D)."""
    time = torch.arange(steps, dtype=torch.float32)[:, None]
    frequency = torch.exp(torch.arange(0, width, 2) * (-math.log(10_000.0) / width))
    angles = time * frequency  # (T, ceil(D/2))
    return torch.stack([angles.sin(), angles.cos()], dim=-1).flatten(1)[:, :width]
