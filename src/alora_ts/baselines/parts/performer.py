"""Attention in linear time by random features (FAVOR+), and the block made of it."""

from __future__ import annotations

import math

import torch
from torch import Tensor, nn
from torch.nn import functional

from alora_ts.baselines.parts.attention import split_heads

__all__ = ["FavorAttention", "PerformerBlock", "favor_attention", "orthogonal_features"]

_FLOOR = 1e-4


def orthogonal_features(count: int, width: int) -> Tensor:
    """Draw Gaussian directions that are orthogonal within blocks of ``width``.

    Each keeps the length of an independent Gaussian vector, so that every single one is
    distributed as without the orthogonality.

    Returns
    -------
    Tensor of shape (count, width)

    Examples
    --------
    >>> drawn = orthogonal_features(3, 4)
    >>> bool((drawn @ drawn.T).triu(1).abs().max() < 1e-4)
    True
    """
    blocks = math.ceil(count / width)
    rotation, triangle = torch.linalg.qr(torch.randn(blocks, width, width))
    # The factorisation's own signs favour some directions; these make all equally likely.
    signs = triangle.diagonal(dim1=-2, dim2=-1).sign()
    directions: Tensor = rotation * signs[:, None]
    lengths = torch.randn(count, width).norm(dim=1, keepdim=True)
    features: Tensor = directions.reshape(-1, width)[:count] * lengths
    return features


def favor_attention(query: Tensor, key: Tensor, value: Tensor, features: Tensor) -> Tensor:
    """Approximate softmax(Q Kᵀ / √w) V without the matrix of weights.

    Parameters
    ----------
    query, key, value : Tensor of shape (…, N, w)
    features : Tensor of shape (m, w)
        Random directions.

    Returns
    -------
    Tensor of shape (…, N, w)
    """
    # The kernel's greatest exponents are taken out: they cancel, and the rest cannot overflow.
    mapped_query = _exponents(query, features)
    mapped_query = _kernel(mapped_query, mapped_query.amax(-1, keepdim=True))
    mapped_key = _exponents(key, features)
    mapped_key = _kernel(mapped_key, mapped_key.amax((-1, -2), keepdim=True))
    mixed = mapped_query @ (mapped_key.transpose(-1, -2) @ value)
    total = mapped_query @ mapped_key.sum(-2, keepdim=True).transpose(-1, -2)  # (…, N, 1)
    return mixed / total


def _exponents(tokens: Tensor, features: Tensor) -> Tensor:
    """w·(c x) − |c x|²/2 with c = width^(-1/4), (…, N, m)."""
    scaled = tokens * tokens.shape[-1] ** -0.25
    exponents: Tensor = scaled @ features.T - scaled.square().sum(-1, keepdim=True) / 2
    return exponents


def _kernel(exponents: Tensor, greatest: Tensor) -> Tensor:
    # A stabiliser, not part of the function: no gradient runs through it.
    values: Tensor = (exponents - greatest.detach()).exp() + _FLOOR
    return values / math.sqrt(exponents.shape[-1])


class FavorAttention(nn.Module):
    """Multi-head attention by :func:`favor_attention`.

    Parameters
    ----------
    width : int
        Features of a token.
    heads : int
        Each has ``width // heads`` = w features and int(w ln w) random directions, which are
        redrawn at every second training pass and stay as they are in evaluation.
    """

    features: Tensor

    def __init__(self, width: int, *, heads: int) -> None:
        super().__init__()
        self.heads = heads
        self.query = nn.Linear(width, width)
        self.key = nn.Linear(width, width)
        self.value = nn.Linear(width, width)
        self.out = nn.Linear(width, width)
        head_width = width // heads
        count = max(1, int(head_width * math.log(head_width)))
        self.register_buffer("features", orthogonal_features(count, head_width))
        self._passes = 0

    def forward(self, tokens: Tensor) -> Tensor:
        """Attend (B, N, width) to (B, N, width)."""
        if self.training:
            self._passes += 1
            if self._passes % 2 == 0:
                self.features.copy_(orthogonal_features(*self.features.shape))
        query, key, value = (
            split_heads(project(tokens), self.heads)
            for project in (self.query, self.key, self.value)
        )
        mixed = favor_attention(query, key, value, self.features)  # (B, H, N, w)
        attended: Tensor = self.out(mixed.transpose(1, 2).flatten(2))
        return attended


class PerformerBlock(nn.Module):
    """Attention and a feed-forward layer, each on normalised input and added to what it saw.

    Parameters
    ----------
    width, heads : int
        See :class:`FavorAttention`; the hidden layer is four times as wide.

    Examples
    --------
    >>> PerformerBlock(10, heads=2)(torch.zeros(1, 3, 10)).shape
    torch.Size([1, 3, 10])
    """

    def __init__(self, width: int, *, heads: int) -> None:
        super().__init__()
        self.norm_attention = nn.LayerNorm(width)
        self.attention = FavorAttention(width, heads=heads)
        self.norm_feed = nn.LayerNorm(width)
        self.expand = nn.Linear(width, 4 * width)
        self.contract = nn.Linear(4 * width, width)

    def forward(self, tokens: Tensor) -> Tensor:
        """Transform (B, N, width)."""
        tokens = tokens + self.attention(self.norm_attention(tokens))
        hidden = functional.gelu(self.expand(self.norm_feed(tokens)))
        fed: Tensor = self.contract(hidden)
        return tokens + fed
