"""What one thread needs to run a network over windows."""

from __future__ import annotations

from typing import Protocol

import torch
from torch import Tensor

from alora_ts.fast.forward import FoldedNetwork, LastRow
from alora_ts.fast.scratch import Scratch
from alora_ts.network import ALoRaT

__all__ = ["TorchWorker", "Worker"]

_ROWS_TOGETHER = 2520


class Worker(Protocol):
    """Runs a network over windows, in memory that is used again: one thread at a time."""

    @property
    def at_once(self) -> int:
        """How many windows are best run together."""

    def windows(self, windows: Tensor) -> LastRow:
        """Of windows (B, T, d)."""

    def in_a_row(self, rows: Tensor) -> LastRow:
        """Of all windows in rows (B + T − 1, d), each one step after the other."""


class TorchWorker:
    """The network in torch: folded where it can be, else as it is.

    Parameters
    ----------
    network : ALoRaT
    folded : FoldedNetwork or None
    device : torch.device
        Where both are. Results are on the processor.
    """

    def __init__(self, network: ALoRaT, folded: FoldedNetwork | None, device: torch.device) -> None:
        self._network = network
        self._folded = folded
        self._device = device
        self._scratch = Scratch()

    @property
    def at_once(self) -> int:
        """How many windows are best run together: large products, few enough for the cache."""
        return max(1, _ROWS_TOGETHER // self._network.window)

    @torch.no_grad()
    def windows(self, windows: Tensor) -> LastRow:
        """Of windows (B, T, d)."""
        windows = windows.to(self._device)
        if self._folded is not None:
            return _on_processor(self._folded(windows))
        encoding = self._network(windows)
        return _on_processor(LastRow(encoding.reconstruction[:, -1], encoding.attention[-1]))

    def in_a_row(self, rows: Tensor) -> LastRow:
        """Of all windows in rows (B + T − 1, d), each one step after the other."""
        if self._folded is None or self._folded.overlap is None:
            window = self._network.window
            return self.windows(rows.unfold(0, window, 1).transpose(1, 2).contiguous())
        return _on_processor(self._folded.consecutive(rows.to(self._device), self._scratch))


def _on_processor(last: LastRow) -> LastRow:
    return LastRow(last.expected.cpu(), last.attention.cpu())
