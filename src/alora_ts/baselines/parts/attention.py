"""Softmax self-attention with a free inner width, and the post-norm blocks made of it.

Tokens may be time steps or variables; the caller decides what the token axis means.
"""

from __future__ import annotations

from torch import Tensor, nn
from torch.nn import functional

__all__ = ["AttentionBlock", "FeedForwardBlock", "PostNormLayer", "SelfAttention", "split_heads"]


def split_heads(projected: Tensor, heads: int) -> Tensor:
    """Give each head its share of the features: (B, N, H·w) to (B, H, N, w).

    Examples
    --------
    >>> import torch
    >>> split_heads(torch.zeros(2, 5, 12), 3).shape
    torch.Size([2, 3, 5, 4])
    """
    batch, tokens, _ = projected.shape
    return projected.view(batch, tokens, heads, -1).transpose(1, 2)


class SelfAttention(nn.Module):
    """Multi-head attention from ``dim`` features to ``dim`` features.

    Parameters
    ----------
    dim : int
        Features of a token.
    inner : int
        Features of all heads together; each head has ``inner // heads``.
    heads : int
    """

    def __init__(self, dim: int, *, inner: int, heads: int) -> None:
        super().__init__()
        if inner % heads:
            raise ValueError(f"the inner width {inner} is not a multiple of {heads} heads")
        self.heads = heads
        self.query = nn.Linear(dim, inner)
        self.key = nn.Linear(dim, inner)
        self.value = nn.Linear(dim, inner)
        self.out = nn.Linear(inner, dim)

    def forward(self, tokens: Tensor) -> tuple[Tensor, Tensor]:
        """Attend (B, N, dim) to (B, N, dim); also return the weights (B, H, N, N)."""
        query = split_heads(self.query(tokens), self.heads)  # (B, H, N, w)
        key = split_heads(self.key(tokens), self.heads)
        value = split_heads(self.value(tokens), self.heads)
        scores = query @ key.transpose(-1, -2) * query.shape[-1] ** -0.5
        weights = scores.softmax(-1)  # (B, H, N, N)
        mixed = (weights @ value).transpose(1, 2).flatten(2)  # (B, N, inner)
        return self.out(mixed), weights


class AttentionBlock(nn.Module):
    """Attention added to its input and normalised after.

    Parameters
    ----------
    dim, inner, heads : int
        As in :class:`SelfAttention`.
    dropout : float
        Applied to the attention's output while training.
    """

    def __init__(self, dim: int, *, inner: int, heads: int, dropout: float) -> None:
        super().__init__()
        self.attention = SelfAttention(dim, inner=inner, heads=heads)
        self.norm = nn.LayerNorm(dim)
        self.dropout = nn.Dropout(dropout)

    def forward(self, tokens: Tensor) -> tuple[Tensor, Tensor]:
        """Transform (B, N, dim) to (B, N, dim); also return the weights (B, H, N, N)."""
        attended, weights = self.attention(tokens)
        return self.norm(tokens + self.dropout(attended)), weights


class FeedForwardBlock(nn.Module):
    """A GELU feed-forward net added to its input and normalised after.

    Parameters
    ----------
    dim : int
        Features of a token.
    hidden : int
        Width of the hidden layer.
    dropout : float
        Applied to the hidden layer and to the output while training.
    """

    def __init__(self, dim: int, *, hidden: int, dropout: float) -> None:
        super().__init__()
        self.expand = nn.Linear(dim, hidden)
        self.contract = nn.Linear(hidden, dim)
        self.norm = nn.LayerNorm(dim)
        self.dropout = nn.Dropout(dropout)

    def forward(self, tokens: Tensor) -> Tensor:
        """Transform (B, N, dim) to (B, N, dim)."""
        hidden = self.dropout(functional.gelu(self.expand(tokens)))
        fed: Tensor = self.norm(tokens + self.dropout(self.contract(hidden)))
        return fed


class PostNormLayer(nn.Module):
    """An attention block, then a feed-forward block.

    Parameters
    ----------
    dim, inner, heads : int
        As in :class:`SelfAttention`.
    feed_forward : int
        Width of the hidden layer.
    dropout : float
        As in both blocks.
    """

    def __init__(
        self, dim: int, *, inner: int, heads: int, feed_forward: int, dropout: float
    ) -> None:
        super().__init__()
        self.attend = AttentionBlock(dim, inner=inner, heads=heads, dropout=dropout)
        self.feed = FeedForwardBlock(dim, hidden=feed_forward, dropout=dropout)

    def forward(self, tokens: Tensor) -> tuple[Tensor, Tensor]:
        """Transform (B, N, dim) to (B, N, dim); also return the weights (B, H, N, N)."""
        attended, weights = self.attend(tokens)
        return self.feed(attended), weights
