"""How many threads torch uses, and work in several of them at once."""

from __future__ import annotations

import os
import threading
from collections import deque
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import Future, ThreadPoolExecutor, wait
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import TypeVar

from alora_ts.devices import usable_cores

__all__ = ["choose_threads", "side_by_side", "submit", "use_threads"]

_QUOTA = Path("/sys/fs/cgroup/cpu.max")

_Item = TypeVar("_Item")
_Result = TypeVar("_Result")


def choose_threads(asked: int | None) -> int:
    """How many threads to use: what was asked for, or what this process can really have.

    Parameters
    ----------
    asked : int or None

    Returns
    -------
    int
        With None torch's own number, but no more than the cores the process may run on and the
        share of time a container grants it. torch counts the machine's cores, and more threads
        than cores wait for each other.

    Examples
    --------
    >>> choose_threads(3)
    3
    >>> choose_threads(None) >= 1
    True
    """
    if asked is not None:
        return asked
    import torch

    return max(1, min(torch.get_num_threads(), usable_cores(), _granted(_QUOTA)))


def _granted(quota: Path) -> int:
    """Whole cores of a container's quota; many where there is none."""
    try:
        time, period = quota.read_text().split()
        return max(1, int(time) // int(period))
    except (OSError, ValueError):
        return 1_000_000


@dataclass(eq=False)
class _Block:
    """An open block, and the number of threads to go back to when it ends."""

    before: int


_open: list[_Block] = []
_lock = threading.Lock()


@contextmanager
def use_threads(count: int | None) -> Iterator[None]:
    """Give torch ``count`` threads inside the block; None leaves them as they are.

    Notes
    -----
    torch has one number for the whole process. Blocks opened by different Python threads may end
    in any order; the number from before all of them is back when the last has ended.

    Examples
    --------
    >>> import torch
    >>> before = torch.get_num_threads()
    >>> with use_threads(1):
    ...     torch.get_num_threads()
    1
    >>> torch.get_num_threads() == before
    True
    """
    if count is None:
        yield
        return
    import torch

    with _lock:
        block = _Block(torch.get_num_threads())
        _open.append(block)
        torch.set_num_threads(count)
    try:
        yield
    finally:
        with _lock:
            at = _open.index(block)
            if at == len(_open) - 1:
                torch.set_num_threads(block.before)
            else:
                # A later block is still open: it goes back to what was there before this one.
                _open[at + 1].before = block.before
            del _open[at]


def submit(work: Callable[[_Item], _Result], item: _Item, *, threads: int) -> Future[_Result]:
    """Start work in one of ``threads`` threads that are kept for the life of the process.

    Parameters
    ----------
    work : callable
        To be done before the caller leaves a block of ``use_threads(1)``: torch gets one thread
        for it.
    item : object
        Its argument.
    threads : int

    Notes
    -----
    A new thread gets its memory from the system page by page, and gives it back at its end; in a
    training step that took a sixth of the time. Kept threads find theirs ready.

    Examples
    --------
    >>> with use_threads(1):
    ...     submit(sum, [1, 2], threads=1).result()
    3
    """
    return _kept(threads).submit(_alone, work, item)


def side_by_side(
    work: Callable[[_Item], _Result], items: Sequence[_Item], *, threads: int
) -> list[_Result]:
    """Apply ``work`` to each item; this thread and kept ones take the next item in turn.

    Parameters
    ----------
    work : callable
        As for :func:`submit`.
    items : sequence
        Those that take long come best first.
    threads : int
        How many work at once. With one, everything is done in this thread.

    Returns
    -------
    list
        In the order of the items. No item is still being worked on, also when one fails.

    Examples
    --------
    >>> with use_threads(1):
    ...     side_by_side(abs, [-1, 2, -3], threads=2)
    [1, 2, 3]
    """
    if threads < 2 or len(items) < 2:
        return [work(item) for item in items]
    places = deque(range(len(items)))
    found: dict[int, _Result] = {}

    def take_turns(_: None) -> None:
        while True:
            try:
                place = places.popleft()
            except IndexError:
                return
            try:
                found[place] = work(items[place])
            except BaseException:
                places.clear()  # nobody will see the others' results
                raise

    helpers = min(threads, len(items)) - 1
    waiting = [submit(take_turns, None, threads=threads - 1) for _ in range(helpers)]
    try:
        take_turns(None)
    finally:
        wait(waiting)
    for each in waiting:
        each.result()
    return [found[place] for place in range(len(items))]


@cache
def _kept(threads: int) -> ThreadPoolExecutor:
    return ThreadPoolExecutor(threads, thread_name_prefix="alora-ts")


if hasattr(os, "register_at_fork"):
    # A child has the pools, but not their threads: it would wait for them forever.
    os.register_at_fork(after_in_child=_kept.cache_clear)


def _alone(work: Callable[[_Item], _Result], item: _Item) -> _Result:
    """Do work in a kept thread, with one thread for torch."""
    import torch

    # BLAS has a number of its own in each thread, and a thread that never asked for one would
    # start helpers itself. They stay, and OpenMP, seeing more threads than cores, lets all of the
    # process sleep at every barrier.
    torch.set_num_threads(1)
    return work(item)
