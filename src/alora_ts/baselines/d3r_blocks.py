"""D3R's blocks: attention over time, over features, both at once, and of data mixed with time."""

from __future__ import annotations

import torch
from torch import Tensor, nn
from torch.nn import functional

from alora_ts.baselines.parts.attention import (
    AttentionBlock,
    FeedForwardBlock,
    PostNormLayer,
    split_heads,
)

__all__ = [
    "DecompositionBlock",
    "SpatialBlock",
    "SpatioTemporalBlock",
    "TemporalBlock",
    "kaiming_linear",
]


def _redraw(layer: nn.Linear) -> None:
    """Draw the weights as the published 1×1 convolutions do."""
    nn.init.kaiming_normal_(layer.weight, mode="fan_in", nonlinearity="leaky_relu")


def kaiming_linear(inputs: int, outputs: int) -> nn.Linear:
    """Make a linear layer whose weights are Kaiming-normal.

    Examples
    --------
    >>> kaiming_linear(3, 5).weight.shape
    torch.Size([5, 3])
    """
    layer = nn.Linear(inputs, outputs)
    _redraw(layer)
    return layer


def _feed_forward(width: int, *, hidden: int, dropout: float) -> FeedForwardBlock:
    block = FeedForwardBlock(width, hidden=hidden, dropout=dropout)
    _redraw(block.expand)
    _redraw(block.contract)
    return block


class TemporalBlock(PostNormLayer):
    """Attention over the steps of a window.

    Parameters
    ----------
    width, heads, feed_forward : int
    dropout : float
    """

    def __init__(self, width: int, *, heads: int, feed_forward: int, dropout: float) -> None:
        super().__init__(
            width, inner=width, heads=heads, feed_forward=feed_forward, dropout=dropout
        )
        self.feed = _feed_forward(width, hidden=feed_forward, dropout=dropout)


class SpatialBlock(nn.Module):
    """Attention over the features, each a token of T numbers.

    Parameters
    ----------
    window : int
        T.
    width, heads, feed_forward : int
    dropout : float
    """

    def __init__(
        self, window: int, width: int, *, heads: int, feed_forward: int, dropout: float
    ) -> None:
        super().__init__()
        self.attend = AttentionBlock(window, inner=width, heads=heads, dropout=dropout)
        self.feed = _feed_forward(width, hidden=feed_forward, dropout=dropout)

    def forward(self, x: Tensor) -> Tensor:
        """Transform (B, T, width) to (B, T, width)."""
        attended, _ = self.attend(x.transpose(1, 2))
        fed: Tensor = self.feed(attended.transpose(1, 2))
        return fed


class SpatioTemporalBlock(nn.Module):
    """A temporal and a spatial block side by side, fused without a residual.

    Parameters
    ----------
    window, width, heads, feed_forward : int
    dropout : float
    """

    def __init__(
        self, window: int, width: int, *, heads: int, feed_forward: int, dropout: float
    ) -> None:
        super().__init__()
        sizes = {"heads": heads, "feed_forward": feed_forward}
        self.temporal = TemporalBlock(width, **sizes, dropout=dropout)
        self.spatial = SpatialBlock(window, width, **sizes, dropout=dropout)
        self.norm_both = nn.LayerNorm(2 * width)
        self.expand = kaiming_linear(2 * width, feed_forward)
        self.contract = kaiming_linear(feed_forward, width)
        self.norm = nn.LayerNorm(width)
        self.dropout = nn.Dropout(dropout)

    def forward(self, x: Tensor) -> Tensor:
        """Transform (B, T, width) to (B, T, width)."""
        temporal, _ = self.temporal(x)
        both = self.norm_both(torch.cat([temporal, self.spatial(x)], dim=-1))
        fused = self.contract(functional.gelu(self.expand(both)))
        normal: Tensor = self.norm(self.dropout(fused))
        return normal


class DecompositionBlock(nn.Module):
    """Find what of the data recurs with time, and take it out.

    Parameters
    ----------
    variables : int
        D.
    width, heads, feed_forward : int
    dropout : float
    """

    def __init__(
        self, variables: int, width: int, *, heads: int, feed_forward: int, dropout: float
    ) -> None:
        super().__init__()
        self.heads = heads
        self.data_query = nn.Linear(width, width)
        self.data_key = nn.Linear(width, width)
        self.time_query = nn.Linear(width, width)
        self.time_key = nn.Linear(width, width)
        self.time_value = nn.Linear(width, width)
        self.out = nn.Linear(width, width)
        self.norm_mixed = nn.LayerNorm(width)
        self.attend = AttentionBlock(width, inner=width, heads=heads, dropout=dropout)
        self.feed = _feed_forward(width, hidden=feed_forward, dropout=dropout)
        self.norm_rest = nn.LayerNorm(width)
        self.stable = nn.Sequential(
            nn.Linear(width, feed_forward), nn.GELU(), nn.Linear(feed_forward, variables)
        )
        self.dropout = nn.Dropout(dropout)

    def mix(self, data: Tensor, time: Tensor) -> Tensor:
        """Attend by data and time together to values of time alone, (B, T, width)."""
        queries = [
            split_heads(q, self.heads) for q in (self.data_query(data), self.time_query(time))
        ]
        keys = [split_heads(k, self.heads) for k in (self.data_key(data), self.time_key(time))]
        # One product of the concatenated heads is the sum of the two products.
        scores = torch.cat(queries, -1) @ torch.cat(keys, -1).transpose(-1, -2)
        weights = (scores * queries[0].shape[-1] ** -0.5).softmax(-1)  # (B, H, T, T)
        mixed = weights @ split_heads(self.time_value(time), self.heads)
        normal: Tensor = self.norm_mixed(self.dropout(self.out(mixed.transpose(1, 2).flatten(2))))
        return normal

    def forward(self, data: Tensor, time: Tensor) -> tuple[Tensor, Tensor]:
        """Return what is left of the data, (B, T, width), and the stable part found, (B, T, D)."""
        attended, _ = self.attend(self.mix(data, time))
        found = self.feed(attended)
        return self.norm_rest(data - found), self.stable(found)
