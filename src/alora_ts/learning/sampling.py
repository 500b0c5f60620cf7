"""Batches of windows, gathered when needed; the table is held once and never unrolled."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

__all__ = ["WindowSource", "shuffled_forever"]


class WindowSource:
    """Windows of a table, addressed by the row they end at.

    Parameters
    ----------
    values : ndarray of shape (N, d), float32
        The prepared rows.
    ends : ndarray of int
        Rows at which a window may end (so that it crosses no border).
    window : int
        T.
    device : torch.device, optional
        Where the windows are wanted; by default where the table is.

    Examples
    --------
    >>> source = WindowSource(np.arange(8, dtype=np.float32)[:, None], np.arange(2, 8), window=3)
    >>> source.take(np.array([0]))[0, :, 0]
    tensor([0., 1., 2.])
    """

    def __init__(
        self,
        values: NDArray[np.float32],
        ends: NDArray[np.integer],
        *,
        window: int,
        device: torch.device | None = None,
    ) -> None:
        self._values = values
        self._device = device
        self._ends = ends
        self._offsets = np.arange(1 - window, 1)

    def __len__(self) -> int:
        return len(self._ends)

    def take(self, which: NDArray[np.integer]) -> Tensor:
        """The windows with these numbers, (B, T, d)."""
        windows = torch.from_numpy(self._values[self._ends[which][:, None] + self._offsets])
        return windows.to(self._device)


def shuffled_forever(count: int, rng: np.random.Generator) -> Iterator[int]:
    """0 … count-1 in random order, then again in another; all are seen before any repeats."""
    while True:
        yield from rng.permutation(count).tolist()
