"""The gradient of a batch, computed in parts side by side.

A batch is always cut into the same parts, whatever the number of threads, and each part is
computed by one thread from beginning to end. So the cores never wait for each other inside a
product, LAPACK's batched calls use all of them, and a fit gives the same weights with one thread as
with two.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from concurrent.futures import ThreadPoolExecutor

import torch
from torch import Tensor

from alora_ts.learning.loss import Loss, objective
from alora_ts.learning.options import TrainingOptions
from alora_ts.network import ALoRaT
from alora_ts.threads import use_threads

__all__ = ["Descend", "descend"]

Descend = Callable[[ALoRaT, Tensor, TrainingOptions], Loss]
"""Gives the loss of a batch of windows (B, T, d) and leaves its gradient in the network."""

_PARTS = 2
_FEWEST = 16
"""A batch of fewer windows stays whole: its products would become too small."""


def descend(network: ALoRaT, windows: Tensor, options: TrainingOptions) -> Loss:
    """Evaluate Eq. 8 on a batch and its gradient, in this process.

    Parameters
    ----------
    network : ALoRaT
    windows : Tensor of shape (B, T, d)
    options : TrainingOptions

    Returns
    -------
    Loss
        Where it is not finite, the network is left without a gradient.
    """
    # The authors' penalty spares the batch's first window, so it needs the batch whole; a GPU has
    # no use for parts.
    whole = len(windows) < _FEWEST or options.penalty == "authors" or windows.is_cuda
    parts = [windows] if whole else list(windows.chunk(_PARTS))
    parameters = list(network.parameters())

    def run(part: Tensor) -> tuple[Loss, tuple[Tensor | None, ...]]:
        loss = objective(network, part, options)
        if not torch.isfinite(loss.total):
            return loss, ()
        return loss, torch.autograd.grad(loss.total, parameters, allow_unused=True)

    threads = min(len(parts), torch.get_num_threads())
    results: Iterable[tuple[Loss, tuple[Tensor | None, ...]]]
    if threads == 1:
        results = map(run, parts)
    else:
        with use_threads(1), ThreadPoolExecutor(threads) as pool:
            results = list(pool.map(run, parts))
    losses, gradients = zip(*results, strict=True)
    shares = [len(part) / len(windows) for part in parts]
    loss = _mean(losses, shares)
    if torch.isfinite(loss.total):
        for parameter, *by_part in zip(parameters, *gradients, strict=True):
            parameter.grad = _weighted(by_part, shares)
    return loss


def _mean(losses: tuple[Loss, ...], shares: list[float]) -> Loss:
    def term(name: str) -> Tensor:
        terms = [
            getattr(loss, name).detach() * share for loss, share in zip(losses, shares, strict=True)
        ]
        return torch.stack(terms).sum(0)

    return Loss(term("total"), term("error"), term("penalty"), term("squares"))


def _weighted(gradients: list[Tensor | None], shares: list[float]) -> Tensor | None:
    total: Tensor | None = None
    for gradient, share in zip(gradients, shares, strict=True):
        if gradient is not None:
            total = gradient * share if total is None else total.add_(gradient, alpha=share)
    return total
