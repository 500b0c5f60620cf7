"""Attention of many heads and its gradient, with few passes over the matrices.

torch would derive the same gradients from the plain lines. For long windows it then spends a good
part of a step on scaling, copying and adding the matrices of all heads; here the products scale,
and the gradient of the mean over the heads is added in place.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor
from torch.autograd import Function
from torch.autograd.function import once_differentiable

from alora_ts.network.attention import later_steps

__all__ = ["attend_and_mix", "attend_and_mix_shared"]


def attend_and_mix(
    joint: Tensor, heads: int, width: int, *, summed: bool, causal: bool, per_head: bool
) -> tuple[Tensor, Tensor]:
    """Attention (Eq. 2) and what it makes of the values.

    Parameters
    ----------
    joint : Tensor of shape (B, T, 2·H·w + H·v), or (B, T, 2·H·w + H·v + v) if summed
        Queries of all heads, keys, values; last what the sum is added to. All in one, because
        its gradient then needs no putting together.
    heads, width : int
        H and w.
    summed : bool
        Add up what the heads give, instead of putting it side by side.
    causal : bool
        A step sees itself and the steps before it.
    per_head : bool
        Give the matrices of each head, instead of their mean.

    Returns
    -------
    mixed : Tensor of shape (B, T, H·v), or (B, T, v) if summed
    attention : Tensor of shape (B, T, T), or (H, B, T, T) per head

    Examples
    --------
    >>> mixed, attention = attend_and_mix(
    ...     torch.ones(1, 2, 17), 2, 2, summed=True, causal=True, per_head=False
    ... )
    >>> attention[0]
    tensor([[1.0000, 0.0000],
            [0.5000, 0.5000]])
    >>> mixed
    tensor([[[3., 3., 3.],
             [3., 3., 3.]]])
    """
    how = _How(heads, width, summed, causal, per_head)
    found: tuple[Tensor, Tensor] = _Heads.apply(joint, how)  # type: ignore[no-untyped-call]
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
    width: int
    summed: bool
    causal: bool
    per_head: bool

    @property
    def scale(self) -> float:
        """What scores are multiplied by (Eq. 2)."""
        return float(self.width**-0.5)

    def parts(self, joint: Tensor) -> tuple[Tensor, ...]:
        """Queries, keys, values of all heads, and what a sum is added to (or nothing)."""
        wide = self.heads * self.width
        rest = joint.shape[-1] - 2 * wide
        carried = rest // (1 + self.heads) if self.summed else 0
        return torch.split(joint, [wide, wide, rest - carried, carried], dim=-1)

    def by_head(self, joint: Tensor, mixed: Tensor) -> Iterator[tuple[Tensor, ...]]:
        """Query, key and value of each head, and what it gives to the mixture."""
        *parts, _ = self.parts(joint)
        into = (mixed,) * self.heads if self.summed else mixed.chunk(self.heads, dim=-1)
        return zip(*(part.chunk(self.heads, dim=-1) for part in parts), into, strict=True)


class _Heads(Function):
    """Head by head, so that a head's matrices are still in the cache at its next product."""

    @staticmethod
    def forward(ctx: Any, joint: Tensor, how: _How) -> tuple[Tensor, Tensor]:
        *_, values, carried = how.parts(joint)
        mixed = carried.clone() if how.summed else values.new_empty(values.shape)
        batch, steps, _ = joint.shape
        attention = joint.new_empty(how.heads, batch, steps, steps)
        for matrices, (query, key, value, into) in zip(
            attention, how.by_head(joint, mixed), strict=True
        ):
            torch.baddbmm(
                matrices, query, key.transpose(1, 2), beta=0, alpha=how.scale, out=matrices
            )
            if how.causal:
                matrices.masked_fill_(later_steps(matrices), float("-inf"))
            torch.softmax(matrices, -1, out=matrices)
            if how.summed:
                into.baddbmm_(matrices, value)
            else:
                into.copy_(torch.bmm(matrices, value))
        ctx.how = how
        ctx.save_for_backward(joint, attention)
        return mixed, attention if how.per_head else attention.mean(0)

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, *gradients: Tensor) -> tuple[Tensor | None, ...]:
        joint, attention = ctx.saved_tensors
        how: _How = ctx.how
        of_mixed, of_attention = gradients
        if not how.per_head:
            of_attention = (of_attention / how.heads).expand_as(attention)
        of_joint = torch.empty_like(joint)
        of_scores = torch.empty_like(attention[0])
        own, other = how.by_head(joint, of_mixed), how.by_head(of_joint, of_mixed)
        for head, ((query, key, value, of_own), (of_query, of_key, of_value, _)) in enumerate(
            zip(own, other, strict=True)
        ):
            torch.baddbmm(of_attention[head], of_own, value.transpose(1, 2), out=of_scores)
            _through_softmax(of_scores, attention[head]).mul_(how.scale)
            of_query.copy_(torch.bmm(of_scores, key))
            of_key.copy_(torch.bmm(of_scores.transpose(1, 2), query))
            of_value.copy_(torch.bmm(attention[head].transpose(1, 2), of_own))
        if how.summed:
            how.parts(of_joint)[-1].copy_(of_mixed)
        return of_joint, None


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
    """The gradient before a softmax, in the place of the one after it."""
    found: Tensor = torch.ops.aten._softmax_backward_data.out(
        gradient, stochastic, -1, stochastic.dtype, grad_input=gradient
    )
    return found
