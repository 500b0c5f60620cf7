"""The forward pass with everything left out that a score does not need.

A score needs the last row of the reconstruction and the last layer's attention matrix. The result
equals :class:`~alora_ts.network.ALoRaT`'s up to rounding, for networks of the default kind (skip
connections, no feed-forward, activation, LayerNorm or positions). Throughout, Z = f·basis +
constant, where the features f are narrower than Z's D columns as long as possible:

* at first f is the window after the embedding's moving average, d columns (m·d with learned lags);
* a layer on few features forms its scores as f A_h fᵀ, with A_h = W_Q W_Kᵀ, and only appends S_h f
  to the features (:class:`Mixing`);
* a layer on many features takes queries, keys, values and what the next layer needs of f from one
  product (:class:`Valued`); the layer before the last leaves the last one's queries and keys;
* of the last layer only the last row's values are needed, and they go straight to the d
  reconstructed series.

A bias on the keys adds the same number to a whole row of scores, so the softmax cancels it.

Windows that overlap share their rows, and with them the product that follows the first layer
(:mod:`alora_ts.fast.overlap`).
"""

from __future__ import annotations

from dataclasses import dataclass

import torch
from torch import Tensor

from alora_ts.fast.affine import Affine
from alora_ts.fast.heads import attend_heads, attend_shared, mix_heads
from alora_ts.fast.overlap import Overlap
from alora_ts.fast.scratch import Scratch
from alora_ts.network import ALoRaT
from alora_ts.network.attention import ALoRaLayer

__all__ = ["FoldedNetwork", "LastRow"]


@dataclass(frozen=True)
class LastRow:
    """What scoring needs of a batch of windows.

    Attributes
    ----------
    expected : Tensor of shape (B, d)
        The reconstruction of each window's last row.
    attention : Tensor of shape (B, T, T)
        S^(L), the mean over the heads.
    """

    expected: Tensor
    attention: Tensor


@dataclass(frozen=True)
class Mixing:
    """A layer whose heads mix the features themselves: f becomes [f, S_1 f, …, S_H f].

    Attributes
    ----------
    heads : int
    query : Affine
        From f to f A_h of all heads, (B, T, H·n).
    """

    heads: int
    query: Affine


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
        Of the kind :meth:`fits` accepts. Later changes to its weights are not seen.

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
    heads, last_inner : int
        Of the last layer: H and H·(D/H).
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
        self._query_key: Affine | None = None
        with torch.no_grad():
            self._fold(network)
            self.overlap = self._share()

    def _fold(self, network: ALoRaT) -> None:
        basis = network.embed.basis()  # (n, D)
        width = basis.shape[1]
        constant = basis.new_zeros(width)
        *before, last = network.blocks
        for layer in before:
            projection = _scaled_projection(layer).after(basis, constant)
            per_head = layer.value_weights()  # (H, D, D)
            constant = _constant_after(layer, constant)
            if len(basis) * (1 + layer.heads) <= width:
                self.narrow.append(Mixing(layer.heads, _bilinear(projection, layer.heads)))
                basis = torch.cat([basis, *(basis @ each for each in per_head)])
                continue
            project = layer.project.weight.T  # (inner, D)
            if layer is before[-1]:
                inner = last.project.in_features
                following = _scaled_projection(last)
                following = Affine(following.weight[:, : 2 * inner], following.bias[: 2 * inner])
                carry, mix = following.after(basis, constant), project @ following.weight
                basis = torch.cat([basis, project])
            else:
                carry, mix = Affine(basis, torch.zeros_like(constant)), project
                basis = torch.eye(width, dtype=basis.dtype, device=basis.device)
            inner = layer.project.in_features
            # The constant holds what the values' bias adds; here it would count twice.
            projection.bias[2 * inner :] = 0
            joint = Affine(
                torch.cat([projection.weight, carry.weight], 1),
                torch.cat([projection.bias, carry.bias]),
            )
            self.wide.append(Valued(layer.heads, inner, joint, mix))
        if not self.wide:
            inner = last.project.in_features
            projection = _scaled_projection(last).after(basis, constant)
            self._query_key = Affine(
                projection.weight[:, : 2 * inner], projection.bias[: 2 * inner]
            )
        self.heads = last.heads
        self.last_inner = last.project.in_features
        decode = network.decode.weight.T  # (D, d)
        decoded = [basis @ decode, *(basis @ (each @ decode) for each in last.value_weights())]
        self.decode = Affine(torch.cat(decoded), network.decode(_constant_after(last, constant)))

    @staticmethod
    def fits(network: ALoRaT) -> bool:
        """Whether a network is of the kind that can be folded."""
        how = network.architecture
        plain = how.skip and not (how.feed_forward or how.time_norm or how.positional)
        return plain and how.activation == "none"

    def _share(self) -> Overlap | None:
        """What overlapping windows have in common, where using it saves work."""
        if len(self.narrow) != 1 or not self._embed.lags_summed:
            return None
        first, neighbours = self.first, self.neighbours[0]
        heads = self.narrow[0].heads
        overlap = Overlap(first.weight, first.bias, neighbours=neighbours, heads=heads)
        return overlap if overlap.pays else None

    @property
    def first(self) -> Affine:
        """The first product that leaves the narrow features."""
        if self.wide:
            return self.wide[0].joint
        assert self._query_key is not None
        return self._query_key

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
        attention = self._first_attention(u)
        projected = self.overlap.project(rows, scratch)
        projected = self.overlap.combine(attention, projected, scratch)
        return self._finish(projected, _Unformed(u, attention))

    def _first_attention(self, u: Tensor) -> Tensor:
        """Attention (B, T·H, T) of the first layer, from neighbourhoods (B, T, d)."""
        return attend_shared(self.narrow[0].query(u), u, causal=self.causal)

    def _finish(self, projected: Tensor, narrow: _Formed | _Unformed) -> LastRow:
        """From the first wide product (B, T, ·) on; ``narrow`` holds the features before it."""
        features: tuple[_Formed | _Unformed, ...] = (narrow,)
        for number, layer in enumerate(self.wide):
            own, carry = projected[..., : 3 * layer.inner], projected[..., 3 * layer.inner :]
            attention = attend_heads(own, layer.heads, layer.inner, causal=self.causal)
            mixed = mix_heads(attention, own[..., 2 * layer.inner :])  # (B, T, inner)
            carry.flatten(0, 1).addmm_(mixed.flatten(0, 1), layer.mix)
            if number + 1 == len(self.wide):
                projected, features = carry, (*features, _Formed(mixed))
            else:
                projected, features = self.wide[number + 1].joint(carry), (_Formed(carry),)
        inner = projected.shape[-1] // 2
        attention = attend_heads(projected, self.heads, inner, causal=self.causal)
        # Of the last layer: the last row itself, then what each head gathers for it.
        itself = torch.zeros_like(attention[0, :, :1, :])
        itself[..., -1] = 1
        rows = torch.cat([itself, attention[:, :, -1].transpose(0, 1)], dim=1)  # (B, 1+H, T)
        seen = torch.cat([each.gathered(rows) for each in features], dim=-1)
        return LastRow(self.decode(seen.flatten(1)), attention.mean(0))


def _scaled_projection(layer: ALoRaLayer) -> Affine:
    """Queries, keys and values of a layer; the queries already hold the scores' scale."""
    inner = layer.project.in_features
    scale = layer.project.weight.new_ones(3 * inner)
    scale[:inner] = (inner // layer.heads) ** -0.5
    return Affine(layer.query_key_value.weight.T * scale, layer.query_key_value.bias * scale)


def _bilinear(projection: Affine, heads: int) -> Affine:
    """From f to the left side of f A_h fᵀ, for all heads."""
    n, inner = len(projection.weight), projection.weight.shape[1] // 3
    query = torch.cat([projection.weight[:, :inner], projection.bias[None, :inner]])
    query = query.view(n + 1, heads, -1).transpose(0, 1)  # (H, n+1, D/H)
    key = projection.weight[:, inner : 2 * inner].reshape(n, heads, -1).permute(1, 2, 0)
    product = torch.bmm(query, key).transpose(0, 1).reshape(n + 1, -1)  # (n+1, H·n)
    return Affine(product[:-1], product[-1])


def _constant_after(layer: ALoRaLayer, constant: Tensor) -> Tensor:
    """What a constant row becomes in a layer: attention rows sum to one and leave it as it is."""
    inner = layer.project.in_features
    attended = constant @ layer.value_weights().sum(0)
    value_bias = layer.query_key_value.bias[2 * inner :]
    return constant + attended + layer.project.weight @ value_bias + layer.project.bias
