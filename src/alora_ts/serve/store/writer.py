"""One thread that writes: requests that wait together share one transaction and one fsync."""

from __future__ import annotations

import logging
import queue
import threading
from collections.abc import Callable
from concurrent.futures import Future
from dataclasses import dataclass
from typing import Any, TypeVar

from sqlalchemy import Connection, Engine
from sqlalchemy.exc import SQLAlchemyError

from alora_ts.serve.store.leases import Lease, LeaseLostError, still_held
from alora_ts.serve.store.progress import lock_sources

__all__ = ["Writer"]

_TOGETHER = 256
_T = TypeVar("_T")
_log = logging.getLogger("alora_ts.serve")


@dataclass(frozen=True)
class _Job:
    work: Callable[[Connection], Any]
    after: Callable[[Any], None] | None
    future: Future[Any]
    source: int | None
    lease: Lease | None


class Writer:
    """Runs writes in the order they were submitted.

    Each piece of work sees what earlier ones wrote. One that raises is undone alone; the others
    of its transaction are kept. A future is resolved only after the commit, so an acknowledged
    write survives a crash; one that is cancelled before its work begins writes nothing.

    Parameters
    ----------
    engine : sqlalchemy.Engine

    Attributes
    ----------
    trouble : str or None
        Why the last write failed; None while writes succeed.
    """

    def __init__(self, engine: Engine) -> None:
        self._engine = engine
        self.trouble: str | None = None
        self._jobs: queue.SimpleQueue[_Job | None] = queue.SimpleQueue()
        self._thread = threading.Thread(target=self._run, name="alora-writer", daemon=True)
        self._thread.start()

    def submit(
        self,
        work: Callable[[Connection], _T],
        after: Callable[[_T], None] | None = None,
        *,
        source: int | None = None,
        lease: Lease | None = None,
    ) -> Future[_T]:
        """Queue a write.

        Parameters
        ----------
        work : callable
            Takes the connection, inside a transaction.
        after : callable, optional
            Takes what ``work`` gave; called on the writer's thread once it is committed, before
            the next transaction begins. What it changes thereby matches the store.
        source : int, optional
            Whose rows or scores are written: no other process writes them meanwhile.
        lease : Lease, optional
            What must be held; if it is not, nothing is written and LeaseLostError is raised.
        """
        future: Future[_T] = Future()
        self._jobs.put(_Job(work, after, future, source, lease))
        return future

    def run(
        self,
        work: Callable[[Connection], _T],
        *,
        source: int | None = None,
        lease: Lease | None = None,
    ) -> _T:
        """Write and wait for the commit."""
        return self.submit(work, source=source, lease=lease).result()

    def waiting(self) -> int:
        """How many writes wait."""
        return self._jobs.qsize()

    def close(self) -> None:
        """Finish what was submitted, then stop."""
        self._jobs.put(None)
        self._thread.join()

    def _run(self) -> None:
        while True:
            job = self._jobs.get()
            if job is None:
                return
            jobs, last = [job], False
            while len(jobs) < _TOGETHER and not last:
                try:
                    more = self._jobs.get_nowait()
                except queue.Empty:
                    break
                if more is None:
                    last = True
                else:
                    jobs.append(more)
            self._commit(jobs)
            if last:
                return

    def _commit(self, jobs: list[_Job]) -> None:
        # Whoever waited may have gone (a request that was broken off, a connector that was
        # stopped); what is not begun by then is not written, what is begun can no longer be
        # called off.
        jobs = [job for job in jobs if job.future.set_running_or_notify_cancel()]
        done: list[tuple[_Job, Any]] = []
        failed: list[tuple[_Job, BaseException]] = []
        try:
            with self._engine.begin() as connection:
                lock_sources(connection, {job.source for job in jobs if job.source is not None})
                asked = {job.lease for job in jobs if job.lease is not None}
                held = still_held(connection, asked) if asked else set()
                for job in jobs:
                    try:
                        if job.lease is not None and job.lease not in held:
                            raise LeaseLostError(f"another worker has {job.lease.name} now")
                        with connection.begin_nested():
                            done.append((job, job.work(connection)))
                    except Exception as error:
                        failed.append((job, error))
        except Exception as error:
            _log.error("a transaction failed, nothing of it was kept: %s", type(error).__name__)
            done, failed = [], [(job, error) for job in jobs]
        broken = [error for _, error in failed if isinstance(error, SQLAlchemyError)]
        if broken or done:
            self.trouble = type(broken[0]).__name__ if broken else None
        for job, result in done:
            try:
                if job.after is not None:
                    job.after(result)
            except Exception as error:
                job.future.set_exception(error)
            else:
                job.future.set_result(result)
        for job, problem in failed:
            job.future.set_exception(problem)
