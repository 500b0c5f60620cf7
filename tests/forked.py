"""`alora-ts` in processes of its own that need not import torch first.

A server has imported what the program imports, most of the three seconds of CPU that a service
needs to start, and forks for each start. What comes out is the same program in a process like any
other: it reads its own words, surroundings and files, and can be stopped and killed. The server has
computed nothing: torch, numpy and polars begin their threads with their first work, which is after
the fork.
"""

from __future__ import annotations

import importlib
import json
import os
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Sequence
from functools import cache
from pathlib import Path
from typing import Any

__all__ = ["Forked", "begin", "serve"]

_REPOSITORY = Path(__file__).resolve().parents[1]
_IMPORTED = (
    "alora_ts.cli.main",
    "alora_ts.serve.http.app",
    "alora_ts.serve.run",
    "alora_ts.estimator",
)


class Forked:
    """A process that the server has begun; of :class:`subprocess.Popen` what tests use."""

    def __init__(self, pid: int) -> None:
        self.pid = pid
        self.returncode: int | None = None

    def poll(self) -> int | None:
        """Its exit code, as Popen has it; None while it runs."""
        if self.returncode is None:
            self.returncode = _server().ask({"ended": self.pid})
        return self.returncode

    def wait(self, timeout: float | None = None) -> int:
        """Wait for its end."""
        until = None if timeout is None else time.monotonic() + timeout
        while (code := self.poll()) is None:
            if until is not None and time.monotonic() > until:
                raise subprocess.TimeoutExpired(f"process {self.pid}", timeout or 0)
            time.sleep(0.02)
        return code

    def send_signal(self, number: int) -> None:
        """Send a signal, unless it has ended."""
        if self.poll() is None:
            os.kill(self.pid, number)

    def terminate(self) -> None:
        """Ask it to end."""
        self.send_signal(signal.SIGTERM)

    def kill(self) -> None:
        """End it."""
        self.send_signal(signal.SIGKILL)


def begin(words: Sequence[str], *, log: Path, prelude: str = "") -> Forked:
    """As :func:`benchmarks.serve_programs.begin`, but forked; it leads a group of its own."""
    surroundings = {**os.environ, "OMP_NUM_THREADS": "1"}
    order = {
        "words": list(words), "log": str(log.absolute()), "prelude": prelude,
        "surroundings": surroundings, "folder": str(Path.cwd()),
    }  # fmt: skip
    return Forked(_server().ask(order))


class _Server:
    """The process that forks; it ends with the one that began it."""

    def __init__(self) -> None:
        self._process = subprocess.Popen(
            [sys.executable, "-c", "from tests.forked import serve; serve()"],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            cwd=_REPOSITORY,
            text=True,
        )
        self._lock = threading.Lock()

    def ask(self, question: dict[str, Any]) -> Any:
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        with self._lock:
            self._process.stdin.write(json.dumps(question) + "\n")
            self._process.stdin.flush()
            return json.loads(self._process.stdout.readline())


@cache
def _server() -> _Server:
    return _Server()


def serve() -> None:
    """Answer orders on standard input until it closes; in a forked process, run the program."""
    for name in _IMPORTED:
        importlib.import_module(name)
    for line in sys.stdin:
        order = json.loads(line)
        if "ended" in order:
            pid, status = os.waitpid(order["ended"], os.WNOHANG)
            answer = os.waitstatus_to_exitcode(status) if pid else None
        else:
            answer = os.fork()
            if answer == 0:
                _become(order)
                return
        print(json.dumps(answer), flush=True)  # noqa: T201


def _become(order: dict[str, Any]) -> None:
    os.setsid()
    os.environ.clear()
    os.environ.update(order["surroundings"])
    os.chdir(order["folder"])
    log = os.open(order["log"], os.O_WRONLY | os.O_APPEND | os.O_CREAT)
    nothing = os.open(os.devnull, os.O_RDONLY)
    for given, number in ((nothing, 0), (log, 1), (log, 2)):
        os.dup2(given, number)
    sys.argv = ["-c", *order["words"]]
    exec(order["prelude"], {"__name__": "__main__"})
    from alora_ts.cli.main import run

    run()
