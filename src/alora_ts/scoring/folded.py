"""The forward pass with everything left out that a score does not need.

A score needs the last row of the reconstruction and the last layer's attention matrix. The result
equals :class:`~alora_ts.network.ALoRaT`'s up to rounding, for networks of the default kind (skip
connections, no feed-forward, activation, LayerNorm or positions). With u the window after the
embedding's moving average, of d columns (m·d with learned lags) where the model has D:

* layer 1 works on Z⁰ = u·W_e, so W_e is multiplied into its projections beforehand;
* the layer's output is one product, [u, S_1 u, …, S_H u] · M, and while that is narrower than D
  the next layer's projections absorb M in turn;
* of the last layer only the last row's values are needed, and they go straight to the d
  reconstructed series.
"""

from __future__ import annotations

from dataclasses import dataclass

import torch
from torch import Tensor

from alora_ts.network import ALoRaT
from alora_ts.network.attention import attend
from alora_ts.network.embedding import pad_time

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
class _Affine:
    """x ↦ x·weight + bias."""

    weight: Tensor
    bias: Tensor

    def __call__(self, x: Tensor) -> Tensor:
        return x @ self.weight + self.bias

    def after(self, first: Tensor, bias: Tensor) -> _Affine:
        """The map applied to x·first + bias, as one map."""
        return _Affine(first @ self.weight, bias @ self.weight + self.bias)


@dataclass(frozen=True)
class _Layer:
    """One layer, acting on u where Z = u·basis + constant.

    Attributes
    ----------
    heads : int
    query_key : _Affine
        From u to queries and keys.
    value : Tensor or None
        From u to the values of all heads; None where the heads mix u itself.
    output : Tensor or None
        From [u, mixed] to the next Z; None where the next layer's projections absorb it.
    """

    heads: int
    query_key: _Affine
    value: Tensor | None
    output: Tensor | None


class FoldedNetwork:
    """A network prepared for scoring.

    Parameters
    ----------
    network : ALoRaT
        Of the kind :meth:`fits` accepts. Later changes to its weights are not seen.
    """

    def __init__(self, network: ALoRaT) -> None:
        how = network.architecture
        self._causal = how.causal
        self._embed = network.embed
        self._average = how.embedding == "pairs" and how.kernel == "average"
        self._layers: list[_Layer] = []
        with torch.no_grad():
            lags = network.embed.lag_weights()
            basis = lags[0] if self._average else lags.flatten(0, 1)  # (u, D)
            width = basis.shape[1]
            constant = torch.zeros(width, dtype=basis.dtype)
            for layer in network.blocks:
                inner = layer.project.in_features
                weight, bias = layer.query_key_value.weight, layer.query_key_value.bias
                query_key = _Affine(weight[: 2 * inner].T, bias[: 2 * inner])
                query_key = query_key.after(basis, constant)
                per_head = layer.value_weights()  # (H, D, D)
                stacked = torch.cat([basis, *(basis @ each for each in per_head)])
                shift = layer.project.weight @ bias[2 * inner :] + layer.project.bias
                constant = constant + constant @ per_head.sum(0) + shift
                if layer is network.blocks[-1]:
                    self._layers.append(_Layer(layer.heads, query_key, None, None))
                    decode = network.decode.weight.T  # (D, d)
                    self._decode = _Affine(stacked @ decode, network.decode(constant))
                elif len(stacked) <= width:
                    self._layers.append(_Layer(layer.heads, query_key, None, None))
                    basis = stacked
                else:
                    value = basis @ weight[2 * inner :].T
                    output = torch.cat([basis, layer.project.weight.T])
                    self._layers.append(_Layer(layer.heads, query_key, value, output))
                    basis = torch.eye(width, dtype=basis.dtype)

    @staticmethod
    def fits(network: ALoRaT) -> bool:
        """Whether a network is of the kind that can be folded."""
        how = network.architecture
        plain = how.skip and not (how.feed_forward or how.time_norm or how.positional)
        return plain and how.activation == "none"

    @torch.no_grad()
    def __call__(self, windows: Tensor) -> LastRow:
        """Expected last rows and last attention of windows (B, T, d)."""
        u = self._neighbourhood(windows)  # (B, T, u)
        for layer in self._layers[:-1]:
            attention = self._attend(layer, u)  # (B, H, T, T)
            if layer.value is None:
                mixed = attention @ u[:, None]  # (B, H, T, u)
            else:
                value = (u @ layer.value).view(*u.shape[:2], layer.heads, -1)  # (B, T, H, D/H)
                mixed = attention @ value.transpose(1, 2)  # (B, H, T, D/H)
            u = torch.cat([u, mixed.transpose(1, 2).flatten(2)], dim=-1)
            if layer.output is not None:
                u = u @ layer.output
        attention = self._attend(self._layers[-1], u)
        mixed = attention[:, :, -1] @ u  # (B, H, u)
        last = torch.cat([u[:, -1:], mixed], dim=1).flatten(1)
        return LastRow(self._decode(last), attention.mean(1))

    def _neighbourhood(self, windows: Tensor) -> Tensor:
        """The rows that feed one embedded row: their sum, or side by side with learned lags."""
        steps = windows.shape[1]
        width = self._embed.width
        padded = pad_time(windows, width, self._embed.padding)
        lags = [padded[:, lag : lag + steps] for lag in range(width)]
        return torch.stack(lags).sum(0) if self._average else torch.cat(lags, dim=-1)

    def _attend(self, layer: _Layer, u: Tensor) -> Tensor:
        batch, steps, _ = u.shape
        query_key = layer.query_key(u).view(batch, steps, 2, layer.heads, -1)
        query, key = query_key.permute(2, 0, 3, 1, 4)
        return attend(query, key, causal=self._causal)
