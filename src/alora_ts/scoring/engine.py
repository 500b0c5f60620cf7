"""The batch engine: windows in, expectations and attention spectra out, a chunk at a time."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from alora_ts.data.windows import WindowPlan
from alora_ts.network import ALoRaT
from alora_ts.progress import Report, Step
from alora_ts.scoring.folded import FoldedNetwork

__all__ = ["Engine", "WindowChunk"]

_CHUNK = 256


@dataclass(frozen=True)
class WindowChunk:
    """Some consecutive windows of a plan and what the network says of them.

    Attributes
    ----------
    windows : slice
        Which windows of the plan.
    expected : ndarray of shape (B, d)
        The reconstruction of each window's last row.
    attention : Tensor of shape (B, T, T)
        The last layer's mean attention matrix.
    """

    windows: slice
    expected: NDArray[np.float32]
    attention: Tensor


class Engine:
    """Runs a trained network over windows.

    Parameters
    ----------
    network : ALoRaT
        In evaluation mode; later changes to its weights are not seen.

    Notes
    -----
    Networks of the default kind run folded (:mod:`alora_ts.scoring.folded`), all others as they
    are. Both give the same numbers up to rounding.
    """

    def __init__(self, network: ALoRaT) -> None:
        self._network = network
        self._folded = FoldedNetwork(network) if FoldedNetwork.fits(network) else None

    @torch.no_grad()
    def last_rows(self, windows: Tensor) -> tuple[Tensor, Tensor]:
        """Expected last rows (B, d) and last mean attention (B, T, T) of windows (B, T, d)."""
        if self._folded is not None:
            last = self._folded(windows)
            return last.expected, last.attention
        encoding = self._network(windows)
        return encoding.reconstruction[:, -1], encoding.attention[-1]

    @torch.no_grad()
    def whole_window(self, window: Tensor) -> Tensor:
        """The whole reconstruction (B, T, d), for the rows before a first window's end."""
        reconstruction: Tensor = self._network(window).reconstruction
        return reconstruction

    def chunks(
        self,
        values: NDArray[np.float32],
        plan: WindowPlan,
        report: Report,
        *,
        task: str = "scoring",
    ) -> Iterator[WindowChunk]:
        """Run all windows of a plan, in order."""
        total = len(plan.ends)
        for start in range(0, total, _CHUNK):
            part = slice(start, min(start + _CHUNK, total))
            expected, attention = self.last_rows(torch.from_numpy(plan.gather(values, part)))
            yield WindowChunk(part, expected.numpy(), attention)
            report(Step(task, part.stop, total))
