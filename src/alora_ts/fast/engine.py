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
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cached_property

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from alora_ts.data.windows import WindowPlan
from alora_ts.fast import kernels_for, way
from alora_ts.fast.compiled import CompiledNetwork, CompiledWorker
from alora_ts.fast.fold import foldable
from alora_ts.fast.forward import FoldedNetwork, TorchWorker
from alora_ts.fast.overlap import SHARING
from alora_ts.fast.plain import PlainWorker
from alora_ts.fast.rank import count_rank
from alora_ts.fast.threads import submit, use_threads
from alora_ts.fast.worker import LastRow, Worker
from alora_ts.network import ALoRaT
from alora_ts.progress import Report, Step

__all__ = ["Engine", "WindowChunk"]

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
        Where to run it; by default on the CPU. Results are always given there.

    Attributes
    ----------
    folded : FoldedNetwork or None
        The network prepared for scoring; None for kinds that run as they are.

    Notes
    -----
    Networks of the default kind run folded (:mod:`alora_ts.fast.forward`), all others as they
    are. On the CPU compiled kernels run the folded ones (:mod:`alora_ts.fast.compiled`)
    where they are installed, else torch. All give the same numbers up to rounding.
    """

    def __init__(self, network: ALoRaT, device: torch.device | None = None) -> None:
        self._device = torch.device("cpu") if device is None else device
        self._network = network if self.on_cpu else copy.deepcopy(network).to(self._device)
        folds = way() != "plain" and foldable(network)
        self.folded = FoldedNetwork(self._network) if folds else None
        self._idle: list[Worker] = []

    def __getstate__(self) -> dict[str, object]:
        # The memory of workers is of no use to a copy, and where it goes the CPU may be
        # another: weights are laid out for one.
        kept = {name: value for name, value in self.__dict__.items() if name != "compiled"}
        return {**kept, "_idle": []}

    @property
    def on_cpu(self) -> bool:
        """Whether the network runs on the CPU."""
        return self._device.type == "cpu"

    @cached_property
    def compiled(self) -> CompiledNetwork | None:
        """The folded network for the kernels, where that is possible; made at its first use."""
        kernels = kernels_for(self._network.decode.weight)
        if self.folded is None or kernels is None or not self.on_cpu:
            return None
        return CompiledNetwork(self.folded, kernels)

    def worker(self) -> Worker:
        """What runs the network, for one thread at a time."""
        if self.folded is None:
            return PlainWorker(self._network, self._device)
        if self.compiled is not None:
            return CompiledWorker(self.compiled)
        return TorchWorker(self.folded, self._device)

    def last_rows(self, windows: Tensor) -> LastRow:
        """Expected last rows (B, d) and last mean attention (B, T, T) of windows (B, T, d)."""
        return self.worker().windows(windows)

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
        workers = torch.get_num_threads()
        size = _chunk_size(total, self.worker().at_once)

        def run(start: int) -> WindowChunk:
            part = slice(start, min(start + size, total))
            with self._hired() as worker:
                last = _of_plan(worker, values, plan, part)
            rank = None if rank_level is None else count_rank(last.attention, rank_level)
            return WindowChunk(part, last.expected.numpy(), last.attention, rank)

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

    @contextmanager
    def _hired(self) -> Iterator[Worker]:
        """A worker for this thread alone, with its memory from an earlier chunk if it had one."""
        try:
            worker = self._idle.pop()
        except IndexError:
            worker = self.worker()
        yield worker
        self._idle.append(worker)

    @staticmethod
    def _told(chunk: WindowChunk, report: Report, task: str, total: int) -> WindowChunk:
        report(Step(task, chunk.windows.stop, total))
        return chunk


def _of_plan(worker: Worker, values: NDArray[np.float32], plan: WindowPlan, part: slice) -> LastRow:
    """Some windows of a plan; those that follow one another share what they have in common."""
    starts, ends = plan.starts[part], plan.ends[part]
    in_a_row = ends[-1] - ends[0] == len(ends) - 1 and (ends - starts == plan.window - 1).all()
    if in_a_row:
        return worker.in_a_row(torch.from_numpy(values[starts[0] : ends[-1] + 1]))
    return worker.windows(torch.from_numpy(plan.gather(values, part)))


def _chunk_size(windows: int, at_once: int) -> int:
    """How many windows make a chunk, of which a worker best runs so many at once."""
    chunks = math.ceil(windows / at_once)
    if chunks <= 1:
        return max(1, windows)
    chunks = _TOGETHER * math.ceil(chunks / _TOGETHER)
    # A multiple of what windows in a row share (:mod:`alora_ts.fast.overlap`).
    return SHARING * math.ceil(windows / (SHARING * chunks))
