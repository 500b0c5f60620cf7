"""From a batch to the gradient of Eq. 8 in the network."""

from __future__ import annotations

from collections.abc import Callable

from torch import Tensor

from alora_ts.fast.backward import gradient
from alora_ts.learning.loss import Loss, judge, weighted_mean
from alora_ts.learning.options import Training
from alora_ts.network import ALoRaT

__all__ = ["Descend", "descend"]

Descend = Callable[[ALoRaT, Tensor, Training], Loss]
"""Gives the loss of a batch of windows (B, T, d) and leaves its gradient in the network, in place
of the one that was there."""


def descend(network: ALoRaT, windows: Tensor, options: Training) -> Loss:
    """Evaluate Eq. 8 on a batch, and its gradient.

    Parameters
    ----------
    network : ALoRaT
        Where the gradient is left; none where the loss is not finite.
    windows : Tensor of shape (B, T, d)
    options : Training

    Returns
    -------
    Loss

    Examples
    --------
    >>> import torch
    >>> from alora_ts.network import Architecture
    >>> _ = torch.manual_seed(0)
    >>> pairs = torch.combinations(torch.arange(4)).repeat(8, 1)
    >>> network = ALoRaT(pairs, variables=4, window=6, architecture=Architecture(heads=2))
    >>> loss = descend(network, torch.randn(3, 6, 4), Training())
    >>> loss.squares.shape, network.decode.weight.grad.shape
    (torch.Size([4]), torch.Size([4, 48]))
    """
    losses, shares = gradient(
        network,
        windows,
        lambda encoding, part: judge(encoding, part, options),
        per_head=options.per_head,
        # The authors' penalty spares the batch's first window, so it needs the batch whole.
        whole=options.penalty == "authors",
    )
    return weighted_mean(losses, shares)
