"""Fixed sinusoidal positions added to tokens."""

from __future__ import annotations

from torch import Tensor, nn

from alora_ts.network.alora_t import sinusoids

__all__ = ["Positions"]


class Positions(nn.Module):
    """Adds sines and cosines of the position to each token.

    Parameters
    ----------
    steps : int
        The longest sequence.
    width : int
        Features of a token; may be odd.

    Examples
    --------
    >>> import torch
    >>> Positions(4, 3)(torch.zeros(1, 2, 3))[0, 0]
    tensor([0., 1., 0.])
    """

    table: Tensor

    def __init__(self, steps: int, width: int) -> None:
        super().__init__()
        self.register_buffer("table", sinusoids(steps, width), persistent=False)

    def forward(self, tokens: Tensor) -> Tensor:
        """Add positions to (B, N, width)."""
        return tokens + self.table[: tokens.shape[1]]
