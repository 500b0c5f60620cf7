"""What overlapping windows have in common.

After the first layer the features of a window are [u, S_1 u, …, S_H u], where u = N x: N averages
neighbouring rows (and closes the window's ends in its own way, which is why u belongs to a window),
x are the rows themselves, and S_h the heads' attention. The product with the next weights is

    u W_0 + Σ_h S_h u W_h  =  N (x W_0) + Σ_h (S_h N) (x W_h),

and x W_h belongs to a row, not to a window: T windows share it. Per window there remains a product
with T·(1+H) inner dimensions instead of d·(1+H). It pays where there are clearly more variables
than steps. A few windows at a time share one product, so that it is large enough to run well.
"""

from __future__ import annotations

import torch
from torch import Tensor

__all__ = ["Overlap"]

_TOGETHER = 3
_WORTH = 0.8
"""Share of the inner dimensions that may remain; small products run less well than large ones."""


class Overlap:
    """The first wide product of a folded network, computed row by row.

    Parameters
    ----------
    weight : Tensor of shape ((1+H)·d, m)
        From the first layer's features, the blocks in the order u, S_1 u, …, S_H u.
    bias : Tensor of shape (m,)
    neighbours : Tensor of shape (T, T)
        N.
    heads : int
        H of the first layer.
    """

    def __init__(self, weight: Tensor, bias: Tensor, *, neighbours: Tensor, heads: int) -> None:
        self.window = len(neighbours)
        self._blocks = 1 + heads
        self._variables = len(weight) // self._blocks
        by_row = weight.view(self._blocks, self._variables, -1).transpose(0, 1)  # (d, 1+H, m)
        self._by_row = by_row.reshape(self._variables, -1).contiguous()
        self._bias = bias
        self._neighbours = neighbours
        self._wide = weight.shape[1]

    @property
    def pays(self) -> bool:
        """Whether less work remains than without sharing."""
        return self.window + _TOGETHER - 1 < _WORTH * self._variables

    def average(self, window: Tensor) -> Tensor:
        """Average neighbouring rows of one window (1, T, d): u = N x."""
        return (self._neighbours @ window[0])[None]

    def project(self, rows: Tensor) -> Tensor:
        """Project single rows (R, d): x W, (R, 1+H, m)."""
        return (rows @ self._by_row).view(-1, self._blocks, self._wide)

    def combine(self, attention: Tensor, projected: Tensor) -> Tensor:
        """Put windows together from projected rows.

        Parameters
        ----------
        attention : Tensor of shape (B, T·H, T)
            Of the first layer, the heads of a step following one another.
        projected : Tensor of shape (B + T − 1, 1+H, m)
            Window b uses the rows from b on.

        Returns
        -------
        Tensor of shape (B, T, m)
        """
        weights = self._weights(attention)  # (B, T, T, 1+H)
        batch, steps = weights.shape[:2]
        flat = projected.view(-1, self._wide)
        result = flat.new_empty(batch, steps, self._wide)
        for start in range(0, batch, _TOGETHER):
            some = weights[start : start + _TOGETHER]
            count = len(some)
            spread = some.new_zeros(count, steps, steps + count - 1, self._blocks)
            for shift, one in enumerate(some):
                spread[shift, :, shift : shift + steps] = one
            first = start * self._blocks
            used = flat[first : first + spread.shape[2] * self._blocks]
            into = result[start : start + count].view(count * steps, -1)
            torch.addmm(self._bias, spread.view(count * steps, -1), used, out=into)
        return result

    def combine_ring(self, attention: Tensor, projected: Tensor, oldest: int) -> Tensor:
        """As :meth:`combine` for one window whose projected rows lie in a ring (T, 1+H, m)."""
        weights = self._weights(attention)[0].roll(oldest, dims=1)  # (T, T, 1+H)
        flat = projected.view(-1, self._wide)
        return torch.addmm(self._bias, weights.reshape(self.window, -1), flat)[None]

    def _weights(self, attention: Tensor) -> Tensor:
        """How much of each row's projections each step takes: N, then S_h N, (B, T, T, 1+H)."""
        batch, steps = len(attention), self.window
        weights = attention.new_empty(batch, steps, steps, self._blocks)
        weights[..., 0] = self._neighbours
        by_head = attention @ self._neighbours  # (B, T·H, T)
        weights[..., 1:] = by_head.view(batch, steps, -1, steps).transpose(2, 3)
        return weights
