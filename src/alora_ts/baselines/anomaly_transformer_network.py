"""The network of Anomaly Transformer: attention beside a Gaussian prior over distances in time."""

from __future__ import annotations

from dataclasses import dataclass

import torch
from torch import Tensor, nn

from alora_ts.baselines.parts.divergence import symmetric_kl
from alora_ts.baselines.parts.transformer import Encoder

__all__ = ["AnomalyTransformerNetwork", "Associations", "gaussian_prior"]


def gaussian_prior(raw: Tensor) -> Tensor:
    """Turn raw widths into rows of weights that fall off with the distance in time.

    Parameters
    ----------
    raw : Tensor of shape (B, H, T)
        Any numbers; σ = 3^(sigmoid(5·raw) + 1e-5) − 1 lies in (0, 2).

    Returns
    -------
    Tensor of shape (B, H, T, T)
        Row i is the normal density at the distances |i − j| with width σ_i, normalised.

    Notes
    -----
    The factor 1/(√(2π) σ) of the density cancels in the normalisation, so a softmax does both.

    Examples
    --------
    >>> gaussian_prior(torch.zeros(1, 1, 3)).sum(-1)
    tensor([[[1., 1., 1.]]])
    """
    sigma = 3.0 ** (torch.sigmoid(5.0 * raw) + 1e-5) - 1.0  # (B, H, T)
    time = torch.arange(raw.shape[-1], device=raw.device, dtype=raw.dtype)
    squares = (time[:, None] - time).square()  # (T, T)
    return (-squares / (2.0 * sigma[..., None].square())).softmax(-1)


@dataclass(frozen=True)
class Associations:
    """What one pass gives.

    Attributes
    ----------
    reconstruction : Tensor of shape (B, T, d)
    series, prior : tuple of L tensors of shape (B, H, T, T)
        Attention weights and the prior's; rows sum to 1.
    """

    reconstruction: Tensor
    series: tuple[Tensor, ...]
    prior: tuple[Tensor, ...]

    def discrepancy(self) -> Tensor:
        """Symmetric divergence of series and prior, summed over the layers, (B, T)."""
        pairs = zip(self.series, self.prior, strict=True)
        return torch.stack([symmetric_kl(series, prior) for series, prior in pairs]).sum(0)

    def losses(self) -> tuple[Tensor, Tensor]:
        """Mean divergence with the prior held fixed, and with the series held fixed.

        Equal as numbers; their gradients reach different weights.
        """
        pairs = list(zip(self.series, self.prior, strict=True))
        moving = [symmetric_kl(series, prior.detach()).mean() for series, prior in pairs]
        fixed = [symmetric_kl(prior, series.detach()).mean() for series, prior in pairs]
        return torch.stack(moving).mean(), torch.stack(fixed).mean()


class AnomalyTransformerNetwork(nn.Module):
    """Reconstructs windows and shows both associations.

    Parameters
    ----------
    variables : int
        d.
    window, width, heads, layers : int
        See :class:`~alora_ts.baselines.parts.transformer.Encoder`.

    Examples
    --------
    >>> network = AnomalyTransformerNetwork(3, window=10, width=8, heads=2, layers=2)
    >>> network(torch.zeros(4, 10, 3)).discrepancy().shape
    torch.Size([4, 10])
    """

    def __init__(self, variables: int, *, window: int, width: int, heads: int, layers: int) -> None:
        super().__init__()
        self.encoder = Encoder(variables, window=window, width=width, heads=heads, layers=layers)
        self.sigmas = nn.ModuleList(nn.Linear(width, heads) for _ in range(layers))
        self.decode = nn.Linear(width, variables)

    def forward(self, window: Tensor) -> Associations:
        """Reconstruct (B, T, d)."""
        encoded = self.encoder(window)
        prior = tuple(
            gaussian_prior(sigma(tokens).transpose(1, 2))  # (B, T, H) to (B, H, T)
            for sigma, tokens in zip(self.sigmas, encoded.inputs, strict=True)
        )
        return Associations(self.decode(encoded.features), encoded.attention, prior)
