"""A batch on its way through the folded network, and its gradient on the way back.

Equals the pass of :class:`~alora_ts.network.ALoRaT` itself and torch's gradients up to rounding.
Both ways are written out, because then

* all results have their place in memory, the same in every step;
* a batch can be computed in parts, each by a thread of its own, while the gradients of the weights
  are products over the rows of all parts: nothing has to be added up afterwards.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import torch
from torch import Tensor
from torch.nn.functional import pad

from alora_ts.fast import native
from alora_ts.fast.attention import Attended, Heads, SharedHeads
from alora_ts.fast.compiled_heads import CompiledHeads, CompiledSharedHeads
from alora_ts.fast.folds import Folds, fold
from alora_ts.fast.scratch import Scratch
from alora_ts.network import ALoRaT, Encoding

__all__ = ["BatchRows", "FoldedPart", "encode"]


@dataclass(frozen=True)
class BatchRows:
    """What the gradients of the weights are made of, a row for each step of each window.

    Attributes
    ----------
    u : Tensor of shape (R, n)
        The windows after the moving average.
    left : Tensor of shape (R, H·n)
        Layer 1's scaled queries; after the way back, their gradient.
    mixed : tuple of tensors of shape (R, H·n) for layer 1, (R, inner) for those in the middle
        What the heads give, side by side.
    z, of_z : tuple of tensors of shape (R, D)
        The input of each layer but the first, and its gradient.
    joint : tuple of tensors
        What each of those layers takes from it: queries, keys, values and so on; after the way
        back, their gradient.
    """

    u: Tensor
    left: Tensor
    mixed: tuple[Tensor, ...]
    z: tuple[Tensor, ...]
    of_z: tuple[Tensor, ...]
    joint: tuple[Tensor, ...]

    @classmethod
    def room(cls, folds: Folds, rows: int, scratch: Scratch) -> BatchRows:
        """Room for so many rows, not filled yet."""

        def empty(name: str, widths: Sequence[int]) -> tuple[Tensor, ...]:
            return tuple(
                scratch.empty(f"{name} {number}", rows, width, like=folds.first.basis)
                for number, width in enumerate(widths)
            )

        features, queries = folds.first.scores.shape
        joints = [*(len(layer.joint) for layer in folds.middle), len(folds.last.joint_bias)]
        u, left = empty("first", [features, queries])
        return cls(
            u,
            left,
            mixed=empty("mixed", [queries, *(layer.project.shape[1] for layer in folds.middle)]),
            z=empty("z", [folds.embedded] * len(joints)),
            of_z=empty("of z", [folds.embedded] * len(joints)),
            joint=empty("joint", joints),
        )

    def part(self, rows: slice) -> BatchRows:
        """Some of the rows, in the same place."""

        def cut(tensors: tuple[Tensor, ...]) -> tuple[Tensor, ...]:
            return tuple(each[rows] for each in tensors)

        u, left = cut((self.u, self.left))
        return BatchRows(u, left, cut(self.mixed), cut(self.z), cut(self.of_z), cut(self.joint))


class FoldedPart:
    """Some windows of a batch.

    Parameters
    ----------
    network : ALoRaT
    folds : Folds
        What :func:`~alora_ts.fast.folds.fold` makes of its weights.
    windows : Tensor of shape (B, T, d)
    rows : BatchRows
        The windows' own rows.
    scratch : sequence of L Scratch
        One for each layer, used by nobody else until the way back is done.

    Examples
    --------
    >>> from alora_ts.fast.folds import fold
    >>> from alora_ts.network import Architecture
    >>> _ = torch.manual_seed(0)
    >>> pairs = torch.combinations(torch.arange(4)).repeat(8, 1)
    >>> network = ALoRaT(pairs, variables=4, window=6, architecture=Architecture(heads=2))
    >>> windows, folds = torch.randn(3, 6, 4), fold(network)
    >>> rows = BatchRows.room(folds, 3 * 6, Scratch())
    >>> part = FoldedPart(network, folds, windows, rows, [Scratch() for _ in range(3)])
    >>> folded, plain = part.forward(per_head=False), network(windows)
    >>> torch.allclose(folded.reconstruction, plain.reconstruction, atol=1e-5)
    True
    """

    def __init__(
        self,
        network: ALoRaT,
        folds: Folds,
        windows: Tensor,
        rows: BatchRows,
        scratch: Sequence[Scratch],
    ) -> None:
        self._embed = network.embed
        self._folds = folds
        self._windows = windows
        self._rows = rows
        first, *middle, last = scratch
        self._scratch = first
        self._kernels = native.kernels_for(folds.first.basis)
        self._first = self._shared_heads(first)
        self._later = [
            *(self._heads(each, summed=False) for each in middle),
            self._heads(last, summed=True),
        ]

    @torch.no_grad()
    def forward(self, *, per_head: bool) -> Encoding:
        """Reconstruct, as ``network(windows, per_head=per_head)`` does."""
        rows, last = self._rows, len(self._folds.middle)
        found = [self._first_layer()]
        for number, layer in enumerate(self._folds.middle):
            mixed, following = rows.mixed[number + 1], rows.z[number + 1]
            found.append(self._attend(number, [layer.joint], layer.joint_bias, mixed))
            torch.addmm(rows.z[number], mixed, layer.project.T, out=following)
            following += layer.project_bias
        end = self._folds.last
        decoded = self._scratch.empty("decoded", len(rows.u), self._folds.decoded, like=rows.u)
        found.append(self._attend(last, [end.query_key, end.decoded], end.joint_bias, decoded))
        return Encoding(
            self._by_window(decoded)[..., : self._windows.shape[-1]],
            tuple(each.mean for each in found),
            tuple(each.heads for each in found) if per_head else None,
        )

    @torch.no_grad()
    def backward(self, of_reconstruction: Tensor, of_attention: Sequence[Tensor]) -> None:
        """Take gradients back; what those of the weights are made of is then in the rows.

        Parameters
        ----------
        of_reconstruction : Tensor of shape (B, T, d)
        of_attention : sequence of L tensors of shape (B, T, T), or (B, H, T, T) per head
        """
        rows, first, last = self._rows, self._folds.first, self._folds.last
        of_first, *of_later = of_attention
        missing = self._folds.decoded - of_reconstruction.shape[-1]
        of_decoded = pad(of_reconstruction, [0, missing])
        self._later[-1].backward(of_decoded, of_later[-1], self._by_window(rows.joint[-1]))
        of_query_key, of_rest = self._columns(rows.joint[-1], [last.query_key, last.decoded])
        torch.mm(of_query_key, last.query_key, out=rows.of_z[-1])
        rows.of_z[-1].addmm_(of_rest, last.decoded)
        for number, layer in reversed(list(enumerate(self._folds.middle))):
            of_mixed = self._scratch.empty_like("of mixed", rows.mixed[number + 1])
            torch.mm(rows.of_z[number + 1], layer.project, out=of_mixed)
            self._later[number].backward(
                self._by_window(of_mixed), of_later[number], self._by_window(rows.joint[number])
            )
            torch.addmm(
                rows.of_z[number + 1], rows.joint[number], layer.joint, out=rows.of_z[number]
            )
        of_mixed = self._scratch.empty_like("of mixed", rows.mixed[0])
        torch.mm(rows.of_z[0], first.mixed.T, out=of_mixed)
        self._first.backward(self._by_head(of_mixed), of_first, self._by_head(rows.left))

    def _shared_heads(self, scratch: Scratch) -> SharedHeads | CompiledSharedHeads:
        causal = self._folds.causal
        if self._kernels is None:
            return SharedHeads(causal=causal, scratch=scratch)
        return CompiledSharedHeads(self._kernels, causal=causal, scratch=scratch)

    def _heads(self, scratch: Scratch, *, summed: bool) -> Heads | CompiledHeads:
        folds = self._folds
        if self._kernels is None:
            return Heads(
                folds.heads, folds.width, summed=summed, causal=folds.causal, scratch=scratch
            )
        return CompiledHeads(
            self._kernels,
            folds.heads,
            folds.width,
            summed=summed,
            causal=folds.causal,
            scratch=scratch,
        )

    def _first_layer(self) -> Attended:
        """Z^(1) into its rows; the matrices of the first layer."""
        rows, first = self._rows, self._folds.first
        u = self._by_window(rows.u)
        u.copy_(self._embed.neighbours(self._windows))
        torch.addmm(first.scores_bias, rows.u, first.scores, out=rows.left)
        mixed = rows.mixed[0]
        found = self._first.forward(self._by_head(rows.left), u, self._by_head(mixed))
        torch.addmm(first.bias, rows.u, first.basis, out=rows.z[0])
        rows.z[0].addmm_(mixed, first.mixed)
        return found

    def _attend(
        self, number: int, joint: Sequence[Tensor], bias: Tensor, mixed: Tensor
    ) -> Attended:
        """The matrices of a later layer; what its heads give goes into ``mixed``."""
        rows = self._rows
        into = self._columns(rows.joint[number], joint)
        for weight, own, columns in zip(joint, self._columns(bias, joint), into, strict=True):
            torch.addmm(own, rows.z[number], weight.T, out=columns)
        return self._later[number].forward(
            self._by_window(rows.joint[number]), self._by_window(mixed)
        )

    @staticmethod
    def _columns(rows: Tensor, joint: Sequence[Tensor]) -> tuple[Tensor, ...]:
        """What each of several weights gives, side by side in the last axis."""
        return torch.split(rows, [len(weight) for weight in joint], dim=-1)

    def _by_window(self, rows: Tensor) -> Tensor:
        return rows.view(*self._windows.shape[:2], -1)

    def _by_head(self, rows: Tensor) -> Tensor:
        """Rows of (R, H·n) as (B, T·H, n)."""
        return rows.view(len(self._windows), -1, self._rows.u.shape[-1])


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
    """
    folds = fold(network)
    if folds is None:
        plain: Encoding = network(windows, per_head=per_head)
        return plain
    rows = BatchRows.room(folds, windows.shape[0] * windows.shape[1], Scratch())
    scratch = [Scratch() for _ in network.blocks]
    return FoldedPart(network, folds, windows, rows, scratch).forward(per_head=per_head)
