"""Proposition 1 as code: the latent space as a sum of space-time autoregressive terms (Eq. 5).

Unrolled over its layers, the network's latent representation is a sum of terms A · Ỹ · B, one for
each way through the layers: A, a product of attention matrices, weighs time; B, a product of
value matrices, weighs series. With one head and skip connections these are the 2^L terms of
Eq. 5; with H heads there are (H + 1)^L, because a layer is Z + Σ_h S_h Z W_h and the mean of the
heads' matrices cannot stand for the sum.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterator
from dataclasses import dataclass

import torch
from torch import Tensor

from alora_ts.network.alora_t import ALoRaT
from alora_ts.network.contributions import layer_terms

__all__ = ["StarTerm", "constant_part", "star_terms"]


@dataclass(frozen=True)
class StarTerm:
    """One space-time autoregressive term A · Ỹ · B of the latent representation.

    Attributes
    ----------
    way : tuple of (int or None)
        For each layer the head that was taken, or None for the skip connection.
    time : Tensor of shape (B, T, T)
        A, the product of the attention matrices, last layer leftmost.
    series : Tensor of shape (D, D)
        B, the product of the value weights, first layer leftmost.
    """

    way: tuple[int | None, ...]
    time: Tensor
    series: Tensor


def star_terms(network: ALoRaT, windows: Tensor) -> Iterator[StarTerm]:
    """The terms of Eq. 5 (Eq. 4 without skip connections), generalised to heads.

    Parameters
    ----------
    network : ALoRaT
        Without activation and LayerNorm.
    windows : Tensor of shape (B, T, d)

    Yields
    ------
    StarTerm
        With E the embedded windows, ``latent = sum(term.time @ E @ term.series)`` is Z^(L) less
        what the biases add to it, and ``latent @ decode.weight.T`` plus :func:`constant_part` is
        the reconstruction.

    Examples
    --------
    >>> from alora_ts.network import Architecture
    >>> _ = torch.manual_seed(0)
    >>> pairs = torch.combinations(torch.arange(4))
    >>> network = ALoRaT(pairs, variables=4, window=6, architecture=Architecture(heads=1))
    >>> len(list(star_terms(network, torch.randn(1, 6, 4))))
    4
    """
    with torch.no_grad():
        heads = network(windows, per_head=True).heads
        assert heads is not None
        batch, steps, _ = windows.shape
        per_layer = [list(layer_terms(layer)) for layer in network.blocks]
        identity = torch.eye(steps, dtype=windows.dtype).expand(batch, -1, -1)
        for way in itertools.product(*per_layer):
            time = identity
            series = torch.eye(way[0].weights.shape[0], dtype=windows.dtype)
            for attention, term in zip(heads, way, strict=True):
                if term.head is not None:
                    time = attention[:, term.head] @ time
                series = series @ term.weights
            yield StarTerm(tuple(term.head for term in way), time, series)


def constant_part(network: ALoRaT) -> Tensor:
    """What the biases add to the reconstruction, (d,): the same at every step of every window.

    Attention rows sum to one, so a constant added to all steps passes through attention
    unchanged. Holds for networks without positions, activation and LayerNorm.
    """
    with torch.no_grad():
        constant = torch.zeros(network.decode.in_features, dtype=network.decode.weight.dtype)
        for layer in network.blocks:
            inner = layer.project.in_features
            value_bias = layer.query_key_value.bias[2 * inner :]
            attended = constant @ layer.value_weights().sum(0)
            attended = attended + layer.project.weight @ value_bias + layer.project.bias
            constant = constant + attended if layer.skip else attended
            if layer.expand is not None and layer.contract is not None:
                fed = layer.contract(layer.expand(constant))
                constant = constant + fed if layer.skip else fed
        decoded: Tensor = network.decode(constant)
        return decoded
