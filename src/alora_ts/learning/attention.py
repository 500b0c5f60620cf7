"""Attention of many heads and its gradient, with few passes over the matrices.

torch would derive the same gradients from the plain lines. For long windows it then spends a good
part of a step on scaling, copying and adding the matrices of all heads; here the products scale,
and the gradient of the mean over the heads is added in place.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor
from torch.autograd import Function
from torch.autograd.function import once_differentiable

from alora_ts.network.attention import later_steps

__all__ = ["attend_and_mix", "attend_and_mix_shared"]


def attend_and_mix(
    query_key: Tensor, values: Tensor, heads: int, *, summed: bool, causal: bool, per_head: bool
) -> tuple[Tensor, Tensor]:
    """Attention (Eq. 2) and what it makes of the values.

    Parameters
    ----------
    query_key : Tensor of shape (B, T, 2·H·w)
        Queries of all heads, then keys.
    values : Tensor of shape (B, T, H·v)
    heads : int
        H.
    summed : bool
        Add up what the heads give, instead of putting it side by side.
    causal : bool
        A step sees itself and the steps before it.
    per_head : bool
        Give the matrices of each head, instead of their mean.

    Returns
    -------
    mixed : Tensor of shape (B, T, v) or (B, T, H·v)
    attention : Tensor of shape (B, T, T), or (H, B, T, T) per head

    Examples
    --------
    >>> mixed, attention = attend_and_mix(
    ...     torch.zeros(1, 2, 8), torch.ones(1, 2, 6), 2, summed=True, causal=True, per_head=False
    ... )
    >>> attention[0]
    tensor([[1.0000, 0.0000],
            [0.5000, 0.5000]])
    >>> mixed.shape
    torch.Size([1, 2, 3])
    """
    how = _How(heads, summed, causal, per_head)
    found: tuple[Tensor, Tensor] = _Heads.apply(  # type: ignore[no-untyped-call]
        query_key, values, how
    )
    return found


def attend_and_mix_shared(
    left: Tensor, u: Tensor, *, causal: bool, per_head: bool
) -> tuple[Tensor, Tensor]:
    """The same for heads that share u as keys and as values; u itself gets no gradient.

    Parameters
    ----------
    left : Tensor of shape (B, T·H, n)
        Scaled queries, the heads of a step following one another.
    u : Tensor of shape (B, T, n)
    causal, per_head : bool
        See :func:`attend_and_mix`.

    Returns
    -------
    mixed : Tensor of shape (B, T·H, n)
    attention : Tensor of shape (B, T, T), or (H, B, T, T) per head

    Examples
    --------
    >>> mixed, attention = attend_and_mix_shared(
    ...     torch.zeros(1, 4, 3), torch.ones(1, 2, 3), causal=False, per_head=True
    ... )
    >>> mixed.shape, attention.shape
    (torch.Size([1, 4, 3]), torch.Size([2, 1, 2, 2]))
    """
    found: tuple[Tensor, Tensor] = _Shared.apply(  # type: ignore[no-untyped-call]
        left, u, causal, per_head
    )
    return found


@dataclass(frozen=True)
class _How:
    heads: int
    summed: bool
    causal: bool
    per_head: bool

    def of_heads(self, mixed: Tensor) -> tuple[Tensor, ...]:
        """What each head gives to the mixture, or gets of its gradient."""
        return (mixed,) * self.heads if self.summed else mixed.chunk(self.heads, dim=-1)


class _Heads(Function):
    @staticmethod
    def forward(ctx: Any, query_key: Tensor, values: Tensor, how: _How) -> tuple[Tensor, Tensor]:
        batch, steps, width = values.shape
        heads = how.heads
        parts = query_key.chunk(2 * heads, dim=-1)
        ctx.how, ctx.scale = how, parts[0].shape[-1] ** -0.5
        # Head by head in memory: every product writes where the next one reads.
        attention = query_key.new_empty(heads, batch, steps, steps)
        for head, scores in enumerate(attention):
            key = parts[heads + head].transpose(1, 2)
            torch.baddbmm(scores, parts[head], key, beta=0, alpha=ctx.scale, out=scores)
        if how.causal:
            attention.masked_fill_(later_steps(attention), float("-inf"))
        torch.softmax(attention, -1, out=attention)
        mixed = values.new_zeros(batch, steps, width // heads if how.summed else width)
        for into, matrices, value in zip(
            how.of_heads(mixed), attention, values.chunk(heads, dim=-1), strict=True
        ):
            if how.summed:
                into.baddbmm_(matrices, value)
            else:
                into.copy_(torch.bmm(matrices, value))
        ctx.save_for_backward(query_key, values, attention)
        return mixed, attention if how.per_head else attention.mean(0)

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, *gradients: Tensor) -> tuple[Tensor | None, ...]:
        query_key, values, attention = ctx.saved_tensors
        heads = ctx.how.heads
        by_head = ctx.how.of_heads(gradients[0])
        of_scores = torch.empty_like(attention)
        for into, of_mixed, value in zip(
            of_scores, by_head, values.chunk(heads, dim=-1), strict=True
        ):
            torch.bmm(of_mixed, value.transpose(1, 2), out=into)
        of_scores += gradients[1] if ctx.how.per_head else gradients[1] / heads
        of_scores = _through_softmax(of_scores, attention)
        of_query_key = query_key.new_empty(query_key.shape)
        of_values = values.new_empty(values.shape)
        own, other = query_key.chunk(2 * heads, dim=-1), of_query_key.chunk(2 * heads, dim=-1)
        for head, into in enumerate(of_values.chunk(heads, dim=-1)):
            other[head].copy_(torch.bmm(of_scores[head], own[heads + head]))
            other[heads + head].copy_(torch.bmm(of_scores[head].transpose(1, 2), own[head]))
            into.copy_(torch.bmm(attention[head].transpose(1, 2), by_head[head]))
        return of_query_key.mul_(ctx.scale), of_values, None


class _Shared(Function):
    @staticmethod
    def forward(
        ctx: Any, left: Tensor, u: Tensor, causal: bool, per_head: bool
    ) -> tuple[Tensor, Tensor]:
        batch, steps, _ = u.shape
        attention = torch.bmm(left, u.transpose(1, 2))  # (B, T·H, T)
        by_step = attention.view(batch, steps, -1, steps)
        if causal:
            by_step.masked_fill_(later_steps(attention)[:, None], float("-inf"))
        torch.softmax(attention, -1, out=attention)
        ctx.per_head = per_head
        ctx.save_for_backward(u, attention)
        shown = by_step.permute(2, 0, 1, 3).contiguous() if per_head else by_step.mean(2)
        return torch.bmm(attention, u), shown

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, *gradients: Tensor) -> tuple[Tensor | None, ...]:
        u, attention = ctx.saved_tensors
        batch, steps, _ = u.shape
        of_scores = torch.bmm(gradients[0], u.transpose(1, 2))
        by_step = of_scores.view(batch, steps, -1, steps)
        if ctx.per_head:
            by_step += gradients[1].permute(1, 2, 0, 3)
        else:
            by_step += (gradients[1] / by_step.shape[2])[:, :, None]
        return torch.bmm(_through_softmax(of_scores, attention), u), None, None, None


def _through_softmax(gradient: Tensor, stochastic: Tensor) -> Tensor:
    found: Tensor = torch.ops.aten._softmax_backward_data(
        gradient, stochastic, -1, stochastic.dtype
    )
    return found
