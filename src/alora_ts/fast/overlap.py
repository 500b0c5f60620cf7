"""What overlapping windows have in common.

After the first layer the features of a window are [u, S_1 u, …, S_H u], where u = N x: N averages
neighbouring rows (and closes the window's ends in its own way, which is why u belongs to a window),
x are the rows themselves, and S_h the heads' attention. The product with the next weights is

    u W_0 + Σ_h S_h u W_h  =  N (x W_0) + Σ_h (S_h N) (x W_h),

and x W_h belongs to a row, not to a window: T windows share it. Per window there remains a product
with T·(1+H) inner dimensions instead of d·(1+H). It pays where there are clearly more variables
than steps. A few windows at a time share one product, so that it is large enough to run well.

All rows of N sum to the number m of rows that are averaged, however a window is closed. So the bias
of the product is added to x W_0 as bias / m, for a row once instead of for every window it is in.
"""

from __future__ import annotations

import torch
from torch import Tensor
from torch.nn.functional import pad

from alora_ts.fast.fold import Affine
from alora_ts.fast.scratch import Scratch

__all__ = ["SHARING", "Overlap"]

SHARING = 3
"""How many windows in a row share one product."""

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
        self._bias = bias / neighbours[0].sum()
        self._neighbours = neighbours
        self._wide = weight.shape[1]

    def row_weights(self, *, rounded_to: int) -> Affine:
        """From a row to its projections of all blocks, the width of each rounded up with zeros."""
        missing = -self._wide % rounded_to
        by_block = pad(self._by_row.view(self._variables, self._blocks, -1), [0, missing])
        bias = by_block.new_zeros(self._blocks, self._wide + missing)
        bias[0, : self._wide] = self._bias
        return Affine(by_block.flatten(1), bias.flatten())

    @property
    def pays(self) -> bool:
        """Whether less work remains than without sharing."""
        return self.window + SHARING - 1 < _WORTH * self._variables

    def project(self, rows: Tensor, scratch: Scratch) -> Tensor:
        """Project single rows (R, d): x W and their share of the bias, (R, 1+H, m)."""
        projected = scratch.empty("projected", len(rows), self._blocks * self._wide, like=rows)
        projected = torch.mm(rows, self._by_row, out=projected)
        projected = projected.view(-1, self._blocks, self._wide)
        projected[:, 0] += self._bias
        return projected

    def combine(self, attention: Tensor, projected: Tensor, scratch: Scratch) -> Tensor:
        """Put windows together from projected rows.

        Parameters
        ----------
        attention : Tensor of shape (B, T·H, T)
            Of the first layer, the heads of a step following one another.
        projected : Tensor of shape (B + T − 1, 1+H, m)
            Window b uses the rows from b on.
        scratch : Scratch
            Where the result is.

        Returns
        -------
        Tensor of shape (B, T, m)
        """
        flat = projected.view(-1, self._wide)
        result = scratch.empty("combined", len(attention), self.window, self._wide, like=flat)
        whole = len(attention) // SHARING * SHARING
        for first, end, count in ((0, whole, SHARING), (whole, len(attention), 1)):
            spread = self._spread(attention[first:end], count)
            for start, weights in zip(range(first, end, count), spread, strict=True):
                used = flat[start * self._blocks :][: weights.shape[1]]
                into = result[start : start + count].view(count * self.window, -1)
                torch.mm(weights, used, out=into)
        return result

    def _spread(self, attention: Tensor, count: int) -> Tensor:
        """How much each step takes of each row's projections: N, then S_h N.

        ``count`` windows at a time stand below one another, each a row further to the right than
        the one before: (B / count, count·T, (T + count − 1)·(1+H)).
        """
        steps, blocks = self.window, self._blocks
        groups = len(attention) // count
        by_head = (attention @ self._neighbours).view(groups, count, steps, blocks - 1, steps)
        spread = attention.new_zeros(groups, count, steps, steps + count - 1, blocks)
        for shift in range(count):
            own = spread[:, shift, :, shift : shift + steps]  # (B / count, T, T, 1+H)
            own[..., 0] = self._neighbours
            own[..., 1:] = by_head[:, shift].transpose(2, 3)
        return spread.flatten(3).flatten(1, 2)
