"""How many threads torch uses."""

from __future__ import annotations

import os
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

__all__ = ["choose_threads", "use_threads"]

_QUOTA = Path("/sys/fs/cgroup/cpu.max")


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

    cores = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count()
    return max(1, min(torch.get_num_threads(), cores or 1, _granted(_QUOTA)))


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
