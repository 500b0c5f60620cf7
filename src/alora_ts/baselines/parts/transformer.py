"""The embedding and encoder that Anomaly Transformer introduced and others took over."""

from __future__ import annotations

from dataclasses import dataclass

from torch import Tensor, nn

from alora_ts.baselines.parts.attention import PostNormLayer
from alora_ts.baselines.parts.positions import Positions

__all__ = ["Encoded", "Encoder", "TokenEmbedding"]


class TokenEmbedding(nn.Module):
    """A circular convolution over neighbouring tokens, plus their positions.

    Parameters
    ----------
    inputs : int
        Features of a token as given.
    width : int
        Features after the embedding.
    steps : int
        The longest sequence.
    """

    def __init__(self, inputs: int, width: int, *, steps: int) -> None:
        super().__init__()
        self.convolution = nn.Conv1d(
            inputs, width, kernel_size=3, padding=1, padding_mode="circular", bias=False
        )
        nn.init.kaiming_normal_(self.convolution.weight, mode="fan_in", nonlinearity="leaky_relu")
        self.positions = Positions(steps, width)

    def forward(self, tokens: Tensor) -> Tensor:
        """Embed (B, N, inputs) to (B, N, width)."""
        embedded: Tensor = self.convolution(tokens.transpose(1, 2)).transpose(1, 2)
        positioned: Tensor = self.positions(embedded)
        return positioned


@dataclass(frozen=True)
class Encoded:
    """What the encoder gives.

    Attributes
    ----------
    features : Tensor of shape (B, T, width)
        After the last layer and its normalisation.
    attention : tuple of L tensors of shape (B, H, T, T)
        Each layer's weights; rows sum to 1.
    inputs : tuple of L tensors of shape (B, T, width)
        What each layer received.
    """

    features: Tensor
    attention: tuple[Tensor, ...]
    inputs: tuple[Tensor, ...]


class Encoder(nn.Module):
    """Embedding, L post-norm layers over the time steps, a last normalisation.

    Parameters
    ----------
    variables : int
        d.
    window : int
        T.
    width, heads, layers : int
        Size; the feed-forward blocks are as wide as the model.
    """

    def __init__(self, variables: int, *, window: int, width: int, heads: int, layers: int) -> None:
        super().__init__()
        self.embedding = TokenEmbedding(variables, width, steps=window)
        self.layers = nn.ModuleList(
            PostNormLayer(width, inner=width, heads=heads, feed_forward=width, dropout=0.0)
            for _ in range(layers)
        )
        self.norm = nn.LayerNorm(width)

    def forward(self, window: Tensor) -> Encoded:
        """Encode (B, T, d)."""
        tokens = self.embedding(window)
        attention, inputs = [], []
        for layer in self.layers:
            inputs.append(tokens)
            tokens, weights = layer(tokens)
            attention.append(weights)
        return Encoded(self.norm(tokens), tuple(attention), tuple(inputs))
