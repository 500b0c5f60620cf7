"""Local processes: one thread each, as many as cores and memory allow."""

from __future__ import annotations

import itertools
import multiprocessing
import os
import signal
import sys
import threading
import time
from collections import deque
from collections.abc import Callable, Generator, Iterable, Iterator
from concurrent.futures import FIRST_COMPLETED, Future, ProcessPoolExecutor, wait
from concurrent.futures.process import BrokenProcessPool
from dataclasses import dataclass
from types import FrameType
from typing import Generic

from alora_ts.devices import usable_cores
from alora_ts.errors import AloraError
from alora_ts.fleet.engine import Finished, Memory, Result, Task
from alora_ts.fleet.memory import available_memory
from alora_ts.fleet.processes import begin_method

__all__ = ["LocalEngine"]

_MEMORY_SHARE = 0.8
_PATIENCE = 10.0
"""Seconds a worker gets to tidy up when it is asked to end."""


@dataclass
class _Run(Generic[Task]):
    """A task that is running."""

    task: Task
    slot: int
    memory: int
    losses: int


class LocalEngine:
    """Runs tasks in processes of this computer.

    Parameters
    ----------
    workers : int, optional
        Most processes at once; by default one for each core.
    memory : int, optional
        Bytes that all running tasks together may need; by default 80 % of what is free when the
        run begins. A task that needs more than that runs alone.
    retries : int
        How often a task is run again after its process was lost.

    Notes
    -----
    Each worker is a pool of one process, so that a process that dies takes only its own task with
    it. Workers are not forks of this process, as torch's threads do not survive a fork; see
    :func:`~alora_ts.fleet.processes.begin_method`. Scripts therefore need the usual
    ``if __name__ == "__main__":``.

    Examples
    --------
    >>> engine = LocalEngine(workers=1)
    >>> [done.result for done in engine.map(abs, [-3], memory=lambda task: 0)]
    [3]
    """

    def __init__(
        self, *, workers: int | None = None, memory: int | None = None, retries: int = 2
    ) -> None:
        if workers is not None and workers < 1:
            raise AloraError(f"workers={workers} is too small; give at least 1")
        self.workers = workers
        self.memory = memory
        self.retries = retries

    def map(
        self, work: Callable[[Task], Result], tasks: Iterable[Task], *, memory: Memory[Task]
    ) -> Generator[Finished[Task, Result], None, None]:
        """Run ``work`` on every task; see :class:`~alora_ts.fleet.engine.Engine`."""
        budget = self.memory
        if budget is None:
            budget = round(_MEMORY_SHARE * available_memory())
        pools = _Pools(self.workers or usable_cores())
        coming = iter(tasks)
        again: deque[tuple[Task, int]] = deque()
        running: dict[Future[Result], _Run[Task]] = {}
        held_back: tuple[Task, int] | None = None
        try:
            while True:
                while pools.free:
                    following = held_back or _next(again, coming)
                    held_back = None
                    if following is None:
                        break
                    task, losses = following
                    need, used = memory(task), sum(run.memory for run in running.values())
                    if running and used + need > budget:
                        held_back = following
                        break
                    slot = pools.free.pop()
                    future = pools.submit(slot, work, task)
                    running[future] = _Run(task, slot, need, losses)
                if not running:
                    return
                over, _ = wait(running, return_when=FIRST_COMPLETED)
                for future in over:
                    run = running.pop(future)
                    node = f"process {run.slot}"
                    error = future.exception()
                    if isinstance(error, BrokenProcessPool):
                        pools.renew(run.slot)
                        if run.losses < self.retries:
                            again.append((run.task, run.losses + 1))
                            continue
                        yield Finished(run.task, None, _lost(run.losses + 1), node)
                    elif error is not None:
                        pools.free.append(run.slot)
                        yield Finished(run.task, None, f"{type(error).__name__}: {error}", node)
                    else:
                        pools.free.append(run.slot)
                        yield Finished(run.task, future.result(), None, node)
        finally:
            pools.close(busy=[run.slot for run in running.values()])


def _next(again: deque[tuple[Task, int]], coming: Iterator[Task]) -> tuple[Task, int] | None:
    if again:
        return again.popleft()
    for task in itertools.islice(coming, 1):
        return task, 0
    return None


def _lost(times: int) -> str:
    return (
        f"its worker process died {times} times without a word; often the computer ran out of "
        "memory: give fewer workers, fewer rows, or more memory"
    )


class _Pools:
    """Pools of one process each, started when first used."""

    def __init__(self, count: int) -> None:
        self.free = list(range(count))[::-1]
        self._pools: dict[int, ProcessPoolExecutor] = {}

    def submit(self, slot: int, work: Callable[[Task], Result], task: Task) -> Future[Result]:
        if slot not in self._pools:
            self._pools[slot] = ProcessPoolExecutor(
                1, mp_context=multiprocessing.get_context(begin_method()), initializer=_begin
            )
        try:
            return self._pools[slot].submit(work, task)
        except BrokenProcessPool:
            # The idle process was killed since its last task: nothing is lost with it.
            self._pools.pop(slot).shutdown(wait=False)
            return self.submit(slot, work, task)

    def renew(self, slot: int) -> None:
        self._pools.pop(slot).shutdown(wait=False)
        self.free.append(slot)

    def close(self, *, busy: Iterable[int]) -> None:
        """End every process; busy ones are asked to exit, and killed if they do not in time."""
        for slot in busy:
            pool = self._pools.pop(slot)
            # Public ways to end a pool's processes came with Python 3.14.
            told = list((pool._processes or {}).values())
            for process in told:
                process.terminate()
            pool.shutdown(wait=False, cancel_futures=True)
            for process in told:
                process.join(_PATIENCE)
                if process.is_alive():
                    process.kill()
        for pool in self._pools.values():
            pool.shutdown()


def _begin() -> None:
    """Prepare a worker: one thread, and endings that leave nothing half-written."""
    os.environ["OMP_NUM_THREADS"] = "1"
    # The keyboard's interrupt reaches all processes; only the driver answers it.
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    signal.signal(signal.SIGTERM, _leave)
    threading.Thread(target=_end_with_driver, daemon=True).start()


def _leave(_signal: int, _frame: FrameType | None) -> None:
    # An exception unwinds the stack, so that files in the making are removed.
    sys.exit(1)


def _end_with_driver() -> None:
    """Leave when the driver is gone, killed perhaps: nobody would ask for the results."""
    driver = multiprocessing.parent_process()
    assert driver is not None
    driver.join()
    os.kill(os.getpid(), signal.SIGTERM)
    time.sleep(_PATIENCE)
    os._exit(1)
