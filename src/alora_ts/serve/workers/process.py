"""A worker: everything of the service but its web part, in a process of its own."""

from __future__ import annotations

import asyncio
import logging
import multiprocessing
import signal
import threading
from collections.abc import Callable
from contextlib import suppress
from multiprocessing.connection import Connection as Pipe
from multiprocessing.context import SpawnProcess
from pathlib import Path

from prometheus_client import start_http_server

from alora_ts.errors import AloraError
from alora_ts.serve.operate.logs import LogFormat, set_up_logs
from alora_ts.serve.operate.settings_watch import take_up, watch_settings
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
    settings: Settings,
    *,
    read: Callable[[], Settings] | None = None,
    file: Path | None = None,
    metrics_port: int | None = None,
    parent: Pipe | None = None,
) -> None:
    """Score, connect and notify until SIGINT or SIGTERM; then hand over at once.

    Parameters
    ----------
    settings : Settings
    read : callable, optional
        Reads the settings again: at SIGHUP, and when the file has changed.
    file : Path, optional
        The file to watch.
    metrics_port : int, optional
        Where Prometheus finds the metrics of this worker, on the host of the settings.
    parent : Connection, optional
        A pipe by which the process that started this one sends new settings; its end means that
        that process is gone.
    """
    refuse_sqlite(settings)
    service = Service(settings, web=False)
    if metrics_port is not None:
        start_http_server(metrics_port, addr=settings.host, registry=service.metrics.registry)
    asyncio.run(_work(service, read, file, parent))


async def _work(
    service: Service,
    read: Callable[[], Settings] | None,
    file: Path | None,
    parent: Pipe | None,
) -> None:
    loop, asked = asyncio.get_running_loop(), asyncio.Event()
    for one in (signal.SIGINT, signal.SIGTERM):
        loop.add_signal_handler(one, asked.set)
    async with service.running():
        _log.info(
            "worker %s is at work on %s", getattr(service.share, "name", ""), service.store.name
        )
        if parent is not None:
            told = (parent, service, loop, asked)
            threading.Thread(target=_hear_parent, args=told, daemon=True).start()
        watch = asyncio.create_task(watch_settings(service, read, file)) if read else None
        await asked.wait()
        if watch is not None:
            watch.cancel()
            with suppress(asyncio.CancelledError):
                await watch


def _hear_parent(
    parent: Pipe, service: Service, loop: asyncio.AbstractEventLoop, asked: asyncio.Event
) -> None:
    """Take up the settings that a parent sends, one after another; stop when it is gone."""
    with suppress(EOFError, OSError):
        while True:
            settings: Settings = parent.recv()
            work = take_up(service, lambda sent=settings: sent)  # type: ignore[misc]
            asyncio.run_coroutine_threadsafe(work, loop).result()
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
        self._settings = _of_a_worker(settings)
        self._context = multiprocessing.get_context("spawn")
        self._lock = threading.Lock()
        self._stop = threading.Event()
        self._processes = [self._begin() for _ in range(count)]
        self._thread = threading.Thread(target=self._watch, name="alora-workers", daemon=True)
        self._thread.start()

    def follow(self, settings: Settings) -> None:
        """Let all take up settings that have changed."""
        with self._lock:
            self._settings = _of_a_worker(settings)
            for _, pipe in self._processes:
                with suppress(OSError):  # one that has just died begins with them
                    pipe.send(self._settings)

    def close(self) -> None:
        """Ask all to stop and wait until they have handed over."""
        self._stop.set()
        self._thread.join()
        for process, _ in self._processes:
            process.terminate()
        for process, pipe in self._processes:
            process.join()
            pipe.close()

    def _begin(self) -> tuple[SpawnProcess, Pipe]:
        # Its end tells the worker that this process is gone, however it went.
        theirs, mine = self._context.Pipe(duplex=False)
        process = self._context.Process(
            target=_run_child, args=(self._settings, theirs), daemon=False
        )
        process.start()
        theirs.close()
        return process, mine

    def _watch(self) -> None:
        while not self._stop.wait(_PAUSE):
            with self._lock:
                for place, (process, pipe) in enumerate(self._processes):
                    if not process.is_alive():
                        _log.error("a worker ended (%s); starting another", process.exitcode)
                        pipe.close()
                        self._processes[place] = self._begin()


def _of_a_worker(settings: Settings) -> Settings:
    return settings.model_copy(update={"workers": 1})


def _run_child(settings: Settings, parent: Pipe) -> None:
    prepare_process(log_format=settings.log_format)
    run_worker(settings, parent=parent)
