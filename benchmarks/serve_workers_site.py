"""A web process, workers and a PostgreSQL server of their own, for benchmarks of many workers."""

from __future__ import annotations

import contextlib
import random
import tempfile
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import httpx
import numpy as np
from benchmarks.serve_postgres import Server, running_server
from benchmarks.serve_programs import Begin, Program, begin, free_port
from sqlalchemy import create_engine, text
from sqlalchemy.exc import SQLAlchemyError

from alora_ts.serve.store.engines import store_url

__all__ = ["START", "VARIABLES", "Site", "of_models", "site"]

START = np.datetime64("2026-01-01", "us").astype(np.int64)
VARIABLES = 10


class Site:
    """A web process, workers and their store."""

    def __init__(self, folder: Path, server: Server, config: str, *, begin: Begin = begin) -> None:
        self._begin = begin
        self.folder = folder
        self.port = free_port()
        self.config = folder / "serve.toml"
        self.config.write_text(
            f'port = {self.port}\nfolder = "{folder}/data"\nstore = "{server.address}"\n'
            f"workers = 0\nlate_limit = 1e8\nrate_limit = 100000\nsilent_after = 0\n{config}"
        )
        self.engine = create_engine(store_url(server.address), pool_pre_ping=True)
        self.web = self._start("serve")
        self.workers: list[Program] = []

    def _start(self, command: str) -> Program:
        return self._begin([command, "--config", str(self.config)], log=self.folder / "log")

    def ready(self) -> float:
        """Wait for the web process; returns the seconds."""
        began = time.monotonic()
        while True:
            with contextlib.suppress(httpx.HTTPError):
                if httpx.get(self.url("/readyz"), timeout=60).is_success:
                    return time.monotonic() - began
            if self.web.poll() is not None:
                raise RuntimeError(self.log()[-3000:])
            time.sleep(0.05)

    def url(self, path: str) -> str:
        """An address of the web process."""
        return f"http://127.0.0.1:{self.port}{path}"

    def add(self, count: int = 1) -> None:
        """Start workers."""
        self.workers += [self._start("worker") for _ in range(count)]

    def kill(self, rng: random.Random) -> None:
        """Kill one of them and start another."""
        place = rng.randrange(len(self.workers))
        self.workers[place].kill()
        self.workers[place].wait()
        self.workers[place] = self._start("worker")

    def ask(self, query: str) -> list[Any]:
        """Ask the store."""
        with self.engine.begin() as connection:
            return list(connection.execute(text(query)))

    def until(self, done: Callable[[], bool], seconds: float) -> float:
        """Wait; returns the seconds."""
        began = time.monotonic()
        while True:
            with contextlib.suppress(SQLAlchemyError):
                if done():
                    return time.monotonic() - began
            if time.monotonic() - began > seconds:
                raise RuntimeError(self.log()[-3000:])
            time.sleep(0.2)

    def scored(self) -> int:
        """How many rows are stored and scored."""
        return int(self.ask("SELECT sum(row_count - unscored) FROM sources")[0][0] or 0)

    def all_scored(self, count: int) -> bool:
        """Whether so many rows are stored and none waits."""
        return self.scored() == count

    def held(self, kind: str = "source") -> int:
        """How many leases of a kind living workers hold."""
        query = (
            "SELECT count(*) FROM leases l JOIN workers w ON w.id = l.worker WHERE w.until_us > "
            f"extract(epoch FROM clock_timestamp()) * 1e6 AND l.kind = '{kind}'"
        )
        return int(self.ask(query)[0][0])

    def log(self) -> str:
        """What all its processes wrote."""
        return (self.folder / "log").read_text()

    def spread(self) -> int:
        """How many workers hold sources."""
        query = "SELECT count(DISTINCT worker) FROM leases WHERE kind = 'source'"
        return int(self.ask(query)[0][0])

    def close(self) -> None:
        """End everything."""
        for process in (*self.workers, self.web):
            process.kill()
            process.wait(60)
        self.engine.dispose()


@contextlib.contextmanager
def site(config: Callable[[Path], str], *, begin: Begin = begin) -> Iterator[tuple[Site, Server]]:
    """A site over a new store."""
    with tempfile.TemporaryDirectory() as name, running_server(fsync=True) as server:
        folder = Path(name)
        place = Site(folder, server, config(folder), begin=begin)
        try:
            yield place, server
        finally:
            place.close()


def of_models(names: list[str], path: Path) -> str:
    """The settings that give each source the model."""
    return "[models]\n" + "".join(f'{name} = "{path}"\n' for name in names)
