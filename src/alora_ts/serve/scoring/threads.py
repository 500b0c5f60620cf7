"""Threads that score: each source by one of them at a time, none starved by another."""

from __future__ import annotations

import logging
import queue
import threading
from collections.abc import Callable

from alora_ts.serve.scoring.source import Source

__all__ = ["Crew"]

_PAUSE = 5.0
_log = logging.getLogger("alora_ts.serve")


class Crew:
    """Calls ``step`` for every source that was woken, until it has nothing left to do.

    Parameters
    ----------
    step : callable
        Takes a source; gives whether there may be more to do.
    workers : int

    Attributes
    ----------
    troubles : dict of str to str
        What last went wrong with a source, until a step succeeds; tried again after a pause.
    """

    def __init__(self, step: Callable[[Source], bool], *, workers: int) -> None:
        self._step = step
        self._ready: queue.SimpleQueue[Source | None] = queue.SimpleQueue()
        self._lock = threading.Lock()
        self._busy: set[str] = set()
        self._again: set[str] = set()
        self._stopped = threading.Event()
        self.troubles: dict[str, str] = {}
        self._threads = [
            threading.Thread(target=self._run, name=f"alora-scorer-{number}", daemon=True)
            for number in range(workers)
        ]
        for thread in self._threads:
            thread.start()

    def wake(self, source: Source) -> None:
        """Say that a source may have rows to score."""
        with self._lock:
            if source.name in self._busy:
                self._again.add(source.name)
                return
            self._busy.add(source.name)
        self._ready.put(source)

    def waiting(self) -> int:
        """How many sources have rows to score."""
        return len(self._busy)

    def close(self) -> None:
        """Finish the steps in progress and stop; the rest is scored at the next start."""
        self._stopped.set()
        for _ in self._threads:
            self._ready.put(None)
        for thread in self._threads:
            thread.join()

    def _run(self) -> None:
        while (source := self._ready.get()) is not None and not self._stopped.is_set():
            try:
                more = self._step(source)
                self.troubles.pop(source.name, None)
            except Exception as error:
                _log.exception("scoring %s failed; trying again in %g s", source.name, _PAUSE)
                self.troubles[source.name] = f"{type(error).__name__}: {error}"
                self._later(source)
                continue
            with self._lock:
                if not more and source.name not in self._again:
                    self._busy.discard(source.name)
                    continue
                self._again.discard(source.name)
            self._ready.put(source)

    def _later(self, source: Source) -> None:
        timer = threading.Timer(_PAUSE, self._ready.put, (source,))
        timer.daemon = True
        timer.start()
