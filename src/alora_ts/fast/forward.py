"""The forward pass with everything left out that a score does not need.

A score needs the last row of the reconstruction and the last layer's attention matrix. The result
equals :class:`~alora_ts.network.ALoRaT`'s up to rounding, for networks of the default kind (skip
connections, no feed-forward, activation, LayerNorm or positions). Throughout, Z = f·basis +
constant, where the features f are narrower than Z's D columns as long as possible:

* at first f is the window after the embedding's moving average, d columns (m·d with learned lags);
* a layer on few features only appends S_h f to them (:class:`~alora_ts.fast.fold.Mixing`);
* a layer on many features takes queries, keys, values and what the next layer needs of f from one
  product (:class:`Valued`); the layer before the last leaves the last one's queries and keys;
* of the last layer only the last row's values are needed, and they go straight to the d
  reconstructed series.

Windows that overlap share their rows, and with them the product that follows the first layer
(:mod:`alora_ts.fast.overlap`).
"""

from __future__ import annotations

from dataclasses import dataclass

import torch
from torch import Tensor

from alora_ts.fast.attention import attend_shared
from alora_ts.fast.fold import (
    Affine,
    Mixing,
    constant_after,
    decoded_values,
    mixing,
    projections,
    stays_narrow,
)
from alora_ts.fast.overlap import Overlap
from alora_ts.fast.scratch import Scratch
from alora_ts.fast.worker import LastRow
from alora_ts.network import ALoRaT
from alora_ts.network.attention import attend, by_head

__all__ = ["FoldedNetwork", "TorchWorker", "Valued"]

_ROWS_TOGETHER = 2520


@dataclass(frozen=True)
class Valued:
    """A layer with values of its own.

    Attributes
    ----------
    heads, inner : int
        H and H·(D/H).
    joint : Affine
        From f to [queries, keys, values, carry].
    mix : Tensor of shape (inner, carry)
        Adds what the heads mixed to the carry: the next layer's input, or the last layer's
        queries and keys.
    """

    heads: int
    inner: int
    joint: Affine
    mix: Tensor


@dataclass(frozen=True)
class _Formed:
    """Features that lie in memory, (B, T, n)."""

    f: Tensor

    def gathered(self, rows: Tensor) -> Tensor:
        """Weighted sums over the steps: rows (B, R, T) times f."""
        return torch.bmm(rows, self.f)


@dataclass(frozen=True)
class _Unformed:
    """The features [u, S_1 u, …, S_H u] of the first layer, known by u and the S_h only."""

    u: Tensor
    attention: Tensor

    def gathered(self, rows: Tensor) -> Tensor:
        """Weighted sums over the steps: rows (B, R, T) times the features."""
        batch, steps, _ = self.u.shape
        by_head = torch.bmm(rows, self.attention.view(batch, steps, -1))  # (B, R, H·T)
        weights = torch.cat([rows, by_head], dim=-1).view(batch, -1, steps)
        return torch.bmm(weights, self.u).view(batch, rows.shape[1], -1)


class FoldedNetwork:
    """A network prepared for scoring.

    Parameters
    ----------
    network : ALoRaT
        Of the kind :func:`~alora_ts.fast.fold.foldable` accepts. Later changes to its weights are
        not seen.

    Attributes
    ----------
    window : int
        T.
    causal : bool
        Whether later steps are masked.
    neighbours : list of tensors of shape (T, T)
        What makes the first features of a window: their sum over the neighbouring rows, or with
        learned lags one matrix a lag.
    narrow, wide : list
        The layers before the last, first those on few features.
    first : Affine
        The first product that leaves the narrow features.
    heads : int
        H of the last layer.
    scale : float
        What the scores of wide layers and of the last are multiplied by.
    decode : Affine
        From what the last row sees, (1+H) times all features, to the d series.
    overlap : Overlap or None
        What windows in a row have in common, where it pays to use it.
    """

    def __init__(self, network: ALoRaT) -> None:
        self._embed = network.embed
        self.window = network.window
        self.causal = network.architecture.causal
        steps = torch.eye(self.window, device=network.decode.weight.device)
        lags = network.embed.neighbours(steps[None])[0]  # (T, T), or (T, m·T) side by side
        self.neighbours = list(torch.split(lags, self.window, dim=1))
        self.narrow: list[Mixing] = []
        self.wide: list[Valued] = []
        with torch.no_grad():
            self._fold(network)
            self.overlap = self._share()

    def _fold(self, network: ALoRaT) -> None:
        basis = network.embed.basis()  # (n, D)
        constant = basis.new_zeros(basis.shape[1])
        *before, last = network.blocks
        query, key, last_value = projections(last)
        query_key = _side_by_side(query, key)
        for layer in before:
            project = layer.project.weight.T  # (inner, D)
            if stays_narrow(len(basis), layer):
                self.narrow.append(mixing(layer, basis, constant))
                constant = constant_after(layer, constant)
                basis = torch.cat([basis, self.narrow[-1].spread])
                continue
            query, key, value = (each.after(basis, constant) for each in projections(layer))
            # The constant holds what the values' bias adds; here it would count twice.
            value = Affine(value.weight, torch.zeros_like(value.bias))
            constant = constant_after(layer, constant)
            if layer is before[-1]:
                carry, mix = query_key.after(basis, constant), project @ query_key.weight
                basis = torch.cat([basis, project])
            else:
                carry, mix = Affine(basis, torch.zeros_like(constant)), project
                basis = torch.eye(len(constant), dtype=basis.dtype, device=basis.device)
            joint = _side_by_side(query, key, value, carry)
            self.wide.append(Valued(layer.heads, len(project), joint, mix))
        self.first = self.wide[0].joint if self.wide else query_key.after(basis, constant)
        self.heads = last.heads
        self.scale = (last.project.in_features // last.heads) ** -0.5
        by_head = [network.decode.weight, *decoded_values(network, last_value.weight)]
        self.decode = Affine(
            torch.cat([basis @ each.T for each in by_head]),
            network.decode(constant_after(last, constant)),
        )

    def _share(self) -> Overlap | None:
        """What overlapping windows have in common, where using it saves work."""
        if len(self.narrow) != 1 or not self._embed.lags_summed:
            return None
        first, neighbours = self.first, self.neighbours[0]
        heads = self.narrow[0].heads
        overlap = Overlap(first.weight, first.bias, neighbours=neighbours, heads=heads)
        return overlap if overlap.pays else None

    @torch.no_grad()
    def __call__(self, windows: Tensor) -> LastRow:
        """Expected last rows and last attention of windows (B, T, d)."""
        f = self._embed.neighbours(windows)
        for layer in self.narrow:
            attention = attend_shared(layer.query(f), f, causal=self.causal)  # (B, T·H, T)
            mixed = torch.bmm(attention, f).view(*f.shape[:2], -1)  # (B, T, H·n)
            f = torch.cat([f, mixed], dim=-1)
        return self._finish(self.first(f), _Formed(f))

    @torch.no_grad()
    def consecutive(self, rows: Tensor, scratch: Scratch) -> LastRow:
        """Of all windows in rows (B + T − 1, d), each one step after the other."""
        assert self.overlap is not None
        windows = rows.unfold(0, self.overlap.window, 1).transpose(1, 2)  # (B, T, d)
        u = self._embed.neighbours(windows)
        attention = attend_shared(self.narrow[0].query(u), u, causal=self.causal)
        projected = self.overlap.project(rows, scratch)
        projected = self.overlap.combine(attention, projected, scratch)
        return self._finish(projected, _Unformed(u, attention))

    def _finish(self, projected: Tensor, narrow: _Formed | _Unformed) -> LastRow:
        """From the first wide product (B, T, ·) on; ``narrow`` holds the features before it."""
        features: tuple[_Formed | _Unformed, ...] = (narrow,)
        for number, layer in enumerate(self.wide):
            parts = [layer.inner] * 3 + [layer.mix.shape[1]]
            query, key, value, carry = torch.split(projected, parts, dim=-1)
            attention = self._attend(query, key, layer.heads)
            mixed = (attention @ by_head(value, layer.heads)).transpose(1, 2).flatten(2)
            carry.flatten(0, 1).addmm_(mixed.flatten(0, 1), layer.mix)
            if number + 1 == len(self.wide):
                projected, features = carry, (*features, _Formed(mixed))
            else:
                projected, features = self.wide[number + 1].joint(carry), (_Formed(carry),)
        query, key = projected.chunk(2, dim=-1)
        attention = self._attend(query, key, self.heads)
        # Of the last layer: the last row itself, then what each head gathers for it.
        itself = torch.zeros_like(attention[:, :1, 0])
        itself[..., -1] = 1
        rows = torch.cat([itself, attention[:, :, -1]], dim=1)  # (B, 1+H, T)
        seen = torch.cat([each.gathered(rows) for each in features], dim=-1)
        return LastRow(self.decode(seen.flatten(1)), attention.mean(1))

    def _attend(self, query: Tensor, key: Tensor, heads: int) -> Tensor:
        """Attention matrices (B, H, T, T)."""
        return attend(by_head(query, heads), by_head(key, heads), causal=self.causal)


class TorchWorker:
    """Runs a folded network in torch, as a :class:`~alora_ts.fast.worker.Worker`.

    Parameters
    ----------
    folded : FoldedNetwork
    device : torch.device
        Where it is. Results are on the CPU.
    """

    def __init__(self, folded: FoldedNetwork, device: torch.device) -> None:
        self._folded = folded
        self._device = device
        self._scratch = Scratch()

    @property
    def at_once(self) -> int:
        """How many windows are best run together: large products, few enough for the cache."""
        return max(1, _ROWS_TOGETHER // self._folded.window)

    def windows(self, windows: Tensor) -> LastRow:
        """Of windows (B, T, d)."""
        return _on_cpu(self._folded(windows.to(self._device)))

    def in_a_row(self, rows: Tensor) -> LastRow:
        """Of all windows in rows (B + T − 1, d), each one step after the other."""
        if self._folded.overlap is None:
            window = self._folded.window
            return self.windows(rows.unfold(0, window, 1).transpose(1, 2).contiguous())
        return _on_cpu(self._folded.consecutive(rows.to(self._device), self._scratch))


def _on_cpu(last: LastRow) -> LastRow:
    return LastRow(last.expected.cpu(), last.attention.cpu())


def _side_by_side(*maps: Affine) -> Affine:
    """One map that gives what several give, one after the other."""
    return Affine(
        torch.cat([each.weight for each in maps], 1), torch.cat([each.bias for each in maps])
    )
