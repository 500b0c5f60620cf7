"""How many threads torch uses."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

__all__ = ["use_threads"]


@contextmanager
def use_threads(count: int | None) -> Iterator[None]:
    """Give torch ``count`` threads inside the block; None leaves them as they are."""
    if count is None:
        yield
        return
    import torch

    before = torch.get_num_threads()
    torch.set_num_threads(count)
    try:
        yield
    finally:
        torch.set_num_threads(before)
