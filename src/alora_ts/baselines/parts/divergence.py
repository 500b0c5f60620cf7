"""Kullback-Leibler pieces between attention matrices."""

from __future__ import annotations

from torch import Tensor

__all__ = ["row_kl", "symmetric_kl"]

_FLOOR = 1e-4


def row_kl(p: Tensor, q: Tensor) -> Tensor:
    """Σ_j p_j (log(p_j + 1e-4) − log(q_j + 1e-4)), averaged over the heads.

    Parameters
    ----------
    p, q : Tensor of shape (B, H, T, T)
        Weights over the last axis.

    Returns
    -------
    Tensor of shape (B, T)

    Examples
    --------
    >>> import torch
    >>> even = torch.full((1, 1, 2, 2), 0.5)
    >>> row_kl(even, even)
    tensor([[0., 0.]])
    """
    ratio = (p + _FLOOR).log() - (q + _FLOOR).log()
    return (p * ratio).sum(-1).mean(1)


def symmetric_kl(p: Tensor, q: Tensor) -> Tensor:
    """The sum of both directions of :func:`row_kl`, (B, T).

    Examples
    --------
    >>> import torch
    >>> even, sure = torch.full((1, 1, 1, 2), 0.5), torch.tensor([[[[1.0, 0.0]]]])
    >>> torch.equal(symmetric_kl(even, sure), symmetric_kl(sure, even))
    True
    """
    return row_kl(p, q) + row_kl(q, p)
