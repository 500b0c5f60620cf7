"""Memory that is used again, by one chunk of windows or one training step after the other."""

from __future__ import annotations

import math

from torch import Tensor

__all__ = ["Scratch"]


class Scratch:
    """Room for the largest intermediate results of one thread.

    Freed blocks of many megabytes go back to the system, and each of their pages has to be filled
    with zeros before it returns; that takes longer than some of the products that fill them.

    Examples
    --------
    >>> import torch
    >>> scratch = Scratch()
    >>> first = scratch.empty("rows", 4, 3, like=torch.zeros(1))
    >>> again = scratch.empty("rows", 2, 3, like=torch.zeros(1))
    >>> again.shape, again.data_ptr() == first.data_ptr()
    (torch.Size([2, 3]), True)
    """

    def __init__(self) -> None:
        self._kept: dict[str, Tensor] = {}

    def empty(self, name: str, *shape: int, like: Tensor) -> Tensor:
        """A tensor of this shape, with the type and the place of ``like``.

        What an earlier tensor of the same name held is lost.
        """
        size = math.prod(shape)
        if name not in self._kept or len(self._kept[name]) < size:
            self._kept[name] = like.new_empty(size)
        return self._kept[name][:size].view(shape)
