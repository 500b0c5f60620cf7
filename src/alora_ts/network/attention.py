"""The ALoRa layer: multi-head attention with a residual, and nothing else by default (Eqs. 2, 3).

Given its attention matrices a default layer is linear in its input. The switches exist for the
paper's ablations and for comparison with its authors' program; what each costs in exactness is
said in :mod:`alora_ts.network.contributions`.
"""

from __future__ import annotations

from typing import Literal

import torch
from torch import Tensor, nn
from torch.nn import functional

from alora_ts.network.linear import linear

__all__ = ["ALoRaLayer", "Activation", "attend", "by_head", "later_steps"]

Activation = Literal["none", "relu", "gelu"]


def attend(query: Tensor, key: Tensor, *, causal: bool = False) -> Tensor:
    """Attention matrices of all heads (Eq. 2, scaled by the head width).

    Parameters
    ----------
    query, key : Tensor of shape (B, H, T, D/H)
    causal : bool
        Mask M: a step sees itself and the steps before it.

    Returns
    -------
    Tensor of shape (B, H, T, T)
        Row-stochastic: each row sums to one.
    """
    scores = query @ key.transpose(-1, -2) * query.shape[-1] ** -0.5  # (B, H, T, T)
    if causal:
        scores = scores.masked_fill(later_steps(scores), float("-inf"))
    stochastic: Tensor = scores.softmax(-1)
    return stochastic


def by_head(rows: Tensor, heads: int) -> Tensor:
    """A view of (B, T, H·w) as (B, H, T, w).

    Examples
    --------
    >>> by_head(torch.zeros(5, 7, 12), 3).shape
    torch.Size([5, 3, 7, 4])
    """
    batch, steps, _ = rows.shape
    return rows.view(batch, steps, heads, -1).transpose(1, 2)


def later_steps(matrices: Tensor) -> Tensor:
    """Where a causal mask hides: the steps after each step, (T, T), for matrices (…, T).

    Examples
    --------
    >>> later_steps(torch.zeros(2, 2))
    tensor([[False,  True],
            [False, False]])
    """
    steps = matrices.shape[-1]
    return torch.ones(steps, steps, dtype=torch.bool, device=matrices.device).triu(1)


class ALoRaLayer(nn.Module):
    """One layer: attention over the time steps of a window, added to its input.

    Parameters
    ----------
    embedded : int
        D, the number of embedded series.
    window : int
        T, needed by the LayerNorm over time only.
    heads : int
        H. The head width is D // H, and the projections go D → H·(D // H) → D.
    skip : bool
        Add the input to the output (Eq. 3). Without it Eq. 4 holds.
    feed_forward : bool
        Add a feed-forward block (D → 2D → D, with residual if ``skip``) after the attention.
    activation : {"none", "relu", "gelu"}
        Applied to the layer's output, and inside the feed-forward block.
    time_norm : bool
        LayerNorm over the time axis after the attention and again at the end of the layer, as
        the authors' program does. Removes the level of each series inside the window.
    causal : bool
        Mask later steps.
    generator : torch.Generator, optional
        Draws the first weights.
    """

    def __init__(
        self,
        *,
        embedded: int,
        window: int,
        heads: int,
        skip: bool,
        feed_forward: bool,
        activation: Activation,
        time_norm: bool,
        causal: bool,
        generator: torch.Generator | None = None,
    ) -> None:
        super().__init__()
        self.heads = heads
        self.skip = skip
        self.activation: Activation = activation
        self.causal = causal
        inner = heads * (embedded // heads)
        self.query_key_value = linear(embedded, 3 * inner, generator)
        self.project = linear(inner, embedded, generator)
        self.expand = linear(embedded, 2 * embedded, generator) if feed_forward else None
        self.contract = linear(2 * embedded, embedded, generator) if feed_forward else None
        self.norm_attention = nn.LayerNorm(window) if time_norm else None
        self.norm_output = nn.LayerNorm(window) if time_norm else None

    def forward(self, z: Tensor) -> tuple[Tensor, Tensor]:
        """Transform (B, T, D) to (B, T, D); also return the attention matrices (B, H, T, T)."""
        batch, steps, _ = z.shape
        projected = self.query_key_value(z)  # (B, T, 3·H·D/H)
        query, key, value = projected.view(batch, steps, 3, self.heads, -1).permute(2, 0, 3, 1, 4)
        attention = attend(query, key, causal=self.causal)  # (B, H, T, T)
        mixed = (attention @ value).transpose(1, 2).reshape(batch, steps, -1)  # (B, T, H·D/H)
        z = self._residual(z, self.project(mixed))
        if self.norm_attention is not None:
            z = self.norm_attention(z.transpose(1, 2)).transpose(1, 2)
        if self.expand is not None and self.contract is not None:
            z = self._residual(z, self.contract(self._activate(self.expand(z))))
        if self.norm_output is not None:
            z = self.norm_output(z.transpose(1, 2)).transpose(1, 2)
        return self._activate(z), attention

    def value_weights(self) -> Tensor:
        """W_V of each head times its share of the output projection, (H, D, D).

        Their sum over the heads is the paper's W^(V,l) = [W_V^1 … W_V^H] · W_proj (Algorithm 2).
        """
        inner, embedded = self.project.in_features, self.project.out_features
        value = self.query_key_value.weight[2 * inner :]  # (H·D/H, D)
        value = value.view(self.heads, -1, embedded).transpose(1, 2)  # (H, D, D/H)
        project = self.project.weight.T.reshape(self.heads, -1, embedded)  # (H, D/H, D)
        return torch.bmm(value, project)

    def feed_forward_weights(self) -> Tensor | None:
        """The feed-forward block as one matrix (D, D), its activation left out; None without."""
        if self.expand is None or self.contract is None:
            return None
        return self.expand.weight.T @ self.contract.weight.T

    def _residual(self, z: Tensor, change: Tensor) -> Tensor:
        return z + change if self.skip else change

    def _activate(self, z: Tensor) -> Tensor:
        if self.activation == "relu":
            return functional.relu(z)
        return functional.gelu(z) if self.activation == "gelu" else z
