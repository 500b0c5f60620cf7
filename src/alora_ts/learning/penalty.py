"""The low-rank penalty of long windows, in the few directions that attention has."""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor

from alora_ts import native
from alora_ts.network import low_rank_penalty
from alora_ts.network.penalty import SMALLEST

__all__ = ["penalise"]

_LONG = 48
"""From so many steps on finding the directions first takes less time than it saves."""

_AT_A_TIME = 8
"""How many matrices are worked on together; they stay in the cache from one product to the next."""

_TINY = 1e-30
"""Below every squared length that is not zero; what it divides is zero then."""


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
    Attention of long windows is nearly of low rank. Directions are looked for until all that is
    left of a matrix is smaller than a singular value that counts as rounding (10⁻⁶). What is lost
    is less than √T · 10⁻⁶ of the penalty, and a pull that fades there anyway.

    Examples
    --------
    >>> penalise(torch.eye(4))
    tensor(1.5000)
    """
    kernels = native.kernels_for(matrices)
    steps = matrices.shape[-1]
    if kernels is None or steps < _LONG:
        return low_rank_penalty(matrices, kept=kept)
    flat = matrices.reshape(-1, steps, steps)
    found: Tensor = _FewDirections.apply(flat, kept, kernels)  # type: ignore[no-untyped-call]
    return found.view(matrices.shape[:-2])


class _FewDirections(torch.autograd.Function):
    """Σ_{i>r} σ_i / (σ_i + 1) per matrix (B, T, T), and its gradient U diag(f'(σ)) Vᵀ.

    With SᵀS = FᵀF, F having k rows, and W the eigenvectors of FFᵀ, the columns of FᵀW are the
    right singular vectors of S, each as long as its singular value. As in the network's own
    penalty, σ_i and u_i come from S v_i, in double precision.
    """

    @staticmethod
    def forward(ctx: Any, matrices: Tensor, kept: int, kernels: native.Library) -> Tensor:
        found = [_decompose(few, kept, kernels) for few in torch.split(matrices, _AT_A_TIME)]
        ctx.sides = [sides for _, sides in found]
        return torch.cat([total for total, _ in found])

    @staticmethod
    def backward(ctx: Any, *gradients: Tensor) -> tuple[Tensor, None, None]:
        products = [left @ right.transpose(1, 2) for left, right in ctx.sides]
        return torch.cat(products).mul_(gradients[0][:, None, None]), None, None


def _decompose(
    matrices: Tensor, kept: int, kernels: native.Library
) -> tuple[Tensor, tuple[Tensor, Tensor]]:
    """The penalty, and two sides (B, T, k) whose product is its gradient."""
    s = matrices.double()
    rows = native.factor(kernels, s.transpose(1, 2) @ s, rest=SMALLEST**2)  # (B, k, T)
    _, w = torch.linalg.eigh(rows @ rows.transpose(1, 2))  # ascending: the kept ones come last
    v = rows.transpose(1, 2) @ w[..., : max(0, w.shape[-1] - kept)]
    image = s @ v
    # Both are as long as the singular value makes them; zeros where a matrix needs fewer rows.
    squared = v.square().sum(1).clamp_min(_TINY)
    sigma = image.square().sum(1).div_(squared).sqrt_()
    slope = 1 / ((sigma + 1).square() * sigma.clamp_min(SMALLEST) * squared)
    sides = (image.mul_(slope[:, None]).to(matrices), v.to(matrices))
    return (sigma / (sigma + 1)).sum(1).to(matrices), sides
