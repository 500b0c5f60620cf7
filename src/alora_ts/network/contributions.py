"""How much each input series contributes to each latent and reconstructed series (Eqs. 11, 12).

Given its attention matrices the network is linear in the window, and attention rows sum to one.
So a deviation of series i that fills the window changes the reconstruction of series j by exactly
C_ij times the deviation, whatever the attention is. :func:`window_contributions` says the same
for each moment of the window, W_t[q, i, j], with the attention of that window; summed over q it
is C_ij again.

Exact without activation and without LayerNorm. With an activation the matrices describe the
network with the activation left out (Proposition 1, statement 3); with the LayerNorm over time
the level of a series is removed inside the layer and the weights only rank the relations.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import torch
from torch import Tensor

from alora_ts.network.alora_t import ALoRaT
from alora_ts.network.attention import ALoRaLayer
from alora_ts.network.embedding import pad_time

__all__ = [
    "Contributions",
    "Term",
    "contribution_weights",
    "layer_terms",
    "relative_contributions",
    "window_contributions",
]


@dataclass(frozen=True)
class Contributions:
    """The contribution weights of a network.

    Attributes
    ----------
    latent : Tensor of shape (d, D)
        E (Eq. 11): from input series to latent series.
    reconstruction : Tensor of shape (d, d)
        C (Eq. 12): from input series i (row) to reconstructed series j (column).
    exact : bool
        Whether the network is linear given its attention (no activation, no LayerNorm).
    """

    latent: Tensor
    reconstruction: Tensor
    exact: bool


@dataclass(frozen=True)
class Term:
    """One summand of a layer: Z ↦ S_h Z · weights, or Z ↦ Z · weights for the skip connection.

    Attributes
    ----------
    head : int or None
        h, or None for the skip connection.
    weights : Tensor of shape (D, D)
        What multiplies from the right.
    """

    head: int | None
    weights: Tensor


def layer_terms(layer: ALoRaLayer) -> Iterator[Term]:
    """Split one layer into its summands: the skip connection, then one per head.

    A feed-forward block multiplies every summand from the right (Proposition 1, statement 3).
    """
    after = layer.feed_forward_weights()
    if after is not None and layer.skip:
        after = after + torch.eye(len(after), dtype=after.dtype, device=after.device)
    values = layer.value_weights()
    if layer.skip:
        identity = torch.eye(values.shape[-1], dtype=values.dtype, device=values.device)
        yield Term(None, identity if after is None else after)
    for head, weights in enumerate(values):
        yield Term(head, weights if after is None else weights @ after)


def contribution_weights(network: ALoRaT) -> Contributions:
    """E and C of a network (Eqs. 11, 12).

    Parameters
    ----------
    network : ALoRaT

    Returns
    -------
    Contributions

    Examples
    --------
    >>> from alora_ts.network import Architecture
    >>> _ = torch.manual_seed(0)
    >>> pairs = torch.combinations(torch.arange(4))
    >>> network = ALoRaT(pairs, variables=4, window=6, architecture=Architecture(heads=2))
    >>> contribution_weights(network).reconstruction.shape
    torch.Size([4, 4])
    """
    how = network.architecture
    with torch.no_grad():
        latent = network.embed.summed_weights()  # (d, D)
        for layer in network.blocks:
            latent = latent @ torch.stack([term.weights for term in layer_terms(layer)]).sum(0)
        reconstruction = latent @ network.decode.weight.T  # (d, d)
    exact = how.activation == "none" and not how.time_norm
    return Contributions(latent, reconstruction, exact)


def relative_contributions(reconstruction: Tensor) -> Tensor:
    """C_ij / Σ_k C_ik: how the influence of series i is shared among the reconstructions.

    0 throughout where the influences of a series sum to 0, as those of one without a pair do.

    Examples
    --------
    >>> relative_contributions(torch.tensor([[3.0, 1.0], [0.0, 0.0]]))
    tensor([[0.7500, 0.2500],
            [0.0000, 0.0000]])
    """
    total = reconstruction.sum(1, keepdim=True)
    return torch.where(total == 0, 0.0, reconstruction / total)


def window_contributions(
    network: ALoRaT,
    windows: Tensor,
    *,
    inputs: Sequence[int] | None = None,
    outputs: Sequence[int] | None = None,
) -> Tensor:
    """W_t[q, i, j]: what input i at step q of the window adds to reconstruction j at its end.

    Parameters
    ----------
    network : ALoRaT
    windows : Tensor of shape (B, T, d)
    inputs, outputs : sequences of int, optional
        The series wanted; by default all. Nothing is computed for the others.

    Returns
    -------
    Tensor of shape (B, T, inputs, outputs)

    Notes
    -----
    The reconstruction at the last row is a sum over all ways through the layers, (H + 1)^L of
    them: at each layer one head or the skip connection. Each way has a row of weights over time,
    the product of its attention matrices, and a matrix over series, the product of its value
    weights. The ways are walked depth first, so only one is held at a time.
    """
    chosen_inputs = list(range(network.variables)) if inputs is None else list(inputs)
    chosen_outputs = list(range(network.variables)) if outputs is None else list(outputs)
    with torch.no_grad():
        heads = network(windows, per_head=True).heads
        assert heads is not None
        batch, steps, _ = windows.shape
        lags = network.embed.lag_weights()[:, chosen_inputs]  # (m, i, D)
        rows = torch.arange(steps).expand(1, -1)[..., None].to(windows.dtype)
        sources = pad_time(rows, network.embed.width, network.embed.padding).long().flatten()
        shape = (batch, steps, len(chosen_inputs), len(chosen_outputs))
        by_lag = windows.new_zeros(len(lags), *shape)  # before the embedding spreads over time
        terms = [list(layer_terms(layer)) for layer in network.blocks]

        def descend(level: int, time: Tensor, series: Tensor) -> None:
            """Follow all ways from layer ``level`` down to the embedding."""
            rows = [
                time if term.head is None else _earlier(time, heads[level][:, term.head])
                for term in terms[level]
            ]
            if level > 0:
                for row, term in zip(rows, terms[level], strict=True):
                    descend(level - 1, row, term.weights @ series)
                return
            # All ways through the first layer at once: one matrix product per lag.
            stacked = torch.stack(rows, dim=-1)  # (B, T, ways)
            weights = torch.stack([term.weights @ series for term in terms[level]])
            for lag, spread in enumerate((lags[:, None] @ weights).flatten(2)):  # (ways, i·j)
                by_lag[lag] += (stacked @ spread).view(shape)

        last = windows.new_zeros(batch, steps)
        last[:, -1] = 1.0
        descend(len(terms) - 1, last, network.decode.weight.T[:, chosen_outputs])
        total = windows.new_zeros(shape)
        for lag, part in enumerate(by_lag):
            total.index_add_(1, sources[lag : lag + steps], part)
    return total


def _earlier(time: Tensor, attention: Tensor) -> Tensor:
    """Weights over the steps one layer further down: (B, T) times (B, T, T)."""
    return torch.einsum("bp,bpq->bq", time, attention)
