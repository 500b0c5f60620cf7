"""Kernels with their operands, ready to run as often as wanted.

A call holds on to its tensors and finds them where they are: what they hold when it runs counts.
Tensors are of single precision and on the CPU. Where a kernel takes matrices of many heads
they are views (B, H, T, w) of any strides but the last, which is 1; a stride of 0 (``expand``) lets
windows or heads share one matrix.
"""

from __future__ import annotations

import ctypes
from collections.abc import Sequence
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from alora_ts.fast.native.library import Library, PanelStrides, Rows

__all__ = [
    "Call",
    "Panels",
    "attend",
    "attend_backward",
    "combine",
    "count_above",
    "mix",
    "multiply",
    "penalise",
    "project",
]


class Call:
    """One kernel and its operands."""

    def __init__(self, function: Any, arguments: Sequence[Any], keep: Sequence[Any]) -> None:
        self._function = function
        self._arguments = tuple(arguments)
        self._keep = tuple(keep)

    def __call__(self) -> None:
        """Run it."""
        _run(self._function, *self._arguments)


class Panels:
    """A matrix laid out as the right-hand side of products.

    Parameters
    ----------
    library : Library
    matrix : Tensor of shape (k, n)

    Attributes
    ----------
    shape : tuple of int
        (k, n).
    """

    def __init__(self, library: Library, matrix: Tensor) -> None:
        _check(matrix)
        self.shape = depth, columns = matrix.shape
        self.room = _panel_room(library, depth, columns)
        library.pack(depth, columns, matrix.data_ptr(), *matrix.stride(), self.room.data_ptr())

    def room_for(self, library: Library, rows: int) -> Tensor:
        """Room for the product of so many rows with this matrix, in panels itself.

        Returns
        -------
        Tensor of shape (panels, rows, columns of a panel)
        """
        return _panel_room(library, rows, self.shape[1])


def _panel_room(library: Library, depth: int, columns: int) -> Tensor:
    panel_width = library.panel_width()
    panels = -(-columns // panel_width)
    # Beginning where a line of the cache does, vectors are loaded in one piece.
    line = 16
    whole = torch.empty(panels * depth * panel_width + line)
    skip = -(whole.data_ptr() // whole.element_size()) % line
    return whole[skip : skip + panels * depth * panel_width].view(panels, depth, panel_width)


def multiply(
    library: Library,
    left: Tensor,
    right: Panels,
    out: Tensor,
    *,
    bias: Tensor | None = None,
    add: bool = False,
) -> Call:
    """A product, plus a bias, plus what is there already: out = left · right.

    Parameters
    ----------
    library : Library
    left : Tensor of shape (M, k)
        Any strides.
    right : Panels of shape (k, n)
    out : Tensor of shape (M, n)
    bias : Tensor of shape (n,), optional
    add : bool

    Returns
    -------
    Call
    """
    depth, columns = right.shape
    _check(left, out, *([] if bias is None else [bias]))
    if left.shape != (len(out), depth) or out.shape[1] != columns or out.stride(1) != 1:
        raise ValueError(f"cannot multiply {left.shape} by {right.shape} into {out.shape}")
    panel_width = library.panel_width()
    panels = PanelStrides(right.room.data_ptr(), depth * panel_width, 0, 1, depth)
    arguments = [len(out), columns, left.data_ptr(), *left.stride(), panels]
    arguments += [None if bias is None else bias.data_ptr(), int(add)]
    arguments += [out.data_ptr(), out.stride(0), panel_width]
    return Call(library.multiply, _converted(library.multiply, arguments), [left, right, out, bias])


def project(library: Library, rows: Tensor, right: Panels, out: Tensor, *, bias: Tensor) -> Call:
    """A product, rows · right + bias, laid out as the right-hand side of another product.

    Parameters
    ----------
    library : Library
    rows : Tensor of shape (R, k)
    right : Panels of shape (k, n)
    out : Tensor of shape (panels, R, columns of a panel)
        As ``right.room_for(library, R)`` gives it.
    bias : Tensor of shape (n,)

    Returns
    -------
    Call
    """
    depth, columns = right.shape
    _check(rows, out, bias)
    panels = PanelStrides(right.room.data_ptr(), depth * out.stride(1), 0, 1, depth)
    arguments = [len(rows), columns, rows.data_ptr(), *rows.stride(), panels]
    arguments += [bias.data_ptr(), 0, out.data_ptr(), out.stride(1), out.stride(0)]
    return Call(library.multiply, _converted(library.multiply, arguments), [rows, right, out, bias])


def combine(library: Library, spread: Tensor, rows: Tensor, out: Tensor) -> Call:
    """Windows in a row as weighted sums of projected rows that they share.

    Parameters
    ----------
    library : Library
    spread : Tensor of shape (B, G, T, T)
        How much each step (the last axis) takes of each row, in G blocks.
    rows : Tensor of shape (panels, B + T − 1, columns of a panel)
        What :func:`project` gave: the columns of G blocks, each beginning a panel. Window b uses
        the rows from b on.
    out : Tensor of shape (B, T, n)

    Returns
    -------
    Call
    """
    _check(spread, rows, out)
    count, blocks, steps, _ = spread.shape
    row, panel = rows.stride(1), rows.stride(0)
    by_block = PanelStrides(rows.data_ptr(), panel, len(rows) // blocks * panel, blocks, steps)
    arguments: list[Any] = [
        count,
        steps,
        out.shape[2],
        spread.data_ptr(),
        spread.stride(0),
        1,
        steps,
    ]
    arguments += [by_block, row, out.data_ptr(), out.stride(0), out.stride(1)]
    each = library.multiply_each
    return Call(each, _converted(each, arguments), [spread, rows, out])


def mix(library: Library, weights: Tensor, value: Tensor, mixed: Tensor) -> Call:
    """Products of all windows and heads: mixed = weights · value.

    Parameters
    ----------
    library : Library
    weights : Tensor of shape (B, H, R, T)
    value : Tensor of shape (B, H, T, w)
    mixed : Tensor of shape (B, H, R, w)

    Returns
    -------
    Call
    """
    batch, heads, rows, depth = weights.shape
    columns = value.shape[3]
    arguments: list[Any] = [batch, heads, rows, depth, columns]
    arguments += [_rows(each) for each in (weights, value, mixed)]
    return Call(library.mix, _converted(library.mix, arguments), [weights, value, mixed])


def attend(
    library: Library,
    query: Tensor,
    key: Tensor,
    *,
    scale: float,
    causal: bool,
    value: Tensor | None = None,
    mixed: Tensor | None = None,
    add: bool = False,
    transposed: Tensor | None = None,
    mean_transposed: Tensor | None = None,
    last: Tensor | None = None,
) -> Call:
    """Attention matrices of many heads, and what they make of values (Eq. 2).

    Parameters
    ----------
    library : Library
    query : Tensor of shape (B, H, R, w)
    key : Tensor of shape (B, H, T, w)
    scale : float
        What scores are multiplied by.
    causal : bool
        A step sees itself and the steps before it.
    value : Tensor of shape (B, H, T, v), optional
    mixed : Tensor of shape (B, H, R, v), optional
        Where to write matrices · value.
    add : bool
        Add that to what is there already; heads may then share their place.
    transposed : Tensor of shape (B, H, T, R), optional
        Where to write the matrices, transposed.
    mean_transposed : Tensor of shape (B, T, R), optional
        Where to write their mean over the heads, transposed.
    last : Tensor of shape (B, H, T), optional
        Where to write the last row of each matrix.

    Returns
    -------
    Call
    """
    batch, heads, queries, width = query.shape
    steps = key.shape[2]
    value_width = 0 if value is None else value.shape[3]
    of_all_heads = None if mean_transposed is None else mean_transposed[:, None]
    last_rows = None if last is None else last[:, :, None]
    places = [query, key, value, transposed, of_all_heads, last_rows, mixed]
    arguments: list[Any] = [batch, heads, queries, steps, width, value_width, scale, int(causal)]
    arguments += [*(_rows(each) for each in places), int(add)]
    return Call(library.attend, _converted(library.attend, arguments), places)


def attend_backward(
    library: Library,
    query: Tensor,
    key: Tensor,
    value: Tensor,
    *,
    scale: float,
    transposed: Tensor,
    grad_mixed: Tensor,
    grad_transposed: Tensor,
    share: float,
    grad_query: Tensor,
    grad_key: Tensor | None = None,
    grad_value: Tensor | None = None,
) -> Call:
    """The gradients of what :func:`attend` was given.

    Parameters
    ----------
    library : Library
    query, key, value, scale, transposed
        As there.
    grad_mixed : Tensor of shape (B, H, R, v)
        The gradient of what was mixed.
    grad_transposed : Tensor of shape (B, H, T, R)
        ``share`` times this is the gradient of the matrices themselves, transposed.
    share : float
    grad_query : Tensor, shaped like ``query``
        Where to write its gradient; that may be the place of ``query``.
    grad_key, grad_value : Tensor, optional
        The same for keys and values.

    Returns
    -------
    Call
    """
    batch, heads, queries, width = query.shape
    places = [
        query,
        key,
        value,
        transposed,
        grad_mixed,
        grad_transposed,
        grad_query,
        grad_key,
        grad_value,
    ]
    arguments: list[Any] = [batch, heads, queries, key.shape[2], width, value.shape[3]]
    arguments += [scale, share, *(_rows(each) for each in places)]
    return Call(library.attend_backward, _converted(library.attend_backward, arguments), places)


def penalise(
    library: Library, matrices: Tensor, *, kept: int, smallest: float
) -> tuple[Tensor, Tensor] | None:
    """The truncated Geman norm of matrices (Eq. 7) and its gradient.

    Parameters
    ----------
    library : Library
    matrices : Tensor of shape (B, n, n)
    kept : int
        How many leading singular values go unpenalised.
    smallest : float
        Singular values below it are rounding: directions are looked for until nothing larger can
        be left, and the pull on those that are smaller fades.

    Returns
    -------
    totals : Tensor of shape (B,)
    gradients : Tensor of shape (B, n, n)
        None of both where a matrix has so many directions that other ways are faster.
    """
    matrices = matrices.contiguous()
    _check(matrices)
    batch, n, _ = matrices.shape
    totals, gradients = matrices.new_empty(batch), torch.empty_like(matrices)
    few = ctypes.c_int()
    places = totals.data_ptr(), gradients.data_ptr(), ctypes.addressof(few)
    _run(library.penalise, batch, n, matrices.data_ptr(), kept, smallest, *places)
    return (totals, gradients) if few else None


def count_above(library: Library, matrices: Tensor, level: float) -> NDArray[np.int16]:
    """How many singular values of matrices that are nearly of low rank exceed a level.

    Parameters
    ----------
    library : Library
    matrices : Tensor of shape (B, n, n)
    level : float

    Returns
    -------
    ndarray of int16, shape (B,)
        −1 where it cannot be said for sure: many are above the level, or one is nearly at it.
    """
    matrices = matrices.contiguous()
    _check(matrices)
    batch, n, _ = matrices.shape
    counts = torch.empty(batch, dtype=torch.int16)
    _run(library.count_above, batch, n, matrices.data_ptr(), level, counts.data_ptr())
    return counts.numpy()


def _run(function: Any, *arguments: Any) -> None:
    if function(*arguments):
        raise MemoryError("a kernel found no memory for its intermediate results")


def _rows(tensor: Tensor | None) -> Rows:
    if tensor is None:
        return Rows(None, 0, 0, 0)
    _check(tensor)
    *strides, last = tensor.stride()
    if last != 1 and tensor.shape[-1] > 1:
        raise ValueError("the last axis of a kernel's operand must lie in one piece")
    return Rows(tensor.data_ptr(), *strides)


def _check(*tensors: Tensor) -> None:
    for tensor in tensors:
        if tensor.dtype is not torch.float32 or not tensor.is_cpu:
            raise ValueError(f"kernels take float32 on the cpu, not {tensor.dtype}")


def _converted(function: Any, arguments: Sequence[Any]) -> list[Any]:
    """Arguments as ctypes wants them, so that nothing is left to convert when a call runs."""
    return [
        value if isinstance(value, ctypes.Structure) else kind(value)
        for kind, value in zip(function.argtypes, arguments, strict=True)
    ]
