"""The gradient of a batch, by torch's autograd through the folded network.

A batch is always cut into the same parts, whatever the number of threads, and each part is
computed by one thread from beginning to end. So the cores never wait for each other inside a
product, LAPACK's batched calls use all of them, and a fit gives the same weights with one thread as
with two.

The folded weights are formed once a step. Each part finds their gradients, which are added up in
the order of the parts and then taken back through the folding to the network's own weights.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import reduce
from typing import NamedTuple, Protocol, TypeVar

import torch
from torch import Tensor

from alora_ts.fast import way
from alora_ts.fast.attention import Heads
from alora_ts.fast.fold import (
    constant_after,
    decoded_values,
    foldable,
    mixing,
    projections,
    stays_narrow,
)
from alora_ts.fast.scratch import keep_freed_memory
from alora_ts.fast.threads import side_by_side, use_threads
from alora_ts.network import ALoRaT, Encoding
from alora_ts.network.attention import ALoRaLayer

__all__ = ["Objective", "encode", "gradient"]

_PART_ROWS = 320
"""The fewest steps of all windows of a part: products of fewer rows run less well."""

_MOST_PARTS = 4
"""Long windows make enough rows for more, so that a third and a fourth core have work too."""


class Objective(Protocol):
    """What is made small; other attributes are the caller's."""

    @property
    def total(self) -> Tensor:
        """A number with a gradient."""


_Loss = TypeVar("_Loss", bound=Objective)
_Pieces = Sequence[tuple[Tensor, ...]]


class _First(NamedTuple):
    """The embedding and the first layer, whose heads mix u itself."""

    query: Tensor
    query_bias: Tensor
    basis: Tensor
    spread: Tensor
    constant: Tensor

    @classmethod
    def of(cls, network: ALoRaT) -> _First:
        layer, basis = network.blocks[0], network.embed.basis()
        mixed = mixing(layer, basis)
        query = mixed.query
        return cls(query.weight, query.bias, basis, mixed.spread, constant_after(layer))


class _Middle(NamedTuple):
    """A layer that is not folded; the softmax cancels the keys' bias."""

    query: Tensor
    query_bias: Tensor
    key: Tensor
    value: Tensor
    value_bias: Tensor
    project: Tensor
    project_bias: Tensor

    @classmethod
    def of(cls, layer: ALoRaLayer) -> _Middle:
        query, key, value = projections(layer)
        project = layer.project.weight.T, layer.project.bias
        return cls(query.weight, query.bias, key.weight, value.weight, value.bias, *project)


class _Last(NamedTuple):
    """The last layer and the decoder: its values go to the d series directly."""

    query: Tensor
    query_bias: Tensor
    key: Tensor
    value: Tensor
    decode: Tensor
    constant: Tensor

    @classmethod
    def of(cls, network: ALoRaT) -> _Last:
        layer = network.blocks[-1]
        query, key, value = projections(layer)
        decoded = decoded_values(network, value.weight).flatten(0, 1).T  # (D, H·d)
        constant = network.decode(constant_after(layer))
        return cls(query.weight, query.bias, key.weight, decoded, network.decode.weight.T, constant)


class _Plain:
    """The network as it is."""

    def __init__(self, network: ALoRaT) -> None:
        self._network = network
        self.pieces: _Pieces = [tuple(network.parameters())]
        self.leaves = self.pieces

    def encode(self, windows: Tensor, *, per_head: bool) -> Encoding:
        found: Encoding = self._network(windows, per_head=per_head)
        return found


class _Folded:
    """The network with its two ends folded.

    Attributes
    ----------
    pieces : list of tuples of tensors
        The folded weights. Each piece belongs to weights of its own, so that their gradients may
        be taken back side by side.
    leaves : list of tuples of tensors
        The same, cut off from the folding: what the gradient of a part is taken with respect to.
    """

    def __init__(self, network: ALoRaT, *, threads: int) -> None:
        self._network = network
        layer, *between, _ = network.blocks
        ends: list[Callable[[], _First | _Last]] = [
            lambda: _First.of(network),
            lambda: _Last.of(network),
        ]
        first, last = side_by_side(lambda fold: fold(), ends, threads=threads)
        middle = [_Middle.of(each) for each in between]
        self.pieces: _Pieces = [first, *middle, last]
        self._first, self._middle = _First(*_leaves(first)), [_Middle(*_leaves(m)) for m in middle]
        self._last = _Last(*_leaves(last))
        self.leaves: _Pieces = [self._first, *self._middle, self._last]
        self._heads = layer.heads
        self._scale = (layer.project.in_features // layer.heads) ** -0.5
        self._causal = network.architecture.causal

    def encode(self, windows: Tensor, *, per_head: bool) -> Encoding:
        """Reconstruct, as ``network(windows, per_head=per_head)`` does."""
        heads = Heads(self._heads, self._scale, self._causal, per_head)
        u = self._network.embed.neighbours(windows)  # (B, T, n)
        rows = u.flatten(0, 1)

        first = self._first
        query = torch.addmm(first.query_bias, rows, first.query)  # holds the scale already
        (query,) = _by_window(windows, query)
        found = [replace(heads, scale=1.0)(query, u, u)]
        z = torch.addmm(first.constant, rows, first.basis)  # (B·T, D)
        z = torch.addmm(z, found[0].mixed.flatten(0, 1), first.spread)
        for layer in self._middle:
            query = torch.addmm(layer.query_bias, z, layer.query)
            value = torch.addmm(layer.value_bias, z, layer.value)
            found.append(heads(*_by_window(windows, query, z @ layer.key, value)))
            z = torch.addmm(z, found[-1].mixed.flatten(0, 1), layer.project)
            z.add_(layer.project_bias)
        last = self._last
        query = torch.addmm(last.query_bias, z, last.query)
        decoded = torch.addmm(last.constant, z, last.decode)
        found.append(heads(*_by_window(windows, query, z @ last.key, z @ last.value, decoded)))

        matrices = tuple(each.matrices for each in found)
        means = tuple(each.mean(1) for each in matrices) if per_head else matrices
        return Encoding(found[-1].mixed, means, matrices if per_head else None)


def _leaves(piece: tuple[Tensor, ...]) -> list[Tensor]:
    return [each.detach().requires_grad_() for each in piece]


def _by_window(windows: Tensor, *rows: Tensor) -> list[Tensor]:
    """Views of (B·T, n) as (B, T, n)."""
    return [each.view(*windows.shape[:2], -1) for each in rows]


def _prepare(network: ALoRaT, *, threads: int = 1) -> _Plain | _Folded:
    """The network folded where that is possible and leaves less work, else as it is."""
    if way() == "plain" or not foldable(network) or network.architecture.layers < 2:
        return _Plain(network)
    features = network.variables * (1 if network.embed.lags_summed else network.embed.width)
    if not stays_narrow(features, network.blocks[0]):
        return _Plain(network)
    return _Folded(network, threads=threads)


@torch.no_grad()
def encode(network: ALoRaT, windows: Tensor, *, per_head: bool = False) -> Encoding:
    """Reconstruct windows (B, T, d), as ``network(windows, per_head=per_head)``, without gradient.

    Parameters
    ----------
    network : ALoRaT
        Of any kind; kinds that cannot be folded run as they are.
    windows : Tensor of shape (B, T, d)
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
    >>> network = ALoRaT(pairs, variables=4, window=6, architecture=Architecture(heads=2))
    >>> windows = torch.randn(3, 6, 4)
    >>> ours, plain = encode(network, windows), network(windows)
    >>> torch.allclose(ours.reconstruction, plain.reconstruction, atol=1e-5)
    True
    """
    return _prepare(network).encode(windows, per_head=per_head)


def gradient(
    network: ALoRaT,
    windows: Tensor,
    judge: Callable[[Encoding, Tensor], _Loss],
    *,
    per_head: bool = False,
    whole: bool = False,
) -> tuple[list[_Loss], list[float]]:
    """The gradient of a batch, left in the network in place of the one that was there.

    Parameters
    ----------
    network : ALoRaT
    windows : Tensor of shape (B, T, d)
    judge : callable
        The loss of some windows, from what the network makes of them; a mean over windows.
    per_head : bool
        Whether it needs the matrices of each head.
    whole : bool
        Whether it needs the batch in one part.

    Returns
    -------
    losses : list
        One for each part. Where one is not finite, the network is left without a gradient.
    shares : list of float
        Each part's share of the batch.
    """
    keep_freed_memory()
    network.zero_grad()
    parts = _cut(windows, whole=whole)
    shares = [(part.stop - part.start) / len(windows) for part in parts]
    threads = torch.get_num_threads()
    with use_threads(1):
        prepared = _prepare(network, threads=threads)
        weights = [each for piece in prepared.leaves for each in piece]

        def run(number: int) -> tuple[_Loss, Sequence[Tensor | None]]:
            own = windows[parts[number]]
            loss = judge(prepared.encode(own, per_head=per_head), own)
            if not torch.isfinite(loss.total):
                return loss, ()
            scaled = shares[number] * loss.total
            return loss, torch.autograd.grad(scaled, weights, allow_unused=True)

        found = side_by_side(run, range(len(parts)), threads=threads)
        losses = [loss for loss, _ in found]
        if all(torch.isfinite(loss.total) for loss in losses):
            by_weight = iter(zip(*(gradients for _, gradients in found), strict=True))
            work = [(piece, [next(by_weight) for _ in piece]) for piece in prepared.pieces]
            # The last piece has the longest way back.
            side_by_side(lambda each: _take_back(*each), work[::-1], threads=threads)
    return losses, shares


def _take_back(piece: tuple[Tensor, ...], by_part: list[tuple[Tensor | None, ...]]) -> None:
    """Give the network's weights their gradients, from those that the parts found for a piece."""
    used, sums = [], []
    for tensor, gradients in zip(piece, by_part, strict=True):
        own = [each for each in gradients if each is not None]
        if own:
            used.append(tensor)
            sums.append(own[0] if len(own) == 1 else reduce(torch.add, own))
    torch.autograd.backward(used, sums)


def _cut(windows: Tensor, *, whole: bool) -> list[slice]:
    """Which windows make a part."""
    count, steps, _ = windows.shape
    # A GPU has no use for parts.
    parts = 1 if whole or windows.is_cuda else count * steps // _PART_ROWS
    parts = max(1, min(parts, _MOST_PARTS, count))
    ends = [count * number // parts for number in range(parts + 1)]
    return [slice(*each) for each in itertools.pairwise(ends)]
