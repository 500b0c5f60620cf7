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
from functools import reduce
from typing import Protocol, TypeVar

import torch
from torch import Tensor

from alora_ts.fast import way
from alora_ts.fast.attention import Heads
from alora_ts.fast.fold import (
    Affine,
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
_Pieces = list[tuple[Tensor, ...]]


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
        first, *between, _ = network.blocks
        make: list[Callable[[], tuple[Tensor, ...]]] = [
            lambda: _first_piece(network),
            lambda: _last_piece(network),
        ]
        ends = side_by_side(lambda each: each(), make, threads=threads)
        self.pieces: _Pieces = [ends[0], *(_middle_piece(layer) for layer in between), ends[1]]
        self.leaves = [tuple(each.detach().requires_grad_() for each in p) for p in self.pieces]
        self._heads = first.heads
        self._scale = (first.project.in_features // first.heads) ** -0.5
        self._causal = network.architecture.causal

    def encode(self, windows: Tensor, *, per_head: bool) -> Encoding:
        """Reconstruct, as ``network(windows, per_head=per_head)`` does."""
        first, *between, last = self.leaves
        heads = Heads(self._heads, self._scale, self._causal, per_head)
        shared = Heads(self._heads, 1.0, self._causal, per_head)
        u = self._network.embed.neighbours(windows)  # (B, T, n)

        query_weight, query_bias, basis, spread, constant = first
        found = [shared(Affine(query_weight, query_bias)(u), u, u)]
        z = torch.addmm(constant, u.flatten(0, 1), basis)  # (B·T, D)
        z = torch.addmm(z, found[0].mixed.flatten(0, 1), spread)
        for query_weight, query_bias, key, value, value_bias, project, bias in between:
            query = torch.addmm(query_bias, z, query_weight)
            values = torch.addmm(value_bias, z, value)
            found.append(heads(*_by_window(windows, query, z @ key, values)))
            z = torch.addmm(z, found[-1].mixed.flatten(0, 1), project).add_(bias)
        query_weight, query_bias, key, value, decode, constant = last
        query, decoded = torch.addmm(query_bias, z, query_weight), torch.addmm(constant, z, decode)
        found.append(heads(*_by_window(windows, query, z @ key, z @ value, decoded)))

        matrices = tuple(each.matrices for each in found)
        means = tuple(each.mean(1) for each in matrices) if per_head else matrices
        return Encoding(found[-1].mixed, means, matrices if per_head else None)


def _first_piece(network: ALoRaT) -> tuple[Tensor, ...]:
    """The embedding and the first layer: queries, and u's and the heads' share of Z^(1)."""
    layer, basis = network.blocks[0], network.embed.basis()
    mixed = mixing(layer, basis)
    return mixed.query.weight, mixed.query.bias, basis, mixed.spread, constant_after(layer)


def _middle_piece(layer: ALoRaLayer) -> tuple[Tensor, ...]:
    """A layer that is not folded."""
    query, key, value = projections(layer)
    return (
        *(query.weight, query.bias, key.weight, value.weight, value.bias),
        *(layer.project.weight.T, layer.project.bias),
    )


def _last_piece(network: ALoRaT) -> tuple[Tensor, ...]:
    """The last layer and the decoder: its values go to the d series directly."""
    query, key, value = projections(network.blocks[-1])
    decoded = decoded_values(network, value.weight).flatten(0, 1).T  # (D, H·d)
    constant = network.decode(constant_after(network.blocks[-1]))
    return query.weight, query.bias, key.weight, decoded, network.decode.weight.T, constant


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
