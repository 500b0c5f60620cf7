"""AERCA's networks: coefficients that depend on the past, and the exogenous input they leave."""

from __future__ import annotations

from dataclasses import dataclass

import torch
from torch import Tensor, nn

__all__ = ["AercaNetwork", "AercaOutput", "LagCoefficients", "lagged"]


def lagged(series: Tensor, order: int) -> Tensor:
    """View the ``order`` rows before each row t ≥ order: (N, p) to (N − order, order, p).

    Examples
    --------
    >>> lagged(torch.arange(4.0)[:, None], 2)[:, :, 0]
    tensor([[0., 1.],
            [1., 2.]])
    """
    return series[:-1].unfold(0, order, 1).transpose(1, 2)


class LagCoefficients(nn.Module):
    """One-step prediction Σ_k Θ_k(x_{t−k}) x_{t−k} with a net of its own for each lag.

    Parameters
    ----------
    variables : int
        p.
    order : int
        K, the number of lags.
    width, hidden : int
        Width and number of the hidden layers; the last layer gives the p² coefficients through
        tanh, so that each lies between −1 and 1.
    """

    def __init__(self, *, variables: int, order: int, width: int, hidden: int) -> None:
        super().__init__()
        self.variables = variables
        self.nets = nn.ModuleList(_coefficient_net(variables, width, hidden) for _ in range(order))

    def forward(self, past: Tensor) -> tuple[Tensor, Tensor]:
        """Predict (B, p) from (B, K, p), oldest row first; also return Θ, (B, K, p, p)."""
        theta = torch.stack(
            [
                net(past[:, lag]).view(-1, self.variables, self.variables)
                for lag, net in enumerate(self.nets)
            ],
            dim=1,
        )  # (B, K, p, p)
        return torch.einsum("bkij,bkj->bi", theta, past), theta


def _coefficient_net(variables: int, width: int, hidden: int) -> nn.Sequential:
    layers: list[nn.Module] = [nn.Linear(variables, width), nn.ReLU()]
    for _ in range(hidden - 1):
        layers += [nn.Linear(width, width), nn.ReLU()]
    return nn.Sequential(*layers, nn.Linear(width, variables**2), nn.Tanh())


@dataclass(frozen=True)
class AercaOutput:
    """What the networks say of one stretch of N consecutive rows.

    Attributes
    ----------
    exogenous : Tensor of shape (N − K, p)
        u_t = predicted minus actual, for t ≥ K.
    reconstruction : Tensor of shape (N − 2K, p)
        x̂_t for t ≥ 2K.
    encoder, decoder, decoder_past : Tensor of shape (·, K, p, p)
        The coefficients of the three networks.
    """

    exogenous: Tensor
    reconstruction: Tensor
    encoder: Tensor
    decoder: Tensor
    decoder_past: Tensor


class AercaNetwork(nn.Module):
    """Encoder (x to u) and the two decoders (past u and still older x to x).

    Parameters
    ----------
    variables, order, width, hidden : int
        As in :class:`LagCoefficients`.

    Notes
    -----
    The buffers ``median`` and ``spread``, (p,), hold median and standard deviation of u on normal
    rows once the network is trained.
    """

    median: Tensor
    spread: Tensor

    def __init__(self, *, variables: int, order: int, width: int, hidden: int) -> None:
        super().__init__()
        self.order = order
        self.register_buffer("median", torch.zeros(variables))
        self.register_buffer("spread", torch.ones(variables))
        sizes = {"variables": variables, "order": order, "width": width, "hidden": hidden}
        self.encoder = LagCoefficients(**sizes)
        self.decoder = LagCoefficients(**sizes)
        self.decoder_past = LagCoefficients(**sizes)

    def exogenous(self, rows: Tensor) -> Tensor:
        """Return u of consecutive rows: (N, p) to (N − K, p)."""
        predicted, _ = self.encoder(lagged(rows, self.order))
        difference: Tensor = predicted - rows[self.order :]
        return difference

    def forward(self, rows: Tensor) -> AercaOutput:
        """Encode and rebuild consecutive rows, (N, p) with N > 2K."""
        order = self.order
        windows = lagged(rows, order)  # (N − K, K, p); item i precedes row i + K
        predicted, encoder = self.encoder(windows)
        exogenous = predicted - rows[order:]
        moved, decoder = self.decoder(lagged(exogenous, order))  # targets t ≥ 2K
        # The rows that u_{t−K} was computed from: x_{t−2K} … x_{t−K−1}.
        older, decoder_past = self.decoder_past(windows[: len(rows) - 2 * order])
        reconstruction = moved + exogenous[order:] + older
        return AercaOutput(exogenous, reconstruction, encoder, decoder, decoder_past)
