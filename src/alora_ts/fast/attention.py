"""Attention of many heads, there and back, in memory that is kept from step to step.

torch would derive the same gradients from the plain lines. It would also copy, scale and add the
matrices of all heads more often, and take new memory for each result; in training that is a good
part of a step.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import torch
from torch import Tensor

from alora_ts.fast.scratch import Scratch
from alora_ts.fast.widths import round_up
from alora_ts.network.attention import by_head, later_steps

__all__ = ["Attended", "Heads", "SharedHeads", "split_joint"]

_TOGETHER = 2**18
"""About how many entries of attention matrices are worked on at a time. They stay in the cache from
one product to the next; of short windows all are worked on at once, in few calls."""


@dataclass(frozen=True)
class Attended:
    """The matrices of a layer, until the next pass.

    Attributes
    ----------
    heads : Tensor of shape (B, H, T, T)
    mean : Tensor of shape (B, T, T)
        Over the heads.
    """

    heads: Tensor
    mean: Tensor


@dataclass(frozen=True)
class _Operands:
    """What the matrices of all heads are made of and mix, (B, H, T, ·), and the matrices."""

    query: Tensor
    key: Tensor
    value: Tensor
    matrices: Tensor

    def few_at_a_time(self) -> Iterator[tuple[slice, tuple[Tensor, ...]]]:
        """Some windows and their operands, the heads of all as one batch of matrices."""
        batch, heads, steps, _ = self.matrices.shape
        size = max(1, _TOGETHER // (heads * steps * steps))
        every = (self.query, self.key, self.value, self.matrices)
        for start in range(0, batch, size):
            some = slice(start, start + size)
            yield some, tuple(each[some].flatten(0, 1) for each in every)


class Heads:
    """The heads of one layer, of some windows (Eq. 2).

    Parameters
    ----------
    heads, width : int
        H and w.
    summed : bool
        Add up what the heads give, instead of putting it side by side.
    causal : bool
        A step sees itself and the steps before it.
    scratch : Scratch
        Where results are kept, for the way back too.

    Examples
    --------
    >>> heads = Heads(2, 2, summed=True, causal=True, scratch=Scratch())
    >>> mixed = torch.empty(1, 2, 3)
    >>> heads.forward(torch.ones(1, 2, 17), mixed).mean[0]
    tensor([[1.0000, 0.0000],
            [0.5000, 0.5000]])
    >>> mixed
    tensor([[[3., 3., 3.],
             [3., 3., 3.]]])
    """

    def __init__(
        self, heads: int, width: int, *, summed: bool, causal: bool, scratch: Scratch
    ) -> None:
        self._heads = heads
        self._width = width
        self._summed = summed
        self._causal = causal
        self._scratch = scratch
        self._kept: _Operands | None = None

    def forward(self, joint: Tensor, mixed: Tensor) -> Attended:
        """Attend and mix.

        Parameters
        ----------
        joint : Tensor of shape (B, T, 2·H·w + H·v), or (B, T, 2·H·w + H·v + v) if summed
            Queries of all heads, keys, values; last what the sum is added to.
        mixed : Tensor of shape (B, T, H·v), or (B, T, v) if summed
            Where to write what the heads make of the values.

        Returns
        -------
        Attended
        """
        batch, steps, _ = joint.shape
        queries, keys, values, carried = split_joint(
            joint, self._heads, self._width, summed=self._summed
        )
        matrices = self._scratch.empty("matrices", batch, self._heads, steps, steps, like=joint)
        self._kept = _Operands(
            self._by_head("query", queries),
            self._by_head("key", keys),
            self._by_head("value", values),
            matrices,
        )
        for some, (query, key, value, scores) in self._kept.few_at_a_time():
            torch.baddbmm(scores, query, key.transpose(1, 2), beta=0, alpha=self._scale, out=scores)
            if self._causal:
                scores.masked_fill_(later_steps(scores), float("-inf"))
            torch.softmax(scores, -1, out=scores)
            given = self._scratch.empty_like("given", value)
            torch.bmm(scores, value, out=given)
            if self._summed:
                given = self._by_window(given)[..., : mixed.shape[-1]]
                torch.sum(given, 1, out=mixed[some])
                mixed[some] += carried[some]
            else:
                self._side_by_side(mixed[some], given)
        return Attended(matrices, matrices.mean(1))

    def backward(self, of_mixed: Tensor, of_matrices: Tensor, of_joint: Tensor) -> None:
        """Take gradients back, after :meth:`forward`.

        Parameters
        ----------
        of_mixed : Tensor, shaped like ``mixed``
        of_matrices : Tensor of shape (B, T, T), or (B, H, T, T)
            The gradient of the mean, or that of each head's matrices.
        of_joint : Tensor, shaped like ``joint``
            Where to write its gradient.
        """
        assert self._kept is not None
        of_matrices = _of_heads(of_matrices, self._heads)
        of_query, of_key, of_value, of_carried = split_joint(
            of_joint, self._heads, self._width, summed=self._summed
        )
        for some, (query, key, value, matrices) in self._kept.few_at_a_time():
            of_given = self._scratch.empty_like("of given", value)
            split = of_mixed[some, None] if self._summed else by_head(of_mixed[some], self._heads)
            _fill(self._by_window(of_given), split)
            of_scores = self._scratch.empty_like("of scores", matrices)
            torch.bmm(of_given, value.transpose(1, 2), out=of_scores)
            self._by_window(of_scores).add_(of_matrices[some])
            _through_softmax(of_scores, matrices).mul_(self._scale)
            into = self._scratch.empty_like("of query", query)
            self._side_by_side(of_query[some], torch.bmm(of_scores, key, out=into))
            torch.bmm(of_scores.transpose(1, 2), query, out=into)
            self._side_by_side(of_key[some], into)
            into = self._scratch.empty_like("given", value)
            torch.bmm(matrices.transpose(1, 2), of_given, out=into)
            self._side_by_side(of_value[some], into)
        if self._summed:
            of_carried.copy_(of_mixed)

    @property
    def _scale(self) -> float:
        """What scores are multiplied by (Eq. 2)."""
        return float(self._width**-0.5)

    def _by_head(self, name: str, part: Tensor) -> Tensor:
        """A copy of (B, T, H·w) as (B, H, T, w), w rounded up with zeros."""
        split = by_head(part, self._heads)
        *shape, width = split.shape
        return _fill(self._scratch.empty(name, *shape, round_up(width), like=part), split)

    def _side_by_side(self, into: Tensor, of_heads: Tensor) -> None:
        """Write what each head gives, (b·H, T, w), into (b, T, H·w)."""
        split = by_head(into, self._heads)
        split.copy_(self._by_window(of_heads)[..., : split.shape[-1]])

    def _by_window(self, of_heads: Tensor) -> Tensor:
        """(b·H, T, w) as (b, H, T, w)."""
        return of_heads.view(-1, self._heads, *of_heads.shape[1:])


class SharedHeads:
    """Heads that share u as keys and as values; u itself gets no gradient.

    Parameters
    ----------
    causal : bool
        A step sees itself and the steps before it.
    scratch : Scratch
        Where results are kept, for the way back too.

    Examples
    --------
    >>> heads = SharedHeads(causal=False, scratch=Scratch())
    >>> mixed = torch.empty(1, 4, 3)
    >>> heads.forward(torch.zeros(1, 4, 3), torch.ones(1, 2, 3), mixed).heads.shape
    torch.Size([1, 2, 2, 2])
    """

    def __init__(self, *, causal: bool, scratch: Scratch) -> None:
        self._causal = causal
        self._scratch = scratch
        self._kept: tuple[Tensor, Tensor] | None = None

    def forward(self, left: Tensor, u: Tensor, mixed: Tensor) -> Attended:
        """Attend and mix.

        Parameters
        ----------
        left : Tensor of shape (B, T·H, n)
            Scaled queries, the heads of a step following one another.
        u : Tensor of shape (B, T, n)
        mixed : Tensor of shape (B, T·H, n)
            Where to write what the heads make of u.

        Returns
        -------
        Attended
        """
        batch, steps, _ = u.shape
        scores = self._scratch.empty("matrices", *left.shape[:2], steps, like=u)
        torch.bmm(left, u.transpose(1, 2), out=scores)
        by_step = scores.view(batch, steps, -1, steps)
        if self._causal:
            by_step.masked_fill_(later_steps(scores)[:, None], float("-inf"))
        torch.softmax(scores, -1, out=scores)
        torch.bmm(scores, u, out=mixed)
        self._kept = u, scores
        return Attended(by_step.transpose(1, 2), by_step.mean(2))

    def backward(self, of_mixed: Tensor, of_matrices: Tensor, of_left: Tensor) -> None:
        """Take gradients back, after :meth:`forward`.

        Parameters
        ----------
        of_mixed : Tensor of shape (B, T·H, n)
        of_matrices : Tensor of shape (B, T, T), or (B, H, T, T)
            The gradient of the mean, or that of each head's matrices.
        of_left : Tensor of shape (B, T·H, n)
            Where to write its gradient.
        """
        assert self._kept is not None
        u, matrices = self._kept
        of_scores = self._scratch.empty_like("of scores", matrices)
        torch.bmm(of_mixed, u.transpose(1, 2), out=of_scores)
        by_step = of_scores.view(len(u), u.shape[1], -1, u.shape[1])
        by_step.add_(_of_heads(of_matrices, by_step.shape[2]).transpose(1, 2))
        torch.bmm(_through_softmax(of_scores, matrices), u, out=of_left)


def split_joint(joint: Tensor, heads: int, width: int, *, summed: bool) -> tuple[Tensor, ...]:
    """Queries, keys, values of all heads, and what a sum is added to (or nothing)."""
    wide = heads * width
    rest = joint.shape[-1] - 2 * wide
    carried = rest // (1 + heads) if summed else 0
    return torch.split(joint, [wide, wide, rest - carried, carried], dim=-1)


def _fill(into: Tensor, values: Tensor) -> Tensor:
    """Write values into the first columns of a tensor, and zeros into the others."""
    width = values.shape[-1]
    into[..., :width] = values
    if width < into.shape[-1]:
        into[..., width:] = 0
    return into


def _of_heads(gradient: Tensor, heads: int) -> Tensor:
    """The gradient of each head's matrices (B, H, T, T), where it may be that of their mean."""
    if gradient.ndim == 4:
        return gradient
    return (gradient / heads)[:, None].expand(-1, heads, -1, -1)


def _through_softmax(gradient: Tensor, stochastic: Tensor) -> Tensor:
    """The gradient before a softmax, in the place of the one after it."""
    found: Tensor = torch.ops.aten._softmax_backward_data.out(
        gradient, stochastic, -1, stochastic.dtype, grad_input=gradient
    )
    return found
