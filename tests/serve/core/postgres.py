"""A real PostgreSQL server, started by the tests."""

from __future__ import annotations

import os
import shutil
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from benchmarks.serve_programs import free_port
from sqlalchemy import create_engine, text

from alora_ts.serve.store.engines import store_url
from tests.conftest import need_program


def program(name: str) -> str:
    found = sorted(Path("/usr/lib/postgresql").glob(f"*/bin/{name}"))
    return str(found[-1]) if found else need_program(name)


class Server:
    """A PostgreSQL server that can be restarted."""

    def __init__(self, folder: Path, as_user: list[str]) -> None:
        self.folder = folder
        self.as_user = as_user
        self.port = free_port()
        self.address = f"postgresql://alora:s3cret@127.0.0.1:{self.port}/postgres"

    def run(self, *command: str) -> None:
        quiet = subprocess.DEVNULL
        subprocess.run([*self.as_user, *command], check=True, cwd=self.folder, stdout=quiet)

    def control(self, *words: str) -> None:
        options = f"-p {self.port} -k {self.folder} -c listen_addresses=127.0.0.1 -c fsync=off"
        where = ["-D", f"{self.folder}/db", "-w", "-t", "300", "-l", f"{self.folder}/log"]
        self.run(program("pg_ctl"), *where, "-o", options, *words)

    def restart(self) -> None:
        self.control("-m", "fast", "restart")

    def empty(self) -> None:
        """Remove all that a store left."""
        engine = create_engine(store_url(self.address))
        with engine.begin() as connection:
            connection.execute(text("DROP SCHEMA public CASCADE"))
            connection.execute(text("CREATE SCHEMA public"))
        engine.dispose()


@contextmanager
def running_server() -> Iterator[Server]:
    """A server while the block lasts."""
    # The server's user must reach its folder, which pytest's own folders do not allow.
    folder = Path("/tmp") / f"alora-pg-{os.getpid()}"
    folder.mkdir(mode=0o755)
    as_user: list[str] = []
    if os.geteuid() == 0:
        as_user = [need_program("runuser"), "-u", "postgres", "--"]
        shutil.chown(folder, "postgres")
    server = Server(folder, as_user)
    try:
        made = ["-D", f"{folder}/db", "-A", "trust", "-U", "alora", "--no-sync"]
        server.run(program("initdb"), *made)
        server.control("start")
        try:
            yield server
        finally:
            server.control("-m", "immediate", "stop")
    finally:
        shutil.rmtree(folder)
