"""The network of MEMTO: an encoder that queries a small memory of normal patterns."""

from __future__ import annotations

from dataclasses import dataclass

import torch
from torch import Tensor, nn
from torch.nn import functional

from alora_ts.baselines.parts.transformer import Encoder

__all__ = ["GatedMemory", "MemtoNetwork", "Recall"]


class GatedMemory(nn.Module):
    """A few items that follow the queries seen while training.

    Parameters
    ----------
    items : int
        How many.
    width : int
        Features of an item.
    train_gate : bool
        Let the loss reach the gate's weights. In the published code it does not, so that the gate
        stays as random as it began.
    persist : bool
        Go on from the last batch's items; otherwise each batch updates the initial ones.
    """

    initial: Tensor
    current: Tensor

    def __init__(self, items: int, width: int, *, train_gate: bool, persist: bool) -> None:
        super().__init__()
        self.train_gate = train_gate
        self.persist = persist
        self.from_item = nn.Linear(width, width)
        self.from_queries = nn.Linear(width, width)
        self.register_buffer("initial", functional.normalize(torch.rand(items, width), dim=1))
        self.register_buffer("current", self.initial.clone())

    def reset(self, items: Tensor) -> None:
        """Begin from other items, (M, width)."""
        self.initial.copy_(items)
        self.current.copy_(items)

    def update(self, queries: Tensor) -> Tensor:
        """Move the items towards the queries (n, width) that each attends to, and return them."""
        items = self.current if self.persist else self.initial
        shares = (items @ queries.T).softmax(1)  # (M, n)
        gathered = shares @ queries  # (M, width)
        gate = torch.sigmoid(self.from_item(items) + self.from_queries(gathered))
        updated = (1.0 - gate) * items + gate * gathered
        # Kept without its history: the graph would otherwise grow with every batch.
        self.current = updated.detach()
        return updated if self.train_gate else self.current

    def forward(self, queries: Tensor) -> tuple[Tensor, Tensor]:
        """Return the weights over the items (n, M) and what queries (n, width) read with them."""
        items = self.update(queries.detach()) if self.training else self.current
        weights = (queries @ items.T).softmax(1)
        return weights, weights @ items


@dataclass(frozen=True)
class Recall:
    """What one pass gives.

    Attributes
    ----------
    reconstruction : Tensor of shape (B, T, d)
    queries : Tensor of shape (B, T, width)
    weights : Tensor of shape (B, T, M)
        Over the items; rows sum to 1.
    """

    reconstruction: Tensor
    queries: Tensor
    weights: Tensor

    def entropy(self) -> Tensor:
        """Mean entropy of the weights, a scalar."""
        return -(self.weights * (self.weights + 1e-12).log()).sum(-1).mean()


class MemtoNetwork(nn.Module):
    """Encoder, memory and a decoder of one linear layer.

    Parameters
    ----------
    variables : int
        d.
    window, width, heads, layers : int
        See :class:`~alora_ts.baselines.parts.transformer.Encoder`.
    items, train_gate, persist
        See :class:`GatedMemory`.

    Examples
    --------
    >>> network = MemtoNetwork(
    ...     3, window=10, width=8, heads=2, layers=1, items=4, train_gate=False, persist=True
    ... )
    >>> network(torch.zeros(2, 10, 3)).weights.shape
    torch.Size([2, 10, 4])
    """

    def __init__(
        self,
        variables: int,
        *,
        window: int,
        width: int,
        heads: int,
        layers: int,
        items: int,
        train_gate: bool,
        persist: bool,
    ) -> None:
        super().__init__()
        self.encoder = Encoder(variables, window=window, width=width, heads=heads, layers=layers)
        self.memory = GatedMemory(items, width, train_gate=train_gate, persist=persist)
        self.decode = nn.Linear(2 * width, variables)

    def forward(self, window: Tensor) -> Recall:
        """Reconstruct (B, T, d); while training the memory learns from the batch first."""
        queries: Tensor = self.encoder(window).features  # (B, T, width)
        weights, read = self.memory(queries.flatten(0, 1))
        both = torch.cat([queries, read.view_as(queries)], dim=-1)
        return Recall(self.decode(both), queries, weights.unflatten(0, queries.shape[:2]))

    def distance(self, queries: Tensor) -> Tensor:
        """Squared distance of queries (B, T, width) to the item with the largest dot product."""
        items = self.memory.current
        nearest = items[(queries @ items.T).argmax(-1)]  # (B, T, width)
        return (queries - nearest).square().sum(-1)
