"""A worker: everything of the service but its web part, in a process of its own."""

from __future__ import annotations

import asyncio
import logging
import multiprocessing
import signal
import threading
from contextlib import suppress
from multiprocessing.connection import Connection as Pipe
from multiprocessing.context import SpawnProcess

from prometheus_client import start_http_server

from alora_ts.errors import AloraError
from alora_ts.serve.operate.logs import LogFormat, set_up_logs
from alora_ts.serve.service import Service
from alora_ts.serve.settings import Settings
from alora_ts.serve.store.engines import store_url

__all__ = ["Workers", "prepare_process", "refuse_sqlite", "run_worker"]

_log = logging.getLogger("alora_ts.serve")
_PAUSE = 2.0


def refuse_sqlite(settings: Settings) -> None:
    """Refuse to share a store that one process must have for itself."""
    if store_url(settings.address).get_backend_name() == "sqlite":
        raise AloraError(
            "workers share a PostgreSQL store, and this one is SQLite; give --store "
            "postgresql://user:password@host:port/database, or set `threads` to score with more "
            "threads of one process"
        )


def prepare_process(*, log_format: LogFormat = "text", level: str = "INFO") -> None:
    """Set up what belongs to the whole process: its log, and how many threads compute."""
    import torch

    set_up_logs(log_format, level=level)
    # Windows are small: a second thread inside torch costs more than it brings.
    torch.set_num_threads(1)


def run_worker(
    settings: Settings, *, metrics_port: int | None = None, parent: Pipe | None = None
) -> None:
    """Score, connect and notify until SIGINT or SIGTERM; then hand over at once.

    Parameters
    ----------
    settings : Settings
    metrics_port : int, optional
        Where Prometheus finds the metrics of this worker, on the host of the settings.
    parent : Connection, optional
        A pipe whose end means that the process that started this one is gone.
    """
    refuse_sqlite(settings)
    service = Service(settings, web=False)
    if metrics_port is not None:
        start_http_server(metrics_port, addr=settings.host, registry=service.metrics.registry)
    asyncio.run(_work(service, parent))


async def _work(service: Service, parent: Pipe | None) -> None:
    loop, asked = asyncio.get_running_loop(), asyncio.Event()
    for one in (signal.SIGINT, signal.SIGTERM):
        loop.add_signal_handler(one, asked.set)
    if parent is not None:
        threading.Thread(target=_await_end, args=(parent, loop, asked), daemon=True).start()
    async with service.running():
        _log.info(
            "worker %s is at work on %s", getattr(service.share, "name", ""), service.store.name
        )
        await asked.wait()


def _await_end(parent: Pipe, loop: asyncio.AbstractEventLoop, asked: asyncio.Event) -> None:
    with suppress(EOFError, OSError):
        parent.recv()
    with suppress(RuntimeError):
        loop.call_soon_threadsafe(asked.set)


class Workers:
    """Processes beside this one that score; one that dies is started again.

    Parameters
    ----------
    settings : Settings
    count : int
    """

    def __init__(self, settings: Settings, count: int) -> None:
        self._settings = settings.model_copy(update={"workers": 1})
        self._context = multiprocessing.get_context("spawn")
        # Its end tells the workers that this process is gone, however it went.
        self._theirs, self._mine = self._context.Pipe(duplex=False)
        self._stop = threading.Event()
        self._processes: list[SpawnProcess] = [self._begin() for _ in range(count)]
        self._thread = threading.Thread(target=self._watch, name="alora-workers", daemon=True)
        self._thread.start()

    def close(self) -> None:
        """Ask all to stop and wait until they have handed over."""
        self._stop.set()
        self._thread.join()
        for process in self._processes:
            process.terminate()
        for process in self._processes:
            process.join()

    def _begin(self) -> SpawnProcess:
        process = self._context.Process(
            target=_run_child, args=(self._settings, self._theirs, self._mine), daemon=False
        )
        process.start()
        return process

    def _watch(self) -> None:
        while not self._stop.wait(_PAUSE):
            for place, process in enumerate(self._processes):
                if not process.is_alive():
                    _log.error("a worker ended (%s); starting another", process.exitcode)
                    self._processes[place] = self._begin()


def _run_child(settings: Settings, parent: Pipe, others: Pipe) -> None:
    others.close()  # or it would never end
    prepare_process(log_format=settings.log_format)
    run_worker(settings, parent=parent)
