"""A training step as the network itself takes it."""

from __future__ import annotations

import torch
from torch import Tensor

from alora_ts.learning import Training
from alora_ts.learning.loss import Loss
from alora_ts.network import ALoRaT, low_rank_penalty


def plain_loss(network: ALoRaT, windows: Tensor, options: Training) -> Loss:
    """Eq. 8 by the network's own pass, layer by layer."""
    encoding = network(windows, per_head=True)
    matrices = encoding.heads if options.placement == "heads" else encoding.attention
    squares = (encoding.reconstruction - windows).square().mean((0, 1))
    error, penalty = squares.mean(), sum(low_rank_penalty(s).mean() for s in matrices)
    assert isinstance(penalty, Tensor)
    return Loss(error + options.low_rank_weight * penalty, error, penalty, squares)


def gradients(network: ALoRaT) -> dict[str, Tensor]:
    """Of all weights, by name."""
    # The keys' bias has no effect, and gets rounding or nothing.
    return {
        name: torch.zeros_like(weight) if weight.grad is None else weight.grad.clone()
        for name, weight in network.named_parameters()
    }
