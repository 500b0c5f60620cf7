"""A PostgreSQL server of our own, for tests and benchmarks."""

from __future__ import annotations

import os
import shutil
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from benchmarks.serve_programs import find_program, free_port
from sqlalchemy import create_engine, text

from alora_ts.serve.store.engines import store_url

__all__ = ["Server", "postgres_program", "running_server"]


def postgres_program(name: str) -> str:
    """The path of one of its programs, which Debian keeps out of the way."""
    found = sorted(Path("/usr/lib/postgresql").glob(f"*/bin/{name}"))
    path = str(found[-1]) if found else find_program(name)
    if path is None:
        raise FileNotFoundError(f"{name} of PostgreSQL is not installed")
    return path


class Server:
    """A PostgreSQL server that can be restarted."""

    def __init__(self, folder: Path, as_user: list[str], *, fsync: bool) -> None:
        self.folder = folder
        self.as_user = as_user
        self.fsync = "on" if fsync else "off"
        self.port = free_port()
        self.address = f"postgresql://alora:s3cret@127.0.0.1:{self.port}/postgres"

    def run(self, *command: str) -> None:
        """Run one of its programs as the user it belongs to."""
        quiet = subprocess.DEVNULL
        subprocess.run([*self.as_user, *command], check=True, cwd=self.folder, stdout=quiet)

    def control(self, *words: str) -> None:
        """Start or stop it."""
        options = (
            f"-p {self.port} -k {self.folder} -c listen_addresses=127.0.0.1 -c fsync={self.fsync}"
        )
        where = ["-D", f"{self.folder}/db", "-w", "-t", "300", "-l", f"{self.folder}/log"]
        self.run(postgres_program("pg_ctl"), *where, "-o", options, *words)

    def restart(self) -> None:
        """Restart it; every connection ends."""
        self.control("-m", "fast", "restart")

    def empty(self) -> None:
        """Remove all that a store left."""
        engine = create_engine(store_url(self.address))
        with engine.begin() as connection:
            connection.execute(text("DROP SCHEMA public CASCADE"))
            connection.execute(text("CREATE SCHEMA public"))
        engine.dispose()


@contextmanager
def running_server(*, fsync: bool = False) -> Iterator[Server]:
    """A server while the block lasts."""
    # The server's user must reach its folder, which pytest's own folders do not allow.
    folder = Path("/tmp") / f"alora-pg-{os.getpid()}"
    folder.mkdir(mode=0o755)
    as_user: list[str] = []
    if os.geteuid() == 0:
        as_user = ["runuser", "-u", "postgres", "--"]
        shutil.chown(folder, "postgres")
    server = Server(folder, as_user, fsync=fsync)
    try:
        made = ["-D", f"{folder}/db", "-A", "trust", "-U", "alora", "--no-sync"]
        server.run(postgres_program("initdb"), *made)
        server.control("start")
        try:
            yield server
        finally:
            server.control("-m", "immediate", "stop")
    finally:
        shutil.rmtree(folder)
