"""The objective: reconstruction error and low-rank penalty (Eq. 8)."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import torch
from torch import Tensor

from alora_ts.fast.penalty import penalise
from alora_ts.learning.options import Training
from alora_ts.network import Encoding, low_rank_penalty

__all__ = ["Loss", "judge", "weighted_mean"]


@dataclass(frozen=True)
class Loss:
    """The terms of Eq. 8 for a batch.

    Attributes
    ----------
    total : Tensor
        error + λ · penalty; where the error is meant as a sum over T·d entries, error + λ/(T·d) ·
        penalty, which is that loss divided by T·d: Adam takes the same steps.
    error : Tensor
        Mean squared reconstruction error over all entries.
    penalty : Tensor
        Σ_l of the low-rank penalty, mean over windows.
    squares : Tensor of shape (d,)
        Mean squared error of each series, to name a culprit when something goes wrong.
    """

    total: Tensor
    error: Tensor
    penalty: Tensor
    squares: Tensor


def judge(encoding: Encoding, windows: Tensor, options: Training) -> Loss:
    """Evaluate Eq. 8.

    Parameters
    ----------
    encoding : Encoding
        What a network makes of the windows; with the matrices of each head where
        :attr:`~alora_ts.learning.options.Training.per_head` says so.
    windows : Tensor of shape (B, T, d)
    options : Training

    Returns
    -------
    Loss

    Notes
    -----
    The paper sums the squared error over all T·d entries (``error="sum"``). By default it is the
    mean, as in the authors' program, so that λ means the same for any window and any number of
    variables; the penalty is a mean over windows, so that λ does not depend on the batch size
    either.
    """
    squares = (encoding.reconstruction - windows).square().mean((0, 1))
    error = squares.mean()
    if not torch.isfinite(error):
        # Decomposing such matrices fails in words that name no variable; the loop names it.
        return Loss(error, error, torch.full_like(error, torch.nan), squares)
    if options.penalty == "authors":
        # Their slice [r:] meets the batch axis: window 0 is spared instead of σ1.
        per_layer = [low_rank_penalty(s, kept=0)[1:].sum() for s in encoding.attention]
        penalty = torch.stack(per_layer).mean()
    else:
        # All layers in one call: one batch of decompositions instead of L. A matrix and its
        # transpose have one penalty, and kernels leave the transposed one.
        shown = encoding.heads if encoding.heads is not None else encoding.attention
        transposed = torch.stack([matrices.transpose(-1, -2) for matrices in shown])
        penalty = penalise(transposed).flatten(1).mean(1).sum()
    weight = options.low_rank_weight
    if options.error == "sum":
        weight /= windows.shape[1] * windows.shape[2]
    return Loss(error + weight * penalty, error, penalty, squares)


def weighted_mean(losses: Sequence[Loss], shares: Sequence[float]) -> Loss:
    """The loss of a batch, from those of its parts and their shares of it."""

    def term(name: str) -> Tensor:
        terms = [
            getattr(loss, name).detach() * share for loss, share in zip(losses, shares, strict=True)
        ]
        return torch.stack(terms).sum(0)

    return Loss(term("total"), term("error"), term("penalty"), term("squares"))
