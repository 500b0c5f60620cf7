"""Attention of many heads, there and back, in compiled kernels (:mod:`alora_ts.fast.native`).

The same as :mod:`alora_ts.fast.attention`, without copies: the kernels find queries, keys and
values where the products left them, and write their gradients to the same places.
"""

from __future__ import annotations

from torch import Tensor

from alora_ts.fast.attention import Attended, split_joint
from alora_ts.fast.native import Library, attend, attend_back
from alora_ts.fast.scratch import Scratch
from alora_ts.network.attention import by_head

__all__ = ["CompiledHeads", "CompiledSharedHeads"]


class _Kernels:
    """What both kinds share: matrices that are kept for the way back, lying across."""

    def __init__(self, library: Library, *, scale: float, causal: bool, scratch: Scratch) -> None:
        self._library = library
        self._scale = scale
        self._causal = causal
        self._scratch = scratch
        self._kept: tuple[Tensor, Tensor, Tensor, Tensor] | None = None

    def _there(
        self, query: Tensor, key: Tensor, value: Tensor, mixed: Tensor, *, add: bool = False
    ) -> Attended:
        """From operands (B, H, T, ·)."""
        batch, heads, steps, _ = query.shape
        across = self._scratch.empty("across", batch, heads, steps, steps, like=query)
        mean = self._scratch.empty("mean", batch, steps, steps, like=query)
        attend(
            self._library,
            query,
            key,
            scale=self._scale,
            causal=self._causal,
            value=value,
            mixed=mixed,
            add=add,
            across=across,
            mean_across=mean,
        )()
        self._kept = query, key, value, across
        return Attended(across.transpose(2, 3), mean.transpose(1, 2))

    def _back(
        self,
        of_mixed: Tensor,
        of_matrices: Tensor,
        of_query: Tensor,
        of_key: Tensor | None = None,
        of_value: Tensor | None = None,
    ) -> None:
        assert self._kept is not None
        query, key, value, across = self._kept
        of_across = of_matrices.transpose(-1, -2).contiguous()
        by_mean = of_matrices.ndim == 3
        attend_back(
            self._library,
            query,
            key,
            value,
            scale=self._scale,
            across=across,
            of_mixed=of_mixed,
            of_across=of_across[:, None].expand_as(across) if by_mean else of_across,
            share=1 / query.shape[1] if by_mean else 1.0,
            of_query=of_query,
            of_key=of_key,
            of_value=of_value,
        )()


class CompiledHeads(_Kernels):
    """As :class:`~alora_ts.fast.attention.Heads`, on ``joint`` as it lies.

    Between :meth:`forward` and :meth:`backward` it must stay as it is.
    """

    def __init__(
        self,
        library: Library,
        heads: int,
        width: int,
        *,
        summed: bool,
        causal: bool,
        scratch: Scratch,
    ) -> None:
        super().__init__(library, scale=width**-0.5, causal=causal, scratch=scratch)
        self._heads = heads
        self._width = width
        self._summed = summed

    def forward(self, joint: Tensor, mixed: Tensor) -> Attended:
        """Attend and mix."""
        query, key, value, carried = self._parts(joint)
        if self._summed:
            mixed.copy_(carried)
        return self._there(query, key, value, self._of_heads(mixed), add=self._summed)

    def backward(self, of_mixed: Tensor, of_matrices: Tensor, of_joint: Tensor) -> None:
        """Take gradients back, after :meth:`forward`; ``of_joint`` may be ``joint`` itself."""
        of_query, of_key, of_value, of_carried = self._parts(of_joint)
        self._back(self._of_heads(of_mixed), of_matrices, of_query, of_key, of_value)
        if self._summed:
            of_carried.copy_(of_mixed)

    def _parts(self, joint: Tensor) -> tuple[Tensor, Tensor, Tensor, Tensor]:
        """Queries, keys and values (B, H, T, ·), and what a sum is added to (or nothing)."""
        *parts, carried = split_joint(joint, self._heads, self._width, summed=self._summed)
        query, key, value = (by_head(each, self._heads) for each in parts)
        return query, key, value, carried

    def _of_heads(self, mixed: Tensor) -> Tensor:
        """What each head gives: a part of the columns, or in a sum all of them."""
        if self._summed:
            return mixed[:, None].expand(-1, self._heads, -1, -1)
        return by_head(mixed, self._heads)


class CompiledSharedHeads(_Kernels):
    """As :class:`~alora_ts.fast.attention.SharedHeads`, on ``left`` as it lies."""

    def __init__(self, library: Library, *, causal: bool, scratch: Scratch) -> None:
        super().__init__(library, scale=1.0, causal=causal, scratch=scratch)

    def forward(self, left: Tensor, u: Tensor, mixed: Tensor) -> Attended:
        """Attend and mix."""
        steps = u.shape[1]
        shared = u[:, None].expand(-1, left.shape[1] // steps, -1, -1)
        return self._there(_by_step(left, steps), shared, shared, _by_step(mixed, steps))

    def backward(self, of_mixed: Tensor, of_matrices: Tensor, of_left: Tensor) -> None:
        """Take gradients back, after :meth:`forward`; ``of_left`` may be ``left`` itself."""
        assert self._kept is not None
        steps = self._kept[1].shape[2]
        self._back(_by_step(of_mixed, steps), of_matrices, _by_step(of_left, steps))


def _by_step(rows: Tensor, steps: int) -> Tensor:
    """A view of (B, T·H, n) as (B, H, T, n)."""
    return rows.view(len(rows), steps, -1, rows.shape[-1]).transpose(1, 2)
