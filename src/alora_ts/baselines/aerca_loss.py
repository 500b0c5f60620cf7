"""AERCA's loss: reconstruction, sparse and smooth coefficients, exogenous inputs near N(0, I)."""

from __future__ import annotations

from typing import Literal

import torch
from torch import Tensor

from alora_ts.baselines.aerca_network import AercaOutput

__all__ = ["Divergence", "aerca_loss", "gaussian_divergence", "smoothness", "sparsity"]

Divergence = Literal["correct", "official"]

_RIDGE = 1e-6
# A singular covariance has an infinite condition number; the ridge must stay a number.
_WORST_CONDITION = 1e6


def sparsity(theta: Tensor) -> Tensor:
    """Elastic net on the coefficients (B, K, p, p): norms over the lags, half L2 and half L1.

    Examples
    --------
    >>> sparsity(torch.tensor([3.0, 4.0]).view(1, 2, 1, 1))  # (5 + 7) / 2
    tensor(6.)
    """
    l2: Tensor = torch.linalg.vector_norm(theta, dim=1).mean()
    l1 = theta.abs().sum(1).mean()
    return 0.5 * l2 + 0.5 * l1


def smoothness(theta: Tensor) -> Tensor:
    """Mean norm of the change from one lag to the next; 0 with a single lag.

    Examples
    --------
    >>> smoothness(torch.tensor([3.0, 4.0]).view(1, 2, 1, 1))
    tensor(1.)
    """
    if theta.shape[1] == 1:
        return theta.new_zeros(())
    norms: Tensor = torch.linalg.vector_norm(theta.diff(dim=1), dim=1)
    return norms.mean()


def gaussian_divergence(exogenous: Tensor, *, form: Divergence) -> Tensor:
    """Distance from N(0, I) of a Gaussian with the rows' mean and covariance.

    Parameters
    ----------
    exogenous : Tensor of shape (N, p)
    form : {"correct", "official"}
        "correct" is the Kullback-Leibler divergence. "official" is what the published program
        computes, without the half and with the sign of the log-determinant reversed: it
        rewards a covariance that collapses and has no lower bound.

    Notes
    -----
    The covariance gets a ridge of 1e-6 times its condition number, which is not differentiated.

    Examples
    --------
    >>> rows = torch.tensor([[-1.0], [0.0], [1.0]])  # mean 0, variance 1
    >>> abs(gaussian_divergence(rows, form="correct").item()) < 1e-6
    True
    """
    count, variables = exogenous.shape
    mean = exogenous.mean(0)
    centred = exogenous - mean
    covariance: Tensor = centred.T @ centred / max(count - 1, 1)
    spread = torch.linalg.eigvalsh(covariance.detach())
    condition = (spread[-1] / spread[0].clamp_min(0)).nan_to_num(_WORST_CONDITION)
    ridge = _RIDGE * condition.clamp_max(_WORST_CONDITION)
    covariance = covariance + ridge * torch.eye(variables).to(exogenous)
    common: Tensor = mean.square().sum() + covariance.diagonal().sum() - variables
    log_determinant: Tensor = torch.linalg.slogdet(covariance).logabsdet
    if form == "official":
        return common + log_determinant
    return 0.5 * (common - log_determinant)


def aerca_loss(output: AercaOutput, rows: Tensor, *, divergence: Divergence) -> Tensor:
    """Loss of one stretch of rows (N, p); every penalty weighs one half.

    Examples
    --------
    >>> from alora_ts.baselines.aerca_network import AercaNetwork
    >>> network = AercaNetwork(variables=2, order=1, width=3, hidden=1)
    >>> rows = torch.randn(9, 2)
    >>> aerca_loss(network(rows), rows, divergence="correct").shape
    torch.Size([])
    """
    target = rows[len(rows) - len(output.reconstruction) :]
    coefficients = (output.encoder, output.decoder, output.decoder_past)
    penalty = gaussian_divergence(output.exogenous, form=divergence)
    for theta in coefficients:
        penalty = penalty + sparsity(theta) + smoothness(theta)
    return (output.reconstruction - target).square().mean() + 0.5 * penalty
