"""The two networks of NPSR: one rebuilds each point, one predicts the middle of a sequence."""

from __future__ import annotations

import math
from itertools import pairwise

import torch
from torch import Tensor, nn
from torch.nn import functional

from alora_ts.baselines.parts.performer import PerformerBlock
from alora_ts.baselines.parts.positions import Positions

__all__ = ["NpsrNetworks", "PointModel", "SequenceModel", "shrinking"]


def shrinking(start: int, end: int, stages: int = 4) -> list[int]:
    """Lengths that fall from ``start`` to ``end`` by a constant factor.

    Examples
    --------
    >>> shrinking(50, 6), shrinking(100, 20)
    ([50, 29, 17, 10, 6], [100, 67, 45, 30, 20])
    """
    return [round(start * (end / start) ** (stage / stages)) for stage in range(stages + 1)]


class _Padded(nn.Module):
    """Zeros before the variables, so that the heads share them evenly."""

    def __init__(self, variables: int, head_width: int) -> None:
        super().__init__()
        self.heads = math.ceil(variables / head_width)
        self.width = self.heads * head_width
        self.added = self.width - variables

    def pad(self, window: Tensor) -> Tensor:
        """Widen (B, N, d) to (B, N, width)."""
        return functional.pad(window, (self.added, 0))

    def unpad(self, tokens: Tensor) -> Tensor:
        """Narrow (B, N, width) to (B, N, d)."""
        return tokens[..., self.added :]


class PointModel(_Padded):
    """Rebuilds a window through a latent of a few numbers per time step.

    Parameters
    ----------
    variables : int
        d.
    window : int
        W.
    head_width, latent : int
        Features of an attention head, and of the latent.
    """

    def __init__(self, variables: int, *, window: int, head_width: int, latent: int) -> None:
        super().__init__(variables, head_width)
        width, heads = self.width, self.heads
        self.embed = nn.Linear(width, width)
        self.positions = Positions(window, width)
        self.encoder = nn.Sequential(*(PerformerBlock(width, heads=heads) for _ in range(4)))
        self.narrow = nn.Linear(width, latent)
        self.widen = nn.Linear(latent, width)
        self.decoder = nn.Sequential(*(PerformerBlock(width, heads=heads) for _ in range(4)))

    def forward(self, window: Tensor) -> Tensor:
        """Rebuild (B, W, d)."""
        tokens = self.encoder(self.positions(self.embed(self.pad(window))))
        latent = functional.gelu(self.narrow(tokens))  # (B, W, latent)
        return self.unpad(torch.tanh(self.decoder(self.widen(latent))))


class SequenceModel(_Padded):
    """Predicts the rows of a gap from the rows before and after it.

    Parameters
    ----------
    variables : int
        d.
    window : int
        W0: half of it before the gap, half after; even.
    gap : int
        How many rows are predicted.
    head_width : int
        Features of an attention head.
    """

    def __init__(self, variables: int, *, window: int, gap: int, head_width: int) -> None:
        super().__init__(variables, head_width)
        self.before = window // 2
        self.gap = gap
        self.embed = nn.Linear(self.width, self.width)
        self.positions = Positions(window, self.width)
        lengths = shrinking(window, gap)
        self.blocks = nn.ModuleList(
            PerformerBlock(self.width, heads=self.heads) for _ in lengths[1:]
        )
        self.shorten = nn.ModuleList(nn.Linear(long, short) for long, short in pairwise(lengths))

    def forward(self, window: Tensor) -> Tensor:
        """Predict the middle (B, gap, d) of (B, W0 + gap, d), which it does not see."""
        around = torch.cat([window[:, : self.before], window[:, self.before + self.gap :]], dim=1)
        tokens = self.positions(self.embed(self.pad(around)))
        for stage, (block, shorten) in enumerate(zip(self.blocks, self.shorten, strict=True), 1):
            tokens = shorten(block(tokens).transpose(1, 2)).transpose(1, 2)
            if stage < len(self.blocks):
                tokens = functional.gelu(tokens)
        return self.unpad(torch.tanh(tokens))


class NpsrNetworks(nn.Module):
    """Both networks and the largest nominality taken for normal.

    Parameters
    ----------
    variables : int
        d.
    point_window, sequence_window, gap, head_width, latent : int
        See :class:`PointModel` and :class:`SequenceModel`.

    Examples
    --------
    >>> networks = NpsrNetworks(
    ...     3, point_window=8, sequence_window=8, gap=2, head_width=5, latent=4
    ... )
    >>> networks.sequence(torch.zeros(1, 10, 3)).shape
    torch.Size([1, 2, 3])
    """

    limit: Tensor

    def __init__(
        self,
        variables: int,
        *,
        point_window: int,
        sequence_window: int,
        gap: int,
        head_width: int,
        latent: int,
    ) -> None:
        super().__init__()
        self.point = PointModel(
            variables, window=point_window, head_width=head_width, latent=latent
        )
        self.sequence = SequenceModel(
            variables, window=sequence_window, gap=gap, head_width=head_width
        )
        self.register_buffer("limit", torch.zeros((), dtype=torch.float64))
