"""DCdetector's network: attention among patches and inside them, compared and never decoded."""

from __future__ import annotations

from dataclasses import dataclass

import torch
from torch import Tensor, nn

from alora_ts.baselines.parts.divergence import symmetric_kl
from alora_ts.baselines.parts.transformer import TokenEmbedding
from alora_ts.errors import AloraError

__all__ = ["AssociationPair", "DCdetectorNetwork", "discrepancy"]

_VARIANCE_FLOOR = 1e-5


@dataclass(frozen=True)
class AssociationPair:
    """Two views of who attends to whom in a window of T steps, averaged over the variables.

    Attributes
    ----------
    series : Tensor of shape (B, 1, T, T)
        From attention among patches of length p; a row sums to p.
    prior : Tensor of shape (B, 1, T, T)
        From attention inside patches; a row sums to the number of patches.
    """

    series: Tensor
    prior: Tensor

    def normalised_prior(self) -> Tensor:
        """Return the prior with rows that sum to 1. The series is used as it is."""
        return self.prior / self.prior.sum(-1, keepdim=True)


def discrepancy(pairs: tuple[AssociationPair, ...]) -> Tensor:
    """Sum over the pairs how far series and prior are apart at each step, (B, T).

    Examples
    --------
    >>> even = torch.full((1, 1, 2, 2), 0.5)
    >>> discrepancy((AssociationPair(even, even),))
    tensor([[0., 0.]])
    """
    parts = [symmetric_kl(pair.series, pair.normalised_prior()) for pair in pairs]
    return torch.stack(parts).sum(0)


class _Scores(nn.Module):
    """The query and key projections of one layer; nothing else of attention is used."""

    def __init__(self, width: int) -> None:
        super().__init__()
        self.query = nn.Linear(width, width)
        self.key = nn.Linear(width, width)

    def forward(self, tokens: Tensor) -> Tensor:
        """Weights among tokens: (B, N, width) to (B, N, N)."""
        scores = self.query(tokens) @ self.key(tokens).transpose(1, 2)
        weights: Tensor = (scores * tokens.shape[-1] ** -0.5).softmax(-1)
        return weights


class DCdetectorNetwork(nn.Module):
    """One pair of associations per patch size and layer, every variable a sequence of its own.

    Parameters
    ----------
    window : int
        T, a multiple of every patch size.
    patch_sizes : tuple of int
    width, layers : int
        Features of a token and the number of parallel layers, which all see the same embedding
        and whose projections serve both branches and every patch size.
    """

    def __init__(
        self, *, window: int, patch_sizes: tuple[int, ...], width: int, layers: int
    ) -> None:
        super().__init__()
        for patch in patch_sizes:
            if patch < 1 or window % patch:
                raise AloraError(
                    f"DCdetector: window={window} cannot be cut into patches of {patch}; choose "
                    "patch_sizes that divide the window"
                )
        self.patch_sizes = patch_sizes
        counts = [window // patch for patch in patch_sizes]
        sizes = list(zip(patch_sizes, counts, strict=True))
        self.among = nn.ModuleList(TokenEmbedding(p, width, steps=n) for p, n in sizes)
        self.inside = nn.ModuleList(TokenEmbedding(n, width, steps=p) for p, n in sizes)
        self.layers = nn.ModuleList(_Scores(width) for _ in range(layers))

    def forward(self, window: Tensor) -> tuple[AssociationPair, ...]:
        """Associate the steps of windows (B, T, D)."""
        batch, steps, variables = window.shape
        centred = window - window.mean(1, keepdim=True)
        variance = centred.square().mean(1, keepdim=True)
        normal = centred / (variance + _VARIANCE_FLOOR).sqrt()
        sequences = normal.transpose(1, 2).reshape(batch * variables, steps)
        pairs = []
        for patch, among, inside in zip(self.patch_sizes, self.among, self.inside, strict=True):
            count = steps // patch
            patches = among(sequences.view(-1, count, patch))  # (B·D, N, width)
            # p consecutive stretches of length N, not the j-th step of each patch.
            stretches = inside(sequences.view(-1, patch, count))  # (B·D, p, width)
            for layer in self.layers:
                series = layer(patches).view(batch, variables, count, count).mean(1)
                prior = layer(stretches).view(batch, variables, patch, patch).mean(1)
                series = series.repeat_interleave(patch, 1).repeat_interleave(patch, 2)
                prior = prior.repeat(1, count, count)
                pairs.append(AssociationPair(series[:, None], prior[:, None]))
        return tuple(pairs)
