"""The weights as a training step uses them: the network's narrow ends folded.

Between the d series of a window and the D embedded ones the network's first and last layer do much
of their work in D dimensions where d would do (:mod:`alora_ts.fast.first_fold`,
:mod:`alora_ts.fast.last_fold`). The folded matrices are small products beside a batch. They are
formed anew in each step, once for all parts of its batch. Their gradients are taken back to the
weights they are made of by hand, because torch would put those together in new memory, which comes
from the system page by page.

Widths are rounded up (:mod:`alora_ts.fast.widths`) with columns of zeros: series that are
always zero, and embedded series that nothing feeds and nothing reads.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import partial

import torch
from torch import Tensor, nn

from alora_ts.fast.first_fold import FirstFold
from alora_ts.fast.last_fold import LastFold
from alora_ts.fast.scratch import Scratch
from alora_ts.fast.threads import side_by_side
from alora_ts.fast.widths import cut, fill_up
from alora_ts.network import ALoRaT
from alora_ts.network.attention import ALoRaLayer

__all__ = ["Folds", "MiddleLayer", "fold"]


class MiddleLayer:
    """A layer that is not folded.

    Parameters
    ----------
    layer : ALoRaLayer
    scratch : Scratch
        Where rounded weights go.

    Attributes
    ----------
    joint : Tensor of shape (3·inner, D)
        Queries, keys and values; a row for each, as the weights themselves lie.
    joint_bias : Tensor of shape (3·inner,)
    project : Tensor of shape (D, inner)
    project_bias : Tensor of shape (D,)
    """

    @torch.no_grad()
    def __init__(self, layer: ALoRaLayer, scratch: Scratch) -> None:
        self._layer, self._scratch = layer, scratch
        self.joint = fill_up(layer.query_key_value.weight.detach(), -1, scratch, "joint")
        self.joint_bias = layer.query_key_value.bias.detach()
        self.project = fill_up(layer.project.weight.detach(), -2, scratch, "project")
        self.project_bias = fill_up(layer.project.bias.detach(), -1, scratch, "project bias")

    def take_back_joint(self, of_joint: Tensor, of_bias: Tensor) -> None:
        """Give the network's queries, keys and values their gradients."""
        self._take_back("joint", self._layer.query_key_value, of_joint, of_bias)

    def take_back_project(self, of_project: Tensor, of_bias: Tensor) -> None:
        """Give the layer's last product its gradients."""
        self._take_back("project", self._layer.project, of_project, of_bias)

    def _take_back(self, name: str, own: nn.Linear, of_weight: Tensor, of_bias: Tensor) -> None:
        own.weight.grad = cut(of_weight, own.weight, self._scratch, f"of {name}")
        own.bias.grad = cut(of_bias, own.bias, self._scratch, f"of {name} bias")


@dataclass(frozen=True)
class Folds:
    """All weights of a step; d and D are rounded up.

    Attributes
    ----------
    first : FirstFold
    middle : tuple of MiddleLayer
    last : LastFold
    heads, width : int
        H and the width of a head, D/H.
    causal : bool
    """

    first: FirstFold
    middle: tuple[MiddleLayer, ...]
    last: LastFold
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
        return len(self.last.decoded) // (1 + self.heads)


def fold(
    network: ALoRaT, scratch: Mapping[str, Scratch] | None = None, *, threads: int = 1
) -> Folds | None:
    """The weights of a network for a step, or None if it is of a kind that cannot be folded.

    Parameters
    ----------
    network : ALoRaT
    scratch : mapping of str to Scratch, optional
        Memory for each layer, by the layer's name, where results and gradients go.
    threads : int
        With two, both ends of the network are folded at once.

    Examples
    --------
    >>> from alora_ts.network import Architecture
    >>> pairs = torch.combinations(torch.arange(4)).repeat(8, 1)
    >>> network = ALoRaT(pairs, variables=4, window=6, architecture=Architecture(heads=2))
    >>> folds = fold(network)
    >>> folds.first.scores.shape, folds.first.mixed.shape, folds.last.decoded.shape
    (torch.Size([4, 8]), torch.Size([8, 48]), torch.Size([24, 48]))
    """
    if not _foldable(network):
        return None
    scratch = defaultdict(Scratch) if scratch is None else scratch
    layer, *between, _ = network.blocks
    ends: tuple[Callable[[], FirstFold | LastFold], ...] = (
        partial(FirstFold, network, scratch["first"]),
        partial(LastFold, network, scratch["last"]),
    )
    first, last = side_by_side(lambda end: end(), ends, threads=threads)
    assert isinstance(first, FirstFold)
    assert isinstance(last, LastFold)
    return Folds(
        first,
        tuple(
            MiddleLayer(each, scratch[f"middle {number}"]) for number, each in enumerate(between)
        ),
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
