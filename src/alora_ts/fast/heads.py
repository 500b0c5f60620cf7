"""Attention of many heads without copies: each product reads its operands where they are.

Matrices of one head come first in memory, (H, B, T, T), because the batched product can write
there directly, and the mean over the heads then runs along memory.
"""

from __future__ import annotations

import torch
from torch import Tensor

from alora_ts.network.attention import later_steps

__all__ = ["attend_heads", "attend_shared", "mix_heads"]


def attend_heads(projected: Tensor, heads: int, inner: int, *, causal: bool) -> Tensor:
    """Attention matrices of all heads.

    Parameters
    ----------
    projected : Tensor of shape (B, T, ≥ 2·inner)
        Scaled queries, then keys.
    heads, inner : int
        H and the width of all heads together.
    causal : bool

    Returns
    -------
    Tensor of shape (H, B, T, T)

    Examples
    --------
    >>> attend_heads(torch.zeros(1, 2, 8), 2, 4, causal=True)[0, 0]
    tensor([[1.0000, 0.0000],
            [0.5000, 0.5000]])
    """
    batch, steps, _ = projected.shape
    width = inner // heads
    scores = projected.new_empty(heads, batch, steps, steps)
    if batch == 1:
        query, key = (_by_head(projected[0, :, at : at + inner], heads) for at in (0, inner))
        torch.bmm(query, key.transpose(1, 2), out=scores[:, 0])
    else:
        for head in range(heads):
            at = head * width
            key = projected[..., inner + at : inner + at + width]
            torch.bmm(projected[..., at : at + width], key.transpose(1, 2), out=scores[head])
    if causal:
        scores.masked_fill_(later_steps(scores), float("-inf"))
    return torch.softmax(scores, -1, out=scores)


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
        by_step.masked_fill_(later_steps(scores)[:, None], float("-inf"))
    return torch.softmax(scores, -1, out=scores)


def mix_heads(attention: Tensor, value: Tensor) -> Tensor:
    """S_h V_h of all heads side by side.

    Parameters
    ----------
    attention : Tensor of shape (H, B, T, T)
    value : Tensor of shape (B, T, inner)

    Returns
    -------
    Tensor of shape (B, T, inner)

    Examples
    --------
    >>> mix_heads(torch.full((2, 1, 2, 2), 0.5), torch.tensor([[[1.0, 0], [3, 4]]]))
    tensor([[[2., 2.],
             [2., 2.]]])
    """
    if len(value) == 1:
        by_head = torch.bmm(attention[:, 0], _by_head(value[0], len(attention)))  # (H, T, D/H)
        return by_head.transpose(0, 1).reshape(value.shape)
    width = value.shape[-1] // len(attention)
    mixed = value.new_empty(value.shape)
    for head, matrices in enumerate(attention):
        part = slice(head * width, (head + 1) * width)
        mixed[..., part] = torch.bmm(matrices, value[..., part])
    return mixed


def _by_head(projected: Tensor, heads: int) -> Tensor:
    """A view of (T, inner) as (H, T, D/H): of a single window the heads are the batch."""
    return projected.view(len(projected), heads, -1).transpose(0, 1)
