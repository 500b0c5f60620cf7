"""The ALoRa loss: a truncated Geman norm of the attention matrices (Eq. 7)."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from typing import Any

import torch
from torch import Tensor

__all__ = ["low_rank_penalty"]


class _TruncatedGeman(torch.autograd.Function):
    """Σ_{i>r} σ_i / (σ_i + 1) per matrix, by one SVD, with its exact gradient.

    For a spectral function the gradient is U diag(f'(σ)) Vᵀ. Unlike the derivative of the SVD
    itself, it holds no differences of singular values in a denominator, so it is finite where
    singular values repeat or vanish (there it is one of the subgradients).
    """

    @staticmethod
    def forward(ctx: Any, matrices: Tensor, kept: int) -> Tensor:
        u, sigma, vh = _svd(matrices)
        tail = sigma[..., kept:]
        ctx.save_for_backward(u[..., kept:], tail, vh[..., kept:, :])
        total: Tensor = (tail / (tail + 1)).sum(-1)
        return total

    @staticmethod
    def backward(ctx: Any, *gradients: Tensor) -> tuple[Tensor, None]:
        u, tail, vh = ctx.saved_tensors
        slope = gradients[0][..., None] / (tail + 1).square()
        return (u * slope[..., None, :]) @ vh, None


def _svd(matrices: Tensor) -> tuple[Tensor, Tensor, Tensor]:
    """U, σ, Vᵀ of each matrix; torch runs batches of LAPACK calls on one core, this on all."""
    threads = torch.get_num_threads()
    flat = matrices.flatten(0, -3) if matrices.ndim > 3 else matrices
    # Below this size starting threads costs more than it saves.
    if threads == 1 or flat.ndim < 3 or flat.numel() < 20_000:
        u, sigma, vh = torch.linalg.svd(flat, full_matrices=False)
    else:
        with ThreadPoolExecutor(threads) as pool:
            parts = list(pool.map(_plain_svd, flat.chunk(threads)))
        u, sigma, vh = (torch.cat(each) for each in zip(*parts, strict=True))
    shape = matrices.shape
    return u.view(shape), sigma.view(shape[:-1]), vh.view(shape)


def _plain_svd(matrices: Tensor) -> tuple[Tensor, Tensor, Tensor]:
    # A thread of its own starts with gradients on, even inside an autograd function.
    with torch.no_grad():
        u, sigma, vh = torch.linalg.svd(matrices, full_matrices=False)
    return u, sigma, vh


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
