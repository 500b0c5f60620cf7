"""The ALoRa loss: a truncated Geman norm of the attention matrices (Eq. 7)."""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor

__all__ = ["SMALLEST", "low_rank_penalty"]


class _TruncatedGeman(torch.autograd.Function):
    """Σ_{i>r} σ_i / (σ_i + 1) per matrix, by one decomposition, with its exact gradient.

    For a spectral function the gradient is U diag(f'(σ)) Vᵀ. Unlike the derivative of the SVD
    itself, it holds no differences of singular values in a denominator, so it is finite where
    singular values repeat or vanish (there it is one of the subgradients).

    V comes from the eigenvectors of SᵀS in double precision, σ_i from ‖S v_i‖ and u_i from
    S v_i / σ_i. That is half the work of an SVD in single precision and at least as accurate: the
    squares of singular values down to 1e-8 are still distinct, and norms need no square root of
    a rounded difference.
    """

    @staticmethod
    def forward(ctx: Any, matrices: Tensor, kept: int) -> Tensor:
        s = matrices.double()
        _, v = torch.linalg.eigh(s.transpose(-1, -2) @ s)  # ascending: the kept ones come last
        v = v[..., : s.shape[-1] - kept]
        image = s @ v  # u_i σ_i
        sigma = torch.linalg.vector_norm(image, dim=-2)
        slope = 1 / ((sigma + 1).square() * sigma.clamp_min(SMALLEST))
        # Both sides in the caller's precision; the product is formed when it is asked for.
        ctx.save_for_backward((image * slope[..., None, :]).to(matrices), v.to(matrices))
        total: Tensor = (sigma / (sigma + 1)).sum(-1).to(matrices)
        return total

    @staticmethod
    def backward(ctx: Any, *gradients: Tensor) -> tuple[Tensor, None]:
        left, right = ctx.saved_tensors
        return gradients[0][..., None, None] * (left @ right.transpose(-1, -2)), None


SMALLEST = 1e-6
"""Below this a singular value of a single-precision matrix is mostly rounding; the pull on its
direction fades out."""


def low_rank_penalty(matrices: Tensor, *, kept: int = 1) -> Tensor:
    """Truncated Geman norm of each matrix (Eq. 7).

    Parameters
    ----------
    matrices : Tensor of shape (..., T, T)
        Attention matrices.
    kept : int
        r, how many leading singular values go unpenalised.

    Returns
    -------
    Tensor of shape (...)

    Notes
    -----
    The paper takes r = 1 because a row-stochastic matrix has σ1 = 1. That is its spectral radius;
    σ1 itself is at least 1, and 1 only when the matrix is doubly stochastic. r = 1 is right all
    the same: a matrix of identical rows has one singular value that cannot be removed.

    Examples
    --------
    >>> low_rank_penalty(torch.eye(4))
    tensor(1.5000)
    >>> low_rank_penalty(torch.full((4, 4), 0.25)).round(decimals=5)
    tensor(0.)
    """
    result: Tensor = _TruncatedGeman.apply(matrices, kept)  # type: ignore[no-untyped-call]
    return result
