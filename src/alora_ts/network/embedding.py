"""LightMTS-Embed and the standard dense embedding it is compared with (Eq. 1).

Each embedded series mixes exactly two input series over ``m`` neighbouring time steps. All
embeddings here are linear, so each can state its weights per lag, ``w[l, i, k]``, from which the
contribution weights of Eq. 11 follow.
"""

from __future__ import annotations

from functools import reduce
from typing import Literal

import torch
from torch import Tensor, nn

__all__ = ["DenseEmbedding", "Kernel", "Padding", "PairEmbedding", "pad_time"]

Kernel = Literal["average", "learned"]
Padding = Literal["circular", "edge", "reflect"]


def pad_time(window: Tensor, width: int, padding: Padding) -> Tensor:
    """Extend windows by ``(width - 1) / 2`` rows at both ends.

    Parameters
    ----------
    window : Tensor of shape (B, T, d)
    width : int
        The kernel's width m, odd.
    padding : {"circular", "edge", "reflect"}
        Continue with the rows of the other end, repeat the border row, or go back over the rows
        before it (in windows shorter than that, over as many as there are).

    Returns
    -------
    Tensor of shape (B, T + m - 1, d)

    Examples
    --------
    >>> pad_time(torch.arange(3.0).view(1, 3, 1), 3, "reflect")[0, :, 0]
    tensor([1., 0., 1., 2., 1.])
    """
    reach = (width - 1) // 2
    if reach == 0:
        return window
    if padding == "circular":
        return torch.cat([window[:, -reach:], window, window[:, :reach]], dim=1)
    if padding == "reflect":
        last = window.shape[1] - 1
        inwards = torch.arange(1, reach + 1, device=window.device).clamp_max(last)
        head, tail = window[:, inwards.flip(0)], window[:, last - inwards]
        return torch.cat([head, window, tail], dim=1)
    head = window[:, :1].expand(-1, reach, -1)
    tail = window[:, -1:].expand(-1, reach, -1)
    return torch.cat([head, window, tail], dim=1)


class _LinearEmbedding(nn.Module):
    """What all embeddings share: lags, padding and the product with the weights."""

    def __init__(self, *, width: int, padding: Padding) -> None:
        super().__init__()
        if width % 2 == 0:
            raise ValueError(f"the kernel width must be odd, not {width}")
        self.width = width
        self.padding: Padding = padding

    def lag_weights(self) -> Tensor:
        """Weights w[l, i, k] of input series i at lag l in embedded series k, (m, d, D)."""
        raise NotImplementedError

    def summed_weights(self) -> Tensor:
        """Weights summed over the lags, (d, D): what Eq. 11 needs."""
        return self.lag_weights().sum(0)

    @property
    def lags_summed(self) -> bool:
        """Whether all lags have the same weights, so that their rows can be added up first."""
        return False

    def basis(self) -> Tensor:
        """Weights from what :meth:`neighbours` gives to the embedded series, (n, D)."""
        return self.lag_weights().flatten(0, 1)

    def neighbours(self, window: Tensor) -> Tensor:
        """The rows that feed one embedded row: their sum (n = d), or side by side (n = m·d).

        Parameters
        ----------
        window : Tensor of shape (B, T, d)

        Returns
        -------
        Tensor of shape (B, T, n)
        """
        steps = window.shape[1]
        padded = pad_time(window, self.width, self.padding)  # (B, T+m-1, d)
        lags = [padded[:, lag : lag + steps] for lag in range(self.width)]
        return reduce(torch.add, lags) if self.lags_summed else torch.cat(lags, dim=-1)

    def forward(self, window: Tensor) -> Tensor:
        """Embed windows: (B, T, d) to (B, T, D)."""
        return self.neighbours(window) @ self.basis()


class PairEmbedding(_LinearEmbedding):
    """LightMTS-Embed: one pair of series per embedded series.

    Parameters
    ----------
    pairs : Tensor of shape (D, 2)
        Which two series feed each embedded series.
    variables : int
        d, the number of input series.
    kernel : {"average", "learned"}
        "average" learns two scalars per pair, applied to a moving average of width m (as counted
        by the paper's table of parameters); "learned" learns 2·m lag weights per pair (as Eq. 1
        is written).
    width : int
        The kernel's width m.
    padding : {"circular", "edge", "reflect"}
        How the window continues beyond its borders.
    generator : torch.Generator, optional
        Draws the first weights.
    """

    pairs: Tensor

    def __init__(
        self,
        pairs: Tensor,
        *,
        variables: int,
        kernel: Kernel,
        width: int,
        padding: Padding,
        generator: torch.Generator | None = None,
    ) -> None:
        super().__init__(width=width, padding=padding)
        self.variables = variables
        self.kernel: Kernel = kernel
        self.register_buffer("pairs", pairs.to(torch.long))
        lags = 1 if kernel == "average" else width
        # The same spread that torch gives a linear layer with two inputs.
        bound = (2 * lags) ** -0.5
        first = torch.empty(lags, len(pairs), 2).uniform_(-bound, bound, generator=generator)
        self.weight = nn.Parameter(first)

    @property
    def lags_summed(self) -> bool:
        """Whether all lags have the same weights, so that their rows can be added up first."""
        return self.kernel == "average"

    def lag_weights(self) -> Tensor:
        """Spread the weights of the pairs over all series: (m, d, D), zero elsewhere."""
        dense = self._spread()
        return (dense / self.width).expand(self.width, -1, -1) if self.lags_summed else dense

    def basis(self) -> Tensor:
        """Weights from what :meth:`neighbours` gives to the embedded series, (n, D)."""
        dense = self._spread()
        return dense[0] / self.width if self.lags_summed else dense.flatten(0, 1)

    def _spread(self) -> Tensor:
        """The weights of the pairs at their series, (1 or m, d, D)."""
        lags, embedded = self.weight.shape[:2]
        columns = torch.arange(embedded, device=self.weight.device)
        places = self.pairs * embedded + columns[:, None]
        dense = self.weight.new_zeros(lags, self.variables * embedded)
        # Added, not set: a series paired with itself (d = 1) keeps both weights.
        dense = dense.index_add(1, places.flatten(), self.weight.flatten(1))
        return dense.view(lags, self.variables, embedded)


class DenseEmbedding(_LinearEmbedding):
    """The standard embedding: every embedded series sees every input series.

    Parameters
    ----------
    variables : int
        d, the number of input series.
    embedded : int
        D, the number of embedded series.
    width : int
        The kernel's width m.
    padding : {"circular", "edge", "reflect"}
        How the window continues beyond its borders.
    generator : torch.Generator, optional
        Draws the first weights.
    """

    def __init__(
        self,
        *,
        variables: int,
        embedded: int,
        width: int,
        padding: Padding,
        generator: torch.Generator | None = None,
    ) -> None:
        super().__init__(width=width, padding=padding)
        bound = (variables * width) ** -0.5
        first = torch.empty(width, variables, embedded).uniform_(-bound, bound, generator=generator)
        self.weight = nn.Parameter(first)

    def lag_weights(self) -> Tensor:
        """Weights w[l, i, k], (m, d, D)."""
        return self.weight
