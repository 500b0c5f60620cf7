"""The batch engine: windows in, expectations and ranks out, a chunk at a time.

Each chunk is computed by one thread from beginning to end, and as many chunks at once as torch has
threads. That keeps all cores busy where torch itself cannot (LAPACK's batched calls, many small
products), never makes one core wait for another, and gives the same numbers for any number of
threads.
"""

from __future__ import annotations

import copy
import math
from collections import deque
from collections.abc import Iterator
from concurrent.futures import Future, wait
from dataclasses import dataclass
from functools import cached_property

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from alora_ts.data.windows import WindowPlan
from alora_ts.network import ALoRaT
from alora_ts.progress import Report, Step
from alora_ts.scoring.folded import FoldedNetwork
from alora_ts.scoring.overlap import SHARING
from alora_ts.scoring.rank import count_rank
from alora_ts.scoring.runtime import Runtime
from alora_ts.scratch import Scratch
from alora_ts.threads import submit, use_threads

__all__ = ["Engine", "WindowChunk"]

_CHUNK_ROWS = 2520
"""The most rows of all windows of a chunk: enough for large products, few enough for the cache."""

_TOGETHER = 4
"""A table that does not fit in one chunk gets a multiple of so many, all of one size: two or four
threads then come to the end at the same time."""


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
    rank : ndarray of int16, shape (B,), or None
        Its rank (Eq. 10), when a level was given.
    """

    windows: slice
    expected: NDArray[np.float32]
    attention: Tensor
    rank: NDArray[np.int16] | None


class Engine:
    """Runs a trained network over windows.

    Parameters
    ----------
    network : ALoRaT
        In evaluation mode; later changes to its weights are not seen.
    device : torch.device, optional
        Where to run it; by default on the processor. Results are always given there.

    Attributes
    ----------
    folded : FoldedNetwork or None
        The network prepared for scoring; None for kinds that run as they are.

    Notes
    -----
    Networks of the default kind run folded (:mod:`alora_ts.scoring.folded`), all others as they
    are. Where ONNX Runtime is installed it runs the folded ones (:mod:`alora_ts.scoring.runtime`),
    except for windows in a row that share work. All give the same numbers up to rounding.
    """

    def __init__(self, network: ALoRaT, device: torch.device | None = None) -> None:
        self._device = torch.device("cpu") if device is None else device
        self._network = network if self.on_processor else copy.deepcopy(network).to(self._device)
        self.folded = FoldedNetwork(self._network) if FoldedNetwork.fits(network) else None

    @property
    def on_processor(self) -> bool:
        """Whether the network runs on the processor."""
        return self._device.type == "cpu"

    @cached_property
    def runtime(self) -> Runtime | None:
        """The folded network in ONNX Runtime, where that is possible; made at its first use."""
        if self.folded is None or not (self.on_processor and Runtime.installed()):
            return None
        return Runtime(self.folded, self._network.variables)

    def last_rows(self, windows: Tensor) -> tuple[Tensor, Tensor]:
        """Expected last rows (B, d) and last mean attention (B, T, T) of windows (B, T, d)."""
        if self.runtime is not None:
            # The first and shortest way: a stream goes it for every row.
            last = self.runtime(windows)
            return last.expected, last.attention
        windows = windows.to(self._device)
        if self.folded is not None:
            last = self.folded(windows)
            return last.expected.cpu(), last.attention.cpu()
        with torch.no_grad():
            encoding = self._network(windows)
        return encoding.reconstruction[:, -1].cpu(), encoding.attention[-1].cpu()

    def _of_plan(
        self, values: NDArray[np.float32], plan: WindowPlan, part: slice, scratch: Scratch
    ) -> tuple[Tensor, Tensor]:
        """As :meth:`last_rows` for some windows of a plan; overlapping ones share their work."""
        overlap = None if self.folded is None else self.folded.overlap
        starts, ends = plan.starts[part], plan.ends[part]
        in_a_row = ends[-1] - ends[0] == len(ends) - 1 and (ends - starts == plan.window - 1).all()
        if self.folded is None or overlap is None or not in_a_row:
            return self.last_rows(torch.from_numpy(plan.gather(values, part)))
        rows = torch.from_numpy(values[starts[0] : ends[-1] + 1]).to(self._device)
        last = self.folded.consecutive(rows, scratch)
        return last.expected.cpu(), last.attention.cpu()

    @torch.no_grad()
    def whole_window(self, window: Tensor) -> Tensor:
        """The whole reconstruction (B, T, d), for the rows before a first window's end."""
        reconstruction: Tensor = self._network(window.to(self._device)).reconstruction
        return reconstruction.cpu()

    def chunks(
        self,
        values: NDArray[np.float32],
        plan: WindowPlan,
        report: Report,
        *,
        rank_level: float | None = None,
        task: str = "scoring",
    ) -> Iterator[WindowChunk]:
        """Run all windows of a plan, in order; with a ``rank_level`` also count ranks."""
        total = len(plan.ends)
        size = _chunk_size(total, plan.window)
        workers = torch.get_num_threads()
        unused = [Scratch() for _ in range(workers)]

        def run(start: int) -> WindowChunk:
            part = slice(start, min(start + size, total))
            scratch = unused.pop()
            expected, attention = self._of_plan(values, plan, part, scratch)
            unused.append(scratch)
            rank = None if rank_level is None else count_rank(attention, rank_level)
            return WindowChunk(part, expected.numpy(), attention, rank)

        waiting: deque[Future[WindowChunk]] = deque()
        with use_threads(1):
            try:
                for start in range(0, total, size):
                    waiting.append(submit(run, start, threads=workers))
                    # One chunk more than there are threads: none waits for the reader.
                    if len(waiting) > workers:
                        yield self._told(waiting.popleft().result(), report, task, total)
                while waiting:
                    yield self._told(waiting.popleft().result(), report, task, total)
            finally:
                wait(waiting)

    @staticmethod
    def _told(chunk: WindowChunk, report: Report, task: str, total: int) -> WindowChunk:
        report(Step(task, chunk.windows.stop, total))
        return chunk


def _chunk_size(windows: int, steps: int) -> int:
    """How many windows of so many steps make a chunk."""
    chunks = math.ceil(windows * steps / _CHUNK_ROWS)
    if chunks <= 1:
        return max(1, windows)
    chunks = _TOGETHER * math.ceil(chunks / _TOGETHER)
    # A multiple of what windows in a row share (:mod:`alora_ts.scoring.overlap`).
    return SHARING * math.ceil(windows / (SHARING * chunks))
