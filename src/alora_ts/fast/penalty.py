"""The low-rank penalty in the few directions that attention has."""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor

from alora_ts.fast import kernels_for, native
from alora_ts.network import low_rank_penalty
from alora_ts.network.penalty import SMALLEST

__all__ = ["penalise"]


def penalise(matrices: Tensor, *, kept: int = 1) -> Tensor:
    """Truncated Geman norm of each matrix (Eq. 7), as :func:`~alora_ts.network.low_rank_penalty`.

    Parameters
    ----------
    matrices : Tensor of shape (..., T, T)
    kept : int
        r, how many leading singular values go unpenalised.

    Returns
    -------
    Tensor of shape (...)

    Notes
    -----
    Attention is nearly of low rank. Compiled kernels look for directions until all that is left of
    a matrix is smaller than a singular value that counts as rounding (10⁻⁶). What is lost is less
    than √T · 10⁻⁶ of the penalty, and a pull that fades there anyway.

    Examples
    --------
    >>> penalise(torch.eye(4))
    tensor(1.5000)
    """
    kernels = kernels_for(matrices)
    if kernels is not None:
        flat = matrices.detach().reshape(-1, *matrices.shape[-2:])
        found = native.penalise(kernels, flat, kept=kept, smallest=SMALLEST)
        if found is not None:
            totals, gradients = found
            own = totals.view(matrices.shape[:-2]), gradients.view(matrices.shape)
            result: Tensor = _Known.apply(matrices, *own)  # type: ignore[no-untyped-call]
            return result
    return low_rank_penalty(matrices, kept=kept)


class _Known(torch.autograd.Function):
    """A value for each matrix (..., T, T), and its gradient, both known already."""

    @staticmethod
    def forward(ctx: Any, _: Tensor, values: Tensor, gradients: Tensor) -> Tensor:
        ctx.save_for_backward(gradients)
        return values.clone()

    @staticmethod
    def backward(ctx: Any, *grad_values: Tensor) -> tuple[Tensor, None, None]:
        (gradients,) = ctx.saved_tensors
        return grad_values[0][..., None, None] * gradients, None, None
