"""What one thread needs to run a network over windows."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol

from torch import Tensor

__all__ = ["LastRow", "Worker"]


@dataclass(frozen=True)
class LastRow:
    """What scoring needs of a batch of windows, on the CPU.

    Attributes
    ----------
    expected : Tensor of shape (B, d)
        The reconstruction of each window's last row.
    attention : Tensor of shape (B, T, T)
        S^(L), the mean over the heads.
    """

    expected: Tensor
    attention: Tensor


class Worker(Protocol):
    """Runs a network over windows, in memory that is used again: one thread at a time."""

    @property
    def at_once(self) -> int:
        """How many windows are best run together."""

    def windows(self, windows: Tensor) -> LastRow:
        """Of windows (B, T, d)."""

    def in_a_row(self, rows: Tensor) -> LastRow:
        """Of all windows in rows (B + T − 1, d), each one step after the other."""
