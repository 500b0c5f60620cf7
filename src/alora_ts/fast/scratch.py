"""Memory that is used again, by one chunk of windows or one training step after the other."""

from __future__ import annotations

import math
from functools import cache

import torch
from torch import Tensor

__all__ = ["Scratch", "keep_freed_memory"]

_KEPT_BYTES = 31 * 2**20


@cache
def keep_freed_memory() -> None:
    """Let the process keep what it frees, up to 62 MiB, for the next training step.

    Freed blocks of a megabyte and more go back to the system, and each of their pages has to be
    filled with zeros before it returns. In a training step that took a tenth of the time. glibc
    keeps blocks up to the size of the largest it has seen freed, and twice that in all; it has no
    effect elsewhere. The block is never written to, so it takes no memory itself.
    """
    torch.empty(_KEPT_BYTES, dtype=torch.uint8)


class Scratch:
    """Room for the largest intermediate results of one thread.

    Freed blocks of many megabytes go back to the system, and each of their pages has to be filled
    with zeros before it returns; that takes longer than some of the products that fill them.

    Examples
    --------
    >>> scratch = Scratch()
    >>> first = scratch.empty("rows", 4, 3, like=torch.zeros(1))
    >>> again = scratch.empty("rows", 2, 3, like=torch.zeros(1))
    >>> again.shape, again.data_ptr() == first.data_ptr()
    (torch.Size([2, 3]), True)
    """

    def __init__(self) -> None:
        self._kept: dict[str, Tensor] = {}

    def empty(self, name: str, *shape: int, like: Tensor) -> Tensor:
        """A tensor of this shape, with the type and the device of ``like``.

        What an earlier tensor of the same name held is lost.
        """
        size = math.prod(shape)
        kept = self._kept.get(name)
        if (
            kept is None
            or len(kept) < size
            or (kept.dtype, kept.device) != (like.dtype, like.device)
        ):
            kept = self._kept[name] = like.new_empty(size)
        return kept[:size].view(shape)

    def empty_like(self, name: str, like: Tensor) -> Tensor:
        """A tensor of the shape, the type and the device of ``like``."""
        return self.empty(name, *like.shape, like=like)
