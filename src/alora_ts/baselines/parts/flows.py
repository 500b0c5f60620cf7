"""Normalising flows: maps with a known change of volume that make a Gaussian more than one."""

from __future__ import annotations

from collections.abc import Iterator

import torch
from torch import Tensor, nn
from torch.nn import functional

__all__ = ["AffineCoupling", "InvertibleLinear", "PlanarFlow", "RealNVP", "chain"]


def chain(flows: nn.ModuleList, x: Tensor) -> tuple[Tensor, Tensor]:
    """Apply flows in turn and add up their log-determinants.

    A flow maps (…, n) to (…, n) and gives log|det| of its Jacobian, (…).

    Examples
    --------
    >>> y, log_det = chain(nn.ModuleList([PlanarFlow(2), PlanarFlow(2)]), torch.zeros(5, 2))
    >>> y.shape, log_det.shape
    (torch.Size([5, 2]), torch.Size([5]))
    """
    total = x.new_zeros(x.shape[:-1])
    for flow in flows:
        x, log_det = flow(x)
        total = total + log_det
    return x, total


class PlanarFlow(nn.Module):
    """y = x + û tanh(w·x + b), with û chosen so that w·û > −1 and the map stays invertible.

    Parameters
    ----------
    size : int
        n, the length of the vectors.
    """

    def __init__(self, size: int) -> None:
        super().__init__()
        self.w = nn.Parameter(0.01 * torch.randn(size))
        self.u = nn.Parameter(0.01 * torch.randn(size))
        self.b = nn.Parameter(torch.zeros(()))

    def direction(self) -> Tensor:
        """Return û = u + (softplus(w·u) − 1 − w·u) w / ‖w‖²."""
        along = self.w @ self.u
        return self.u + (functional.softplus(along) - 1 - along) * self.w / self.w.square().sum()

    def forward(self, x: Tensor) -> tuple[Tensor, Tensor]:
        """Map (…, n) to (…, n); also return log|det|, (…)."""
        direction = self.direction()
        bent = torch.tanh(x @ self.w + self.b)  # (…)
        log_det = torch.log1p((1 - bent.square()) * (direction @ self.w))
        return x + direction * bent[..., None], log_det


class InvertibleLinear(nn.Module):
    """y = W x with W a rotation at first.

    Parameters
    ----------
    size : int
        n, the length of the vectors.
    """

    def __init__(self, size: int) -> None:
        super().__init__()
        self.weight = nn.Parameter(torch.empty(size, size))
        nn.init.orthogonal_(self.weight)

    def forward(self, x: Tensor) -> tuple[Tensor, Tensor]:
        """Map (…, n) to (…, n); also return log|det|, (…)."""
        log_det: Tensor = torch.linalg.slogdet(self.weight).logabsdet
        return x @ self.weight.T, log_det.expand(x.shape[:-1])

    def inverse(self, y: Tensor) -> Tensor:
        """Undo :meth:`forward`."""
        solved: Tensor = torch.linalg.solve(self.weight, y[..., None])
        return solved[..., 0]


class AffineCoupling(nn.Module):
    """The first half of a vector shifts and scales the second: y₂ = (x₂ + shift) · sigmoid(r + 2).

    Parameters
    ----------
    size : int
        n ≥ 2; the first half has ⌊n/2⌋ entries.
    width : int
        Hidden width of the net that gives shift and r; its last layer begins at zero.
    """

    def __init__(self, size: int, *, width: int) -> None:
        super().__init__()
        self.first = size // 2
        self.hidden = nn.Linear(self.first, width)
        self.out = nn.Linear(width, 2 * (size - self.first))
        nn.init.zeros_(self.out.weight)
        nn.init.zeros_(self.out.bias)

    def forward(self, x: Tensor) -> tuple[Tensor, Tensor]:
        """Map (…, n) to (…, n); also return log|det|, (…)."""
        x1, x2 = x[..., : self.first], x[..., self.first :]
        shift, raw = self._shift_and_raw(x1)
        return (
            torch.cat([x1, (x2 + shift) * torch.sigmoid(raw + 2)], dim=-1),
            functional.logsigmoid(raw + 2).sum(-1),
        )

    def inverse(self, y: Tensor) -> Tensor:
        """Undo :meth:`forward`."""
        y1, y2 = y[..., : self.first], y[..., self.first :]
        shift, raw = self._shift_and_raw(y1)
        return torch.cat([y1, y2 / torch.sigmoid(raw + 2) - shift], dim=-1)

    def _shift_and_raw(self, given: Tensor) -> tuple[Tensor, Tensor]:
        shift, raw = self.out(functional.relu(self.hidden(given))).chunk(2, dim=-1)
        return shift, raw


class RealNVP(nn.Module):
    """A number of invertible linear maps, each followed by an affine coupling.

    Parameters
    ----------
    size, width : int
        As in :class:`AffineCoupling`.
    layers : int
        How many pairs.
    """

    def __init__(self, size: int, *, layers: int, width: int) -> None:
        super().__init__()
        self.linear = nn.ModuleList(InvertibleLinear(size) for _ in range(layers))
        self.coupling = nn.ModuleList(AffineCoupling(size, width=width) for _ in range(layers))

    def forward(self, x: Tensor) -> tuple[Tensor, Tensor]:
        """Map (…, n) to (…, n); also return log|det|, (…)."""
        pairs = zip(self.linear, self.coupling, strict=True)
        return chain(nn.ModuleList(flow for pair in pairs for flow in pair), x)

    def hidden_weights(self) -> Iterator[Tensor]:
        """Return the weights of the couplings' hidden layers."""
        for coupling in self.coupling:
            assert isinstance(coupling, AffineCoupling)
            yield coupling.hidden.weight
