"""The weights as a training step uses them: the network's narrow ends folded.

Between the d series of a window and the D embedded ones the network's first and last layer do much
of their work in D dimensions where d would do:

* layer 1 acts on u·W_e, u being the window after the moving average, so its scores are
  u A_h uᵀ with A_h = W_e W_Q W_Kᵀ W_eᵀ, and its heads mix u;
* what the last layer adds to Z is only ever decoded, so its values go to d series directly.

The folded matrices are small products beside a batch. They are formed anew in each step, once for
all parts of its batch, and torch knows the way back to the weights they are made of.

Widths are rounded up (:mod:`alora_ts.learning.widths`) with columns of zeros: series that are
always zero, and embedded series that nothing feeds and nothing reads.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import torch
from torch import Tensor
from torch.nn.functional import pad

from alora_ts.learning.widths import round_up
from alora_ts.network import ALoRaT
from alora_ts.network.attention import ALoRaLayer
from alora_ts.threads import side_by_side

__all__ = ["First", "Folds", "Last", "Middle", "fold"]


@dataclass(frozen=True)
class First:
    """The embedding and the first layer, n being the features of u.

    Attributes
    ----------
    scores : Tensor of shape (n, H·n)
        From u to u A_h of all heads.
    scores_bias : Tensor of shape (H·n,)
    basis : Tensor of shape (n, D)
        From u to its share of Z^(1).
    mixed : Tensor of shape (H·n, D)
        From [S_1 u, …, S_H u] to theirs.
    bias : Tensor of shape (D,)
    """

    scores: Tensor
    scores_bias: Tensor
    basis: Tensor
    mixed: Tensor
    bias: Tensor


@dataclass(frozen=True)
class Middle:
    """A layer that is not folded.

    Attributes
    ----------
    joint : Tensor of shape (3·inner, D)
        Queries, keys and values; a row for each, as the weights themselves lie.
    joint_bias : Tensor of shape (3·inner,)
    project : Tensor of shape (D, inner)
    project_bias : Tensor of shape (D,)
    """

    joint: Tensor
    joint_bias: Tensor
    project: Tensor
    project_bias: Tensor


@dataclass(frozen=True)
class Last:
    """The last layer and the decoder.

    Attributes
    ----------
    joint : Tensor of shape (2·inner + H·d + d, D)
        Queries, keys, each head's values as d series, and the decoded input.
    joint_bias : Tensor of shape (2·inner + H·d + d,)
        The values' bias adds to every row alike, so it is decoded with the input.
    """

    joint: Tensor
    joint_bias: Tensor


@dataclass(frozen=True)
class Folds:
    """All weights of a step; d and D are rounded up.

    Attributes
    ----------
    first : First
    middle : tuple of Middle
    last : Last
    heads, width : int
        H and the width of a head, D/H.
    causal : bool
    """

    first: First
    middle: tuple[Middle, ...]
    last: Last
    heads: int
    width: int
    causal: bool

    @property
    def embedded(self) -> int:
        """D, rounded up."""
        return len(self.first.bias)

    @property
    def decoded(self) -> int:
        """d, rounded up."""
        return (len(self.last.joint) - 2 * self.heads * self.width) // (1 + self.heads)


def fold(network: ALoRaT, *, threads: int = 1) -> Folds | None:
    """The weights of a network for a step, or None if it is of a kind that cannot be folded.

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
    >>> folds = fold(network)
    >>> folds.first.scores.shape, folds.first.mixed.shape, folds.last.joint.shape
    (torch.Size([4, 8]), torch.Size([8, 48]), torch.Size([120, 48]))
    """
    if not _foldable(network):
        return None
    layer = network.blocks[0]
    ends: tuple[Callable[[ALoRaT], First | Last], ...] = (_fold_first, _fold_last)
    first, last = side_by_side(lambda end: end(network), ends, threads=threads)
    assert isinstance(first, First)
    assert isinstance(last, Last)
    return Folds(
        first,
        tuple(_keep_middle(each) for each in network.blocks[1:-1]),
        last,
        heads=layer.heads,
        width=layer.project.in_features // layer.heads,
        causal=layer.causal,
    )


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


def _fold_first(network: ALoRaT) -> First:
    layer = network.blocks[0]
    basis = network.embed.basis()  # (n, D)
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
    mixed = projected[:, :-1].flatten(0, 1)
    output_bias = projected[:, -1].sum(0) + layer.project.bias
    return First(
        scores, scores_bias, _rounded(basis, -1), _rounded(mixed, -1), _rounded(output_bias, -1)
    )


def _keep_middle(layer: ALoRaLayer) -> Middle:
    return Middle(
        _rounded(layer.query_key_value.weight, -1),
        layer.query_key_value.bias,
        _rounded(layer.project.weight, -2),
        _rounded(layer.project.bias, -1),
    )


def _fold_last(network: ALoRaT) -> Last:
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
    return Last(_rounded(weights, -1), torch.cat([bias, none, constant]))


def _rounded(tensor: Tensor, axis: int) -> Tensor:
    """The tensor with zeros at the end of one axis, so that its width is rounded up."""
    missing = round_up(tensor.shape[axis]) - tensor.shape[axis]
    if not missing:
        return tensor
    return pad(tensor, [0, 0] * (-axis - 1) + [0, missing])
