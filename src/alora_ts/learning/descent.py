"""The gradient of a batch, computed in parts side by side.

A batch is always cut into the same parts, whatever the number of threads, and each part is
computed by one thread from beginning to end. So the cores never wait for each other inside a
product, LAPACK's batched calls use all of them, and a fit gives the same weights with one thread as
with two. What depends on the weights alone (:class:`~alora_ts.learning.encode.Folds`) is computed
once, that of the first layer beside that of the last; the parts give its gradient, and the sum of
theirs goes on to the weights.
"""

from __future__ import annotations

from collections.abc import Callable

import torch
from torch import Tensor

from alora_ts.learning.encode import Folds, fold
from alora_ts.learning.loss import Loss, objective
from alora_ts.learning.options import TrainingOptions
from alora_ts.network import ALoRaT
from alora_ts.threads import side_by_side, use_threads

__all__ = ["Descend", "descend"]

Descend = Callable[[ALoRaT, Tensor, TrainingOptions], Loss]
"""Gives the loss of a batch of windows (B, T, d) and leaves its gradient in the network, in place
of the one that was there."""

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
    shares = [len(part) / len(windows) for part in parts]
    threads = min(len(parts), torch.get_num_threads())
    before = [parameter.grad for parameter in network.parameters()]
    network.zero_grad()
    with use_threads(1):
        folds = fold(network, threads=threads)
        cut = None if folds is None else Folds(*(_leaf(each) for each in folds.tensors()))
        leaves = [*network.parameters(), *(() if cut is None else cut.tensors())]

        def run(number: int) -> tuple[Loss, tuple[Tensor | None, ...]]:
            loss = objective(network, parts[number], options, folds=cut)
            if not torch.isfinite(loss.total):
                return loss, ()
            scaled = shares[number] * loss.total
            return loss, torch.autograd.grad(scaled, leaves, allow_unused=True)

        losses, gradients = zip(*side_by_side(run, range(len(parts)), threads=threads), strict=True)
        loss = _mean(losses, shares)
        if torch.isfinite(loss.total):
            for leaf, *by_part in zip(leaves, *gradients, strict=True):
                leaf.grad = _sum(by_part)
            if folds is not None and cut is not None:
                ends = list(zip(folds.ends(), cut.ends(), strict=True))
                side_by_side(_carry_on, ends, threads=threads)
    # The old gradient goes only now that the new one is there: its memory then stays with the
    # process for the next step, and need not come from the system page by page.
    before.clear()
    return loss


def _leaf(tensor: Tensor) -> Tensor:
    """The same numbers as the start of a graph of their own."""
    return tensor.detach().requires_grad_()


def _carry_on(end: tuple[tuple[Tensor, ...], tuple[Tensor, ...]]) -> None:
    """Take the gradient of folded matrices, left in their copies, to the weights behind them."""
    folded, copies = end
    torch.autograd.backward(folded, [each.grad for each in copies])


def _mean(losses: tuple[Loss, ...], shares: list[float]) -> Loss:
    def term(name: str) -> Tensor:
        terms = [
            getattr(loss, name).detach() * share for loss, share in zip(losses, shares, strict=True)
        ]
        return torch.stack(terms).sum(0)

    return Loss(term("total"), term("error"), term("penalty"), term("squares"))


def _sum(gradients: list[Tensor | None]) -> Tensor | None:
    """The sum of the parts' gradients, in the first one's place; None for a parameter not used."""
    used = [gradient for gradient in gradients if gradient is not None]
    for gradient in used[1:]:
        used[0].add_(gradient)
    return used[0] if used else None
