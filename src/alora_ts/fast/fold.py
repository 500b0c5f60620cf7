"""Products of weights that are formed before any window is seen.

Given its attention matrices a network of the default kind is linear, so neighbouring products can
be made one. Throughout, Z = f·basis + constant: the features f are narrower than Z's D columns at
both ends of the network. At its beginning f are the windows after the embedding's moving average, d
columns (m·d with learned lags), and a layer only appends what its heads mix of them; at its end
what the last layer adds to Z is only ever decoded to d series.

Two facts keep biases small. A bias on the keys adds the same number to a whole row of scores, so
the softmax cancels it. Rows of attention matrices sum to one, so a constant passes through them.

Scoring folds all of a network (:mod:`alora_ts.fast.forward`), because weights stay as they are.
Training folds its two ends (:mod:`alora_ts.fast.backward`), in every step anew, and torch
differentiates the folding.
"""

from __future__ import annotations

from dataclasses import dataclass

import torch
from torch import Tensor

from alora_ts.network import ALoRaT
from alora_ts.network.attention import ALoRaLayer

__all__ = [
    "Affine",
    "Mixing",
    "constant_after",
    "decoded_values",
    "foldable",
    "mixing",
    "projections",
    "stays_narrow",
]


@dataclass(frozen=True)
class Affine:
    """x ↦ x·weight + bias, on the last axis."""

    weight: Tensor
    bias: Tensor

    def __call__(self, x: Tensor) -> Tensor:
        """Map x of any leading shape."""
        flat = torch.addmm(self.bias, x.reshape(-1, x.shape[-1]), self.weight)
        return flat.view(*x.shape[:-1], -1)

    def after(self, basis: Tensor, constant: Tensor | None) -> Affine:
        """The map applied to x·basis + constant, as one map."""
        bias = self.bias if constant is None else constant @ self.weight + self.bias
        return Affine(basis @ self.weight, bias)


@dataclass(frozen=True)
class Mixing:
    """A layer whose heads mix the features themselves: f becomes [f, S_1 f, …, S_H f].

    Its scores are f A_h fᵀ, with A_h = basis W_Q W_Kᵀ basisᵀ / √(D/H).

    Attributes
    ----------
    heads : int
    query : Affine
        From f to f A_h of all heads, (n, H·n).
    spread : Tensor of shape (H·n, D)
        From [S_1 f, …, S_H f] to their share of Z.
    """

    heads: int
    query: Affine
    spread: Tensor


def foldable(network: ALoRaT) -> bool:
    """Whether a network is linear given its attention matrices.

    Examples
    --------
    >>> from alora_ts.network import Architecture
    >>> pairs = torch.combinations(torch.arange(4))
    >>> foldable(ALoRaT(pairs, variables=4, window=6, architecture=Architecture()))
    True
    >>> foldable(ALoRaT(pairs, variables=4, window=6, architecture=Architecture(activation="relu")))
    False
    """
    how = network.architecture
    linear = how.skip and not (how.feed_forward or how.time_norm or how.positional)
    return linear and how.activation == "none"


def stays_narrow(features: int, layer: ALoRaLayer) -> bool:
    """Whether features are narrower than Z also with what the layer's heads mix of them."""
    return (1 + layer.heads) * features <= layer.project.out_features


def projections(layer: ALoRaLayer) -> tuple[Affine, Affine, Affine]:
    """The queries, keys and values of a layer, from Z to H·(D/H) columns each."""
    weights, biases = layer.query_key_value.weight.chunk(3), layer.query_key_value.bias.chunk(3)
    query, key, value = (Affine(each.T, bias) for each, bias in zip(weights, biases, strict=True))
    return query, key, value


def mixing(layer: ALoRaLayer, basis: Tensor, constant: Tensor | None = None) -> Mixing:
    """Fold a layer on features f, where Z = f·basis + constant."""
    joint = Affine(layer.query_key_value.weight.T, layer.query_key_value.bias)
    joint = joint.after(basis, constant)
    n, heads = len(basis), layer.heads
    query, key, value = joint.weight.view(n, 3, heads, -1).permute(1, 2, 0, 3)  # (H, n, D/H) each
    bias = joint.bias.view(3, heads, 1, -1)[0]
    left = torch.cat([query, bias], dim=1) * query.shape[-1] ** -0.5  # (H, n+1, D/H)
    scores = torch.bmm(left, key.transpose(1, 2)).transpose(0, 1).reshape(n + 1, -1)  # (n+1, H·n)
    project = layer.project.weight.T.reshape(heads, -1, basis.shape[1])  # (H, D/H, D)
    spread = torch.bmm(value, project).flatten(0, 1)
    return Mixing(heads, Affine(scores[:-1], scores[-1]), spread)


def constant_after(layer: ALoRaLayer, constant: Tensor | None = None) -> Tensor:
    """What a constant row (D,), zero if None, becomes in a layer."""
    _, _, value = projections(layer)
    mixed = value.bias if constant is None else constant @ value.weight + value.bias
    added = layer.project.weight @ mixed + layer.project.bias
    return added if constant is None else constant + added


def decoded_values(network: ALoRaT, value: Tensor) -> Tensor:
    """What each head of the last layer adds to the series for each row of Z, (H, d, D).

    ``value`` are the weights (D, H·(D/H)) of that layer's values.
    """
    project = network.decode.weight @ network.blocks[-1].project.weight  # (d, H·D/H)
    heads, embedded = network.blocks[-1].heads, len(value)
    project = project.view(len(project), heads, -1).transpose(0, 1)  # (H, d, D/H)
    return torch.bmm(project, value.T.view(heads, -1, embedded))
