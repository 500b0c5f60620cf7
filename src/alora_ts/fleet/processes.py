"""How the processes of this computer begin."""

from __future__ import annotations

import multiprocessing
import sys
from typing import Literal

__all__ = ["begin_method"]


def begin_method() -> Literal["forkserver", "spawn"]:
    """The way to begin a worker, as :func:`multiprocessing.get_context` takes it.

    Notes
    -----
    On Linux a server that has imported torch forks them: a worker is there a second of CPU sooner,
    and shares torch's memory with the others. The server has computed nothing: torch has no threads
    yet, and numpy's library stops and starts its own around a fork. This process, whose threads
    would be lost, is not forked. Elsewhere each worker is a new Python.

    Examples
    --------
    >>> begin_method() in multiprocessing.get_all_start_methods()
    True
    """
    if sys.platform != "linux":
        return "spawn"
    multiprocessing.get_context("forkserver").set_forkserver_preload(["torch"])
    return "forkserver"
