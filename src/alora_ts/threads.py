"""How many threads torch uses."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass

__all__ = ["use_threads"]


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
