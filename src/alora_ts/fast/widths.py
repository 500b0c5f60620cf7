"""Widths that the processor likes.

It multiplies rows of multiples of eight numbers faster, because none begins in the middle of what
it loads at once.
"""

from __future__ import annotations

from torch import Tensor

from alora_ts.fast.scratch import Scratch

__all__ = ["cut", "fill_up", "round_up"]


def round_up(width: int) -> int:
    """The next multiple of eight, or the width itself.

    Examples
    --------
    >>> round_up(37), round_up(40)
    (40, 40)
    """
    return width + -width % 8


def fill_up(tensor: Tensor, axis: int, scratch: Scratch, name: str) -> Tensor:
    """The tensor with zeros at the end of one axis, so that its width is rounded up.

    Parameters
    ----------
    tensor : Tensor
        Given back as it is where there is nothing to round.
    axis : int
    scratch : Scratch
        Where the wider tensor goes,
    name : str
        under this name.

    Examples
    --------
    >>> import torch
    >>> fill_up(torch.ones(2, 3), -1, Scratch(), "wide").shape
    torch.Size([2, 8])
    """
    shape = list(tensor.shape)
    shape[axis] = round_up(shape[axis])
    if shape[axis] == tensor.shape[axis]:
        return tensor
    wide = scratch.empty(name, *shape, like=tensor).zero_()
    wide.narrow(axis, 0, tensor.shape[axis]).copy_(tensor)
    return wide


def cut(tensor: Tensor, like: Tensor, scratch: Scratch, name: str) -> Tensor:
    """What of a tensor belongs to one of the shape of ``like``; the way back from :func:`fill_up`.

    Examples
    --------
    >>> import torch
    >>> cut(torch.zeros(2, 8), torch.ones(2, 3), Scratch(), "cut").shape
    torch.Size([2, 3])
    """
    if tensor.shape == like.shape:
        return tensor
    own = tensor[tuple(slice(width) for width in like.shape)]
    return scratch.empty_like(name, like).copy_(own)
