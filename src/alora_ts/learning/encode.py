"""The forward pass of training, its narrow ends folded; gradients flow through as always.

Equals :class:`~alora_ts.network.ALoRaT`'s own pass up to rounding. Between the d series of a
window and the D embedded ones the network's first and last layer do much of their work in D
dimensions where d would do:

* layer 1 acts on u·W_e, u being the window after the moving average, so its scores are
  u A_h uᵀ with A_h = W_e W_Q W_Kᵀ W_eᵀ, and its heads mix u;
* what the last layer adds to Z is only ever decoded, so its values go to d series directly.

The folded matrices (:class:`Folds`) are small products beside a batch. They are formed anew in each
step, once for all parts of its batch.

Widths are rounded up to multiples of eight with columns of zeros: series that are always zero, and
embedded series that nothing feeds and nothing reads. The processor multiplies rows of such widths
faster, because none begins in the middle of what it loads at once.
"""

from __future__ import annotations

from dataclasses import dataclass

import torch
from torch import Tensor
from torch.nn.functional import linear, pad

from alora_ts.learning.attention import attend_and_mix, attend_and_mix_shared
from alora_ts.network import ALoRaT, Encoding
from alora_ts.network.attention import ALoRaLayer
from alora_ts.threads import side_by_side

__all__ = ["Folds", "encode", "fold"]


@dataclass(frozen=True)
class Folds:
    """The products of weights alone, n being the features of u; d, n and D are rounded up.

    Attributes
    ----------
    scores : Tensor of shape (n, H·n)
        Layer 1: from u to u A_h of all heads.
    scores_bias : Tensor of shape (H·n,)
    output : Tensor of shape ((1+H)·n, D)
        Layer 1: from [u, S_1 u, …, S_H u] to Z^(1).
    output_bias : Tensor of shape (D,)
    last : Tensor of shape (2·inner + H·d + d, D)
        Last layer: queries, keys, each head's values as d series, and the decoded input; a row for
        each, as the weights themselves lie.
    last_bias : Tensor of shape (2·inner + H·d + d,)
        The values' bias adds to every row alike, so it is decoded with the input.
    """

    scores: Tensor
    scores_bias: Tensor
    output: Tensor
    output_bias: Tensor
    last: Tensor
    last_bias: Tensor

    def tensors(self) -> tuple[Tensor, ...]:
        """All of them, in order."""
        return tuple(each for end in self.ends() for each in end)

    def ends(self) -> tuple[tuple[Tensor, ...], ...]:
        """Those of the first layer and those of the last; they come from different weights."""
        first = (self.scores, self.scores_bias, self.output, self.output_bias)
        return first, (self.last, self.last_bias)


def fold(network: ALoRaT, *, threads: int = 1) -> Folds | None:
    """The folded matrices of a network, with their gradients' way back; None if it has none.

    Parameters
    ----------
    network : ALoRaT
    threads : int
        With two, both ends of the network are folded at once.

    Examples
    --------
    >>> from alora_ts.network import Architecture
    >>> pairs = torch.combinations(torch.arange(4)).repeat(8, 1)
    >>> network = ALoRaT(pairs, variables=4, architecture=Architecture(window=6, heads=2))
    >>> [tuple(each.shape) for each in fold(network).tensors()]
    [(8, 16), (16,), (24, 48), (48,), (120, 48), (120,)]
    """
    if not _foldable(network):
        return None
    ends = side_by_side(lambda end: end(network), (_fold_first, _fold_last), threads=threads)
    return Folds(*(each for end in ends for each in end))


def encode(
    network: ALoRaT, windows: Tensor, *, folds: Folds | None = None, per_head: bool = False
) -> Encoding:
    """Reconstruct windows of shape (B, T, d), as ``network(windows, per_head=per_head)`` does.

    Parameters
    ----------
    network : ALoRaT
        Of any kind; kinds that cannot be folded run as they are.
    windows : Tensor of shape (B, T, d)
    folds : Folds, optional
        What :func:`fold` gives, when it is there already.
    per_head : bool
        Also give each head's matrices.

    Returns
    -------
    Encoding

    Examples
    --------
    >>> from alora_ts.network import Architecture
    >>> _ = torch.manual_seed(0)
    >>> pairs = torch.combinations(torch.arange(4)).repeat(8, 1)
    >>> network = ALoRaT(pairs, variables=4, architecture=Architecture(window=6, heads=2))
    >>> windows = torch.randn(3, 6, 4)
    >>> folded, plain = encode(network, windows), network(windows)
    >>> torch.allclose(folded.reconstruction, plain.reconstruction, atol=1e-5)
    True
    """
    folds = fold(network) if folds is None else folds
    if folds is None:
        plain: Encoding = network(windows, per_head=per_head)
        return plain
    middle = network.blocks[1:-1]
    z, attention = _first_layer(network, folds, windows, per_head=per_head)
    found = [attention]
    for layer in middle:
        z, attention = _middle_layer(layer, z, per_head=per_head)
        found.append(attention)
    reconstruction, attention = _last_layer(network, folds, z, per_head=per_head)
    found.append(attention)
    if not per_head:
        return Encoding(reconstruction, tuple(found), None)
    means = tuple(each.mean(0) for each in found)
    return Encoding(reconstruction, means, tuple(each.transpose(0, 1) for each in found))


def _foldable(network: ALoRaT) -> bool:
    """Whether the network is linear given its attention, deep enough, and narrow at its ends."""
    how = network.architecture
    if not how.skip or how.feed_forward or how.time_norm or how.positional:
        return False
    if how.activation != "none" or how.layers < 2:
        return False
    first = network.blocks[0]
    features = network.variables * (1 if network.embed.lags_summed else network.embed.width)
    return (1 + first.heads) * features <= network.decode.in_features


def _fold_first(network: ALoRaT) -> tuple[Tensor, ...]:
    """Scores and output of the embedding and the first layer, each with its bias."""
    layer = network.blocks[0]
    basis = _rounded(network.embed.basis(), -2)  # (n, D)
    n = len(basis)
    joint, bias = layer.query_key_value.weight, layer.query_key_value.bias
    per_head = (basis @ joint.T).view(n, 3, layer.heads, -1).permute(1, 2, 0, 3)  # (3, H, n, D/H)
    query, key, value = per_head
    key = key.transpose(1, 2) * query.shape[-1] ** -0.5
    scores = (query @ key).transpose(0, 1).reshape(n, -1)
    # A bias on the keys adds one number to a whole row of scores: the softmax cancels it.
    query_bias, _, value_bias = bias.view(3, layer.heads, 1, -1)
    scores_bias = (query_bias @ key).flatten()
    project = layer.project.weight.T.view(layer.heads, -1, layer.project.out_features)
    # The bias goes with the values: by itself it would give a gradient as large as the weights.
    projected = torch.cat([value, value_bias], dim=1) @ project  # (H, n + 1, D)
    output = torch.cat([basis, projected[:, :-1].flatten(0, 1)])
    output_bias = projected[:, -1].sum(0) + layer.project.bias
    return scores, scores_bias, _rounded(output, -1), _rounded(output_bias, -1)


def _fold_last(network: ALoRaT) -> tuple[Tensor, ...]:
    """Weights of the last layer and their bias."""
    layer = network.blocks[-1]
    inner, heads = layer.project.in_features, layer.heads
    decode = _rounded(network.decode.weight, -2)  # (d, D)
    # One split has one gradient; a slice for each part would fill a whole tensor with zeros.
    query_key, value = torch.split(layer.query_key_value.weight, [2 * inner, inner])
    bias, value_bias = torch.split(layer.query_key_value.bias, [2 * inner, inner])
    project = decode @ layer.project.weight  # (d, inner)
    by_head = project.view(len(decode), heads, -1).transpose(0, 1)
    decoded = by_head @ value.view(heads, -1, decode.shape[1])  # (H, d, D)
    weights = torch.cat([query_key, decoded.flatten(0, 1), decode])
    constant = project @ value_bias + decode @ layer.project.bias
    constant = constant + _rounded(network.decode.bias, -1)
    none = constant.new_zeros(heads * len(decode))
    return _rounded(weights, -1), torch.cat([bias, none, constant])


def _first_layer(
    network: ALoRaT, folds: Folds, windows: Tensor, *, per_head: bool
) -> tuple[Tensor, Tensor]:
    """Z^(1) (B, T, D) and the attention of the embedding and the first layer."""
    batch, steps, _ = windows.shape
    u = _rounded(network.embed.neighbours(windows), -1)  # (B, T, n)
    left = torch.addmm(folds.scores_bias, u.flatten(0, 1), folds.scores)
    mixed, attention = attend_and_mix_shared(
        left.view(batch, -1, u.shape[-1]), u, causal=network.blocks[0].causal, per_head=per_head
    )
    features = torch.cat([u, mixed.view(batch, steps, -1)], dim=-1)
    z = torch.addmm(folds.output_bias, features.flatten(0, 1), folds.output)
    return z.view(batch, steps, -1), attention


def _middle_layer(layer: ALoRaLayer, z: Tensor, *, per_head: bool) -> tuple[Tensor, Tensor]:
    """The next Z (B, T, D) and the attention of a layer that is not folded."""
    joint = linear(z, _rounded(layer.query_key_value.weight, -1), layer.query_key_value.bias)
    width = layer.project.in_features // layer.heads
    mixed, attention = attend_and_mix(
        joint, layer.heads, width, summed=False, causal=layer.causal, per_head=per_head
    )
    project = _rounded(layer.project.weight, -2), _rounded(layer.project.bias, -1)
    return z + linear(mixed, *project), attention


def _last_layer(
    network: ALoRaT, folds: Folds, z: Tensor, *, per_head: bool
) -> tuple[Tensor, Tensor]:
    """The reconstruction (B, T, d) and the attention of the last layer."""
    layer = network.blocks[-1]
    joint = linear(z, folds.last, folds.last_bias)
    width = layer.project.in_features // layer.heads
    mixed, attention = attend_and_mix(
        joint, layer.heads, width, summed=True, causal=layer.causal, per_head=per_head
    )
    return mixed[..., : network.variables], attention


def _rounded(tensor: Tensor, axis: int) -> Tensor:
    """The tensor with zeros at the end of one axis, up to a multiple of eight."""
    missing = -tensor.shape[axis] % 8
    if not missing:
        return tensor
    return pad(tensor, [0, 0] * (-axis - 1) + [0, missing])
