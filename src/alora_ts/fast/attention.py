"""Attention of many heads and what they make of values, with a gradient (Eq. 2).

In torch these are the network's own lines. The kernels (:mod:`alora_ts.fast.native`) find queries,
keys and values where products left them, and write gradients the same way.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor

from alora_ts.fast import kernels_for
from alora_ts.fast.native import Library, attend, attend_backward
from alora_ts.network.attention import by_head, later_steps

__all__ = ["Attended", "Heads", "attend_shared"]


@dataclass(frozen=True)
class Attended:
    """What the heads of a layer give.

    Attributes
    ----------
    mixed : Tensor of shape (B, T, H·v), or (B, T, v) if summed
        What they make of the values: side by side, or added up.
    matrices : Tensor of shape (B, T, T), or (B, H, T, T) per head
        The mean of their matrices, or each head's.
    """

    mixed: Tensor
    matrices: Tensor


@dataclass(frozen=True)
class Heads:
    """The heads of one layer.

    Attributes
    ----------
    count : int
        H.
    scale : float
        What scores are multiplied by.
    causal : bool
        A step sees itself and the steps before it.
    per_head : bool
        Give the matrices of each head, not their mean.

    Examples
    --------
    >>> heads = Heads(2, scale=1.0, causal=True)
    >>> found = heads(torch.zeros(1, 2, 4), torch.zeros(1, 2, 4), torch.ones(1, 2, 6))
    >>> found.matrices[0]
    tensor([[1.0000, 0.0000],
            [0.5000, 0.5000]])
    >>> found.mixed.shape
    torch.Size([1, 2, 6])
    """

    count: int
    scale: float
    causal: bool
    per_head: bool = False

    def __call__(
        self, query: Tensor, key: Tensor, value: Tensor, added_to: Tensor | None = None
    ) -> Attended:
        """Attend and mix.

        Parameters
        ----------
        query : Tensor of shape (B, T, H·w)
        key : Tensor of shape (B, T, H·w), or (B, T, w) for all heads
        value : Tensor of shape (B, T, H·v); the same tensor as the keys if heads share them
            Shared keys and values get no gradient.
        added_to : Tensor of shape (B, T, v), optional
            Add what the heads give to this.

        Returns
        -------
        Attended
        """
        library = kernels_for(query)
        if library is not None:
            found = _Kernels.apply(query, key, value, added_to, self, library)  # type: ignore[no-untyped-call]
            return Attended(*found)
        if key is value:
            rows = attend_shared(query * self.scale, key, causal=self.causal)  # (B, T·H, T)
            mixed = torch.bmm(rows, value).view(query.shape)
            matrices = rows.view(*key.shape[:2], self.count, -1).transpose(1, 2)
        else:
            scores = by_head(query, self.count) @ by_head(key, self.count).transpose(2, 3)
            if self.causal:
                scores = scores.masked_fill(later_steps(scores), float("-inf"))
            matrices = (scores * self.scale).softmax(-1)
            mixed = matrices @ by_head(value, self.count)  # (B, H, T, v)
            summed = added_to is not None
            mixed = mixed.sum(1) if summed else mixed.transpose(1, 2).flatten(2)
        if added_to is not None:
            mixed = added_to + mixed
        return Attended(mixed, matrices if self.per_head else matrices.mean(1))


def attend_shared(query: Tensor, key: Tensor, *, causal: bool) -> Tensor:
    """Attention matrices of heads that share their keys.

    Parameters
    ----------
    query : Tensor of shape (B, T, H·n)
    key : Tensor of shape (B, T, n)
    causal : bool

    Returns
    -------
    Tensor of shape (B, T·H, T)
        The heads of a step follow one another, so that one product mixes all of them.

    Examples
    --------
    >>> attend_shared(torch.zeros(1, 2, 6), torch.ones(1, 2, 3), causal=False).shape
    torch.Size([1, 4, 2])
    """
    batch, steps, width = key.shape
    scores = torch.bmm(query.view(batch, -1, width), key.transpose(1, 2))  # (B, T·H, T)
    if causal:
        by_step = scores.view(batch, steps, -1, steps)
        scores = by_step.masked_fill(later_steps(scores)[:, None], float("-inf")).flatten(1, 2)
    return scores.softmax(-1)


class _Kernels(torch.autograd.Function):
    """The kernels ``attend`` and ``attend_backward`` as one step of torch's gradients."""

    @staticmethod
    def forward(  # noqa: PLR0917  (autograd gives them by position)
        ctx: Any,
        query: Tensor,
        key: Tensor,
        value: Tensor,
        added_to: Tensor | None,
        heads: Heads,
        library: Library,
    ) -> tuple[Tensor, Tensor]:
        batch, steps, _ = query.shape
        transposed = query.new_empty(batch, heads.count, steps, steps)
        mean = None if heads.per_head else query.new_empty(batch, steps, steps)
        ctx.shared, ctx.summed = key is value, added_to is not None
        operands = _by_head(heads.count, query, key, value, shared=ctx.shared)
        if added_to is None:
            mixed = query.new_empty(batch, steps, heads.count * operands[2].shape[-1])
        else:
            mixed = added_to.clone()
        attend(
            library,
            *operands[:2],
            scale=heads.scale,
            causal=heads.causal,
            value=operands[2],
            mixed=_places(mixed, heads.count, summed=ctx.summed),
            add=ctx.summed,
            transposed=transposed,
            mean_transposed=mean,
        )()
        ctx.save_for_backward(query, key, value, transposed)
        ctx.heads, ctx.library = heads, library
        return mixed, (transposed if mean is None else mean).transpose(-1, -2)

    @staticmethod
    def backward(ctx: Any, *gradients: Tensor) -> tuple[Tensor | None, ...]:
        query, key, value, transposed = ctx.saved_tensors
        heads: Heads = ctx.heads
        grad_mixed = gradients[0].contiguous()
        grad_transposed = gradients[1].transpose(-1, -2).contiguous()
        if not heads.per_head:
            grad_transposed = grad_transposed[:, None].expand_as(transposed)
        grad_query = torch.empty_like(query)
        grad_key = None if ctx.shared else torch.empty_like(key)
        grad_value = None if ctx.shared else torch.empty_like(value)
        attend_backward(
            ctx.library,
            *_by_head(heads.count, query, key, value, shared=ctx.shared),
            scale=heads.scale,
            transposed=transposed,
            grad_mixed=_places(grad_mixed, heads.count, summed=ctx.summed),
            grad_transposed=grad_transposed,
            share=1.0 if heads.per_head else 1 / heads.count,
            grad_query=by_head(grad_query, heads.count),
            grad_key=None if grad_key is None else by_head(grad_key, heads.count),
            grad_value=None if grad_value is None else by_head(grad_value, heads.count),
        )()
        return grad_query, grad_key, grad_value, grad_mixed if ctx.summed else None, None, None


def _by_head(
    heads: int, query: Tensor, key: Tensor, value: Tensor, *, shared: bool
) -> tuple[Tensor, Tensor, Tensor]:
    """Views (B, H, T, ·)."""
    if shared:
        every = key[:, None].expand(-1, heads, -1, -1)
        return by_head(query, heads), every, every
    return by_head(query, heads), by_head(key, heads), by_head(value, heads)


def _places(mixed: Tensor, heads: int, *, summed: bool) -> Tensor:
    """Where each head's share of what was mixed is: some of the columns, or in a sum all."""
    return mixed[:, None].expand(-1, heads, -1, -1) if summed else by_head(mixed, heads)
