"""How many singular values exceed a level, without computing them.

Trained attention matrices are nearly of low rank, so a few directions hold almost all of a matrix.
With Q an orthonormal basis of k directions, C = S Q and R = S − C Qᵀ, the rows of R are orthogonal
to Q and S Sᵀ = C Cᵀ + R Rᵀ. By Weyl's inequality each squared singular value of S lies between
that of C and that of C plus ‖R‖². Where no squared singular value of C falls into the strip of that
width below the level's square, the count is proven; other matrices get a full SVD.

Formed in double precision: the squares of small singular values would drown in the rounding of
single precision.

Compiled kernels (:mod:`alora_ts.fast.native`) do the same with directions that are chosen one after
the other: those of a Cholesky factor that takes the largest rest first and ends when what is left
is far below the level.
"""

from __future__ import annotations

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from alora_ts.fast import kernels_for, native, way
from alora_ts.fast.plain import count_rank_plainly

__all__ = ["count_rank"]

_DIRECTIONS = 12
_ROUNDING = 1e-13


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
    if way() == "plain":
        return count_rank_plainly(attention, level)
    kernels = kernels_for(attention)
    if kernels is not None:
        # Of S and its transpose the same; the kernels leave it transposed.
        rank = native.count_above(kernels, attention.transpose(1, 2), level)
    else:
        rank = _count_in_few_directions(attention.double(), level)
    doubtful = rank < 0
    if doubtful.any():
        rank[doubtful] = count_rank_plainly(attention[torch.from_numpy(doubtful)], level)
    return rank


def _count_in_few_directions(matrices: Tensor, level: float) -> NDArray[np.int16]:
    """The count where it is proven, and −1 elsewhere."""
    basis, _ = torch.linalg.qr(matrices.transpose(1, 2) @ _directions(matrices.shape[-1]))
    reduced = matrices @ basis  # C, (B, T, k)
    squares = torch.linalg.eigvalsh(reduced.transpose(1, 2) @ reduced)  # (B, k)
    total = matrices.square().sum((1, 2))
    rounding = _ROUNDING * matrices.shape[-1] * total
    rest = (total - reduced.square().sum((1, 2))).clamp_min(0) + rounding  # at least ‖R‖²
    high = squares > level**2 + rounding[:, None]
    low = squares < level**2 - rest[:, None]
    proven = (high | low).all(1) & (rest < level**2)
    rank: NDArray[np.int16] = high.sum(-1).where(proven, -1).to(torch.int16).numpy()
    return rank


def _directions(steps: int) -> Tensor:
    """Where to look first: mixtures of all rows, the same at every call."""
    draws = np.random.default_rng(0).standard_normal((steps, _DIRECTIONS))
    return torch.from_numpy(draws)
