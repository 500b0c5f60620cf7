"""SARAD's network: attention among variables, and what variables lose of it inside a window."""

from __future__ import annotations

from dataclasses import dataclass

import torch
from torch import Tensor, nn
from torch.nn import functional

from alora_ts.baselines.parts.attention import PostNormLayer
from alora_ts.errors import AloraError

__all__ = ["SaradNetwork", "SaradOutput", "association_descent"]


@dataclass(frozen=True)
class SaradOutput:
    """What the network says of a batch of windows.

    Attributes
    ----------
    reconstruction : Tensor of shape (B, T, D)
    association : Tensor of shape (B, 2, H, D, D)
        The last layer's attention among the variables, in each half of the window.
    descent, expected_descent : Tensor of shape (B, H, D)
        The attention each variable lost as a key, cut off from the encoder's gradient, and the
        autoencoder's reconstruction of it.
    """

    reconstruction: Tensor
    association: Tensor
    descent: Tensor
    expected_descent: Tensor

    def errors(self, window: Tensor) -> Tensor:
        """Mean squared errors of each variable and, last, of all: (B, 2, D + 1).

        First those of the reconstruction over the whole window, then those of the association
        descent over the heads.
        """
        series = (window - self.reconstruction).square().mean(1)  # (B, D)
        descent = (self.descent - self.expected_descent).square().mean(1)  # (B, D)
        both = torch.stack([series, descent], dim=1)
        return torch.cat([both, both.mean(-1, keepdim=True)], dim=-1)


def association_descent(association: Tensor) -> Tensor:
    """Sum over the queries what each key lost of attention from the first half to the second.

    Parameters
    ----------
    association : Tensor of shape (B, 2, H, D, D)
        Attention of both halves, rows being queries.

    Returns
    -------
    Tensor of shape (B, H, D)
        Not negative: what was gained counts as nothing lost.

    Examples
    --------
    >>> first = torch.tensor([[0.9, 0.1], [0.5, 0.5]])
    >>> second = torch.tensor([[0.6, 0.4], [0.8, 0.2]])
    >>> association_descent(torch.stack([first, second])[None, :, None])
    tensor([[[0.3000, 0.3000]]])
    """
    lost = functional.relu(association[:, 0] - association[:, 1])  # (B, H, D, D)
    return lost.sum(-2)


class SaradNetwork(nn.Module):
    """Reconstruct windows from tokens that are one variable's half-window each.

    Parameters
    ----------
    variables : int
        D.
    window : int
        T, even.
    width, layers, heads, feed_forward : int
        Sizes of the encoder.
    descent_width : int
        Hidden width of the autoencoder of the association descent.
    dropout : float

    Notes
    -----
    The buffers ``usual`` and ``spread``, (2, D + 1), hold mean and standard deviation of
    :meth:`SaradOutput.errors` on normal windows once the network is trained.
    """

    usual: Tensor
    spread: Tensor

    def __init__(
        self,
        *,
        variables: int,
        window: int,
        width: int = 512,
        layers: int = 3,
        heads: int = 8,
        feed_forward: int = 2048,
        descent_width: int = 64,
        dropout: float = 0.1,
    ) -> None:
        super().__init__()
        if window % 2:
            raise AloraError(
                f"SARAD compares the halves of a window, so window={window} must be even"
            )
        self.half_steps = window // 2
        self.heads = heads
        self.embed = nn.Linear(self.half_steps, width)
        self.codes = nn.Parameter(torch.randn(1, variables, width))
        self.dropout = nn.Dropout(dropout)
        self.layers = nn.ModuleList(
            PostNormLayer(
                width, inner=width, heads=heads, feed_forward=feed_forward, dropout=dropout
            )
            for _ in range(layers)
        )
        self.norm = nn.LayerNorm(width)
        self.decode = nn.Linear(width, self.half_steps)
        self.compress = nn.Linear(heads * variables, descent_width)
        self.expand = nn.Linear(descent_width, heads * variables)
        self.register_buffer("usual", torch.zeros(2, variables + 1))
        self.register_buffer("spread", torch.ones(2, variables + 1))

    def forward(self, window: Tensor) -> SaradOutput:
        """Reconstruct (B, T, D) and measure the association descent."""
        batch, steps, variables = window.shape
        halves = window.reshape(batch * 2, self.half_steps, variables).transpose(
            1, 2
        )  # (2B, D, T/2)
        tokens = self.dropout(self.embed(halves) + self.codes)  # (2B, D, width)
        weights = tokens
        for layer in self.layers:
            tokens, weights = layer(tokens)
        decoded = self.decode(self.norm(tokens))  # (2B, D, T/2)
        reconstruction = decoded.transpose(1, 2).reshape(batch, steps, variables)
        association = weights.view(batch, 2, self.heads, variables, variables)
        descent = association_descent(association.detach())  # (B, H, D)
        hidden = functional.relu(self.compress(descent.flatten(1)))
        expected = functional.relu(self.expand(hidden)).view_as(descent)
        return SaradOutput(reconstruction, association, descent, expected)
