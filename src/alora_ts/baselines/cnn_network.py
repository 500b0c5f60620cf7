"""A small convolutional network that predicts the next row."""

from __future__ import annotations

from collections.abc import Sequence

import torch
from torch import Tensor, nn

__all__ = ["Forecaster"]

_KERNEL = 3
_POOL = 2


class Forecaster(nn.Module):
    """Convolutions over time, pooled over what is left of the window, then two dense layers.

    Parameters
    ----------
    variables : int
        d.
    channels : sequence of int
        Of each convolution; every one is followed by ReLU and a halving of the time axis.
    width : int
        Of the hidden dense layer.
    dropout : float
        Before the last layer.

    Examples
    --------
    >>> Forecaster(3, channels=(4, 6), width=6, dropout=0.0)(torch.zeros(5, 12, 3)).shape
    torch.Size([5, 3])
    """

    def __init__(
        self, variables: int, *, channels: Sequence[int], width: int, dropout: float
    ) -> None:
        super().__init__()
        layers: list[nn.Module] = []
        for before, after in zip([variables, *channels], channels, strict=False):
            layers += [nn.Conv1d(before, after, _KERNEL), nn.ReLU(), nn.MaxPool1d(_POOL)]
        self.convolutions = nn.Sequential(*layers)
        self.head = nn.Sequential(
            nn.Linear(2 * channels[-1], width),
            nn.ReLU(),
            nn.Dropout(dropout),
            nn.Linear(width, variables),
        )

    def forward(self, x: Tensor) -> Tensor:
        """Predict the row after each window, from (B, T, d) to (B, d)."""
        seen = self.convolutions(x.transpose(1, 2))  # (B, C, T')
        pooled = torch.cat([seen.mean(-1), seen.amax(-1)], dim=1)  # (B, 2C)
        predicted: Tensor = self.head(pooled)
        return predicted

    @staticmethod
    def least_window(layers: int) -> int:
        """How many rows a window needs so that one is left after so many convolutions.

        Examples
        --------
        >>> Forecaster.least_window(2)
        10
        """
        rows = 1
        for _ in range(layers):
            rows = rows * _POOL + _KERNEL - 1
        return rows
