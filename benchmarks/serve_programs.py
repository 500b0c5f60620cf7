"""Starts the service and the programs that it works with, on free ports of this machine."""

from __future__ import annotations

import os
import random
import shutil
import socket
import subprocess
import sys
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Protocol

__all__ = ["Begin", "Broker", "Program", "begin", "find_program", "free_port", "wait_for_port"]


class Program(Protocol):
    """A process, with the words of :class:`subprocess.Popen`."""

    pid: int

    def poll(self) -> int | None:
        """Its exit code; None while it runs."""

    def wait(self, timeout: float | None = None) -> int:
        """Wait for its end."""

    def send_signal(self, number: int, /) -> None:
        """Send a signal."""

    def terminate(self) -> None:
        """Ask it to end."""

    def kill(self) -> None:
        """End it."""


class Begin(Protocol):
    """A way to begin ``alora-ts`` in a process of its own, as :func:`begin` does."""

    def __call__(self, words: Sequence[str], *, log: Path, prelude: str = "") -> Program:
        """Begin it."""


def begin(words: Sequence[str], *, log: Path, prelude: str = "") -> Program:
    """Begin ``alora-ts`` with these words in a new Python.

    Parameters
    ----------
    words : sequence of str
    log : Path
        Gets what it writes to standard output and error.
    prelude : str
        Python to run in the process first.
    """
    run = f"{prelude}\nfrom alora_ts.cli.main import run; run()"
    with log.open("ab") as opened:
        return subprocess.Popen(
            [sys.executable, "-c", run, *words],
            stdout=opened,
            stderr=opened,
            env={**os.environ, "OMP_NUM_THREADS": "1"},
        )


def find_program(name: str) -> str | None:
    """The path of a program, also where only root usually looks."""
    return shutil.which(name) or shutil.which(name, path="/usr/sbin:/usr/local/sbin:/sbin")


def free_port() -> int:
    """A port that nobody uses at the moment, nor gets by chance before we use it.

    It lies below those that the system gives to outgoing connections: one of these could take it
    between this look and the start of the program that is to listen, or while that restarts.
    """
    while True:
        port = random.SystemRandom().randrange(15_000, 30_000)
        with socket.socket() as probe:
            try:
                probe.bind(("127.0.0.1", port))
            except OSError:
                continue
        return port


def wait_for_port(port: int, *, seconds: float = 120.0) -> None:
    """Wait until somebody listens."""
    until = time.monotonic() + seconds
    while True:
        try:
            with socket.create_connection(("127.0.0.1", port), timeout=1):
                return
        except OSError:
            if time.monotonic() > until:
                raise
            time.sleep(0.05)


class Broker:
    """A mosquitto with persistence, which can be stopped and started again.

    Parameters
    ----------
    folder : Path
        Where it keeps its settings, messages and log.
    password_file : Path, optional
        As mosquitto_passwd writes it; without it everybody may connect.
    """

    def __init__(self, folder: Path, *, password_file: Path | None = None) -> None:
        program = find_program("mosquitto")
        if program is None:
            raise FileNotFoundError("mosquitto is not installed")
        folder.mkdir(parents=True, exist_ok=True)
        self.port = free_port()
        self._config = folder / "mosquitto.conf"
        self._program = program
        login = (
            "allow_anonymous true"
            if password_file is None
            else f"allow_anonymous false\npassword_file {password_file}"
        )
        self._config.write_text(
            f"listener {self.port} 127.0.0.1\n{login}\npersistence true\n"
            f"persistence_location {folder}/\nautosave_interval 10\n"
            "max_queued_messages 0\nmax_inflight_messages 0\n"
            # mosquitto gives up root otherwise, and could not write into the folder.
            f"user root\nlog_dest file {folder}/mosquitto.log\n",
            encoding="utf-8",
        )
        self._process: subprocess.Popen[bytes] | None = None

    def start(self) -> None:
        """Start it and wait until it answers."""
        self._process = subprocess.Popen(
            [self._program, "-c", str(self._config)],
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
        )
        wait_for_port(self.port)

    def stop(self) -> None:
        """End it as an administrator would: it writes its messages to the disk first."""
        if self._process is not None:
            self._process.terminate()
            self._process.wait(120)
            self._process = None

    def __enter__(self) -> Broker:
        self.start()
        return self

    def __exit__(self, *_: object) -> None:
        self.stop()
