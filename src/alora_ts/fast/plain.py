"""The reference: the network itself over every window, and nothing more.

All other ways are checked against this one. It also runs networks that cannot be folded.
"""

from __future__ import annotations

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from alora_ts.fast.worker import LastRow
from alora_ts.network import ALoRaT

__all__ = ["PlainWorker", "count_rank_plainly"]

_ROWS_TOGETHER = 2520


class PlainWorker:
    """Runs the network as it is, as a :class:`~alora_ts.fast.worker.Worker`."""

    def __init__(self, network: ALoRaT, device: torch.device) -> None:
        self._network = network
        self._device = device

    @property
    def at_once(self) -> int:
        """How many windows are best run together: large products, few enough for the cache."""
        return max(1, _ROWS_TOGETHER // self._network.window)

    @torch.no_grad()
    def windows(self, windows: Tensor) -> LastRow:
        """Of windows (B, T, d)."""
        encoding = self._network(windows.to(self._device))
        return LastRow(encoding.reconstruction[:, -1].cpu(), encoding.attention[-1].cpu())

    def in_a_row(self, rows: Tensor) -> LastRow:
        """Of all windows in rows (B + T − 1, d), each one step after the other."""
        window = self._network.window
        return self.windows(rows.unfold(0, window, 1).transpose(1, 2).contiguous())


def count_rank_plainly(attention: Tensor, level: float) -> NDArray[np.int16]:
    """How many singular values of each matrix (B, T, T) exceed a level, by a full SVD."""
    above = torch.linalg.svdvals(attention.double()) > level
    rank: NDArray[np.int16] = above.sum(-1).to(torch.int16).numpy()
    return rank
