"""How many singular values exceed a level, without computing them.

The number of singular values of S above h1 is the number of positive eigenvalues of SᵀS − h1²·I,
and by Sylvester's law of inertia that of the positive pivots in its LDLᵀ factorisation. For short
windows that is all there is to do; matrices with a pivot too near zero for rounding to decide get
a full SVD.

For long windows even that is too much. Trained attention matrices are nearly of low rank, so a few
directions hold almost all of a matrix. With Q an orthonormal basis of k directions, C = S Q and
R = S − C Qᵀ, the rows of R are orthogonal to Q and S Sᵀ = C Cᵀ + R Rᵀ. By Weyl's inequality each
squared singular value of S lies between that of C and that of C plus ‖R‖². Where no squared
singular value of C falls into the strip of that width below the level's square, the count is
proven; other matrices get a full SVD.

Formed in double precision: the squares of small singular values would drown in the rounding of
single precision.

Compiled kernels (:mod:`alora_ts.fast.native`), where they are installed, do the same for windows of
any length with directions that are chosen one after the other: those of a Cholesky factor that
takes the largest rest first and ends when what is left is far below the level.
"""

from __future__ import annotations

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from alora_ts.fast import native

__all__ = ["count_rank"]

_DIRECTIONS = 12
_SMALLEST = 48
"""Below this many rows the pivots cost less than the few directions."""

_ROUNDING = 1e-13
_DOUBTFUL = 1e-10
"""Pivots smaller than this, relative to ‖S‖², decide nothing."""


def count_rank(attention: Tensor, level: float) -> NDArray[np.int16]:
    """ALoRa-T score: how many singular values of each matrix exceed h1 (Eq. 10).

    Parameters
    ----------
    attention : Tensor of shape (B, T, T)
    level : float
        h1.

    Returns
    -------
    ndarray of int16, shape (B,)

    Examples
    --------
    >>> count_rank(torch.diag_embed(torch.tensor([[1.0, 0.5, 0.1]])), 0.2)
    array([2], dtype=int16)
    """
    kernels = native.kernels_for(attention)
    if kernels is not None:
        # Of S and its transpose the same; the kernels leave it across.
        rank = native.count_above(kernels, attention.transpose(1, 2), level)
        doubtful = rank < 0
    else:
        count = _count_pivots if attention.shape[-1] < _SMALLEST else _count_few
        rank, proven = count(attention.double(), level)
        doubtful = ~proven.numpy()
    if doubtful.any():
        rank[doubtful] = _count_all(attention[torch.from_numpy(doubtful)].double(), level)
    return rank


def _count_all(matrices: Tensor, level: float) -> NDArray[np.int16]:
    above = torch.linalg.svdvals(matrices) > level
    rank: NDArray[np.int16] = above.sum(-1).to(torch.int16).numpy()
    return rank


def _count_pivots(matrices: Tensor, level: float) -> tuple[NDArray[np.int16], Tensor]:
    """The count by the signs of the pivots, and where they are beyond doubt."""
    gram = matrices.transpose(1, 2) @ matrices
    size = gram.diagonal(dim1=1, dim2=2).sum(1)
    gram.diagonal(dim1=1, dim2=2).sub_(level**2)
    factors, order, _ = torch.linalg.ldl_factor_ex(gram)
    pivots = factors.diagonal(dim1=1, dim2=2)
    # A negative entry of the order marks a block of two rows, with one eigenvalue of each sign.
    paired = order < 0
    above = ((pivots > 0) & ~paired).sum(1) + paired.sum(1) // 2
    sure = ((pivots.abs() > _DOUBTFUL * size[:, None]) | paired).all(1)
    rank: NDArray[np.int16] = above.to(torch.int16).numpy()
    return rank, sure


def _count_few(matrices: Tensor, level: float) -> tuple[NDArray[np.int16], Tensor]:
    """The count by a few directions, and where it is proven."""
    basis, _ = torch.linalg.qr(matrices.transpose(1, 2) @ _directions(matrices.shape[-1]))
    reduced = matrices @ basis  # C, (B, T, k)
    squares = torch.linalg.eigvalsh(reduced.transpose(1, 2) @ reduced)  # (B, k)
    total = matrices.square().sum((1, 2))
    rounding = _ROUNDING * matrices.shape[-1] * total
    rest = (total - reduced.square().sum((1, 2))).clamp_min(0) + rounding  # at least ‖R‖²
    high = squares > level**2 + rounding[:, None]
    low = squares < level**2 - rest[:, None]
    proven = (high | low).all(1) & (rest < level**2)
    rank: NDArray[np.int16] = high.sum(-1).to(torch.int16).numpy()
    return rank, proven


def _directions(steps: int) -> Tensor:
    """Where to look first: mixtures of all rows, the same at every call."""
    draws = np.random.default_rng(0).standard_normal((steps, _DIRECTIONS))
    return torch.from_numpy(draws)
