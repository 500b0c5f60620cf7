"""The service as a process of its own, for benchmarks that measure it or kill it."""

from __future__ import annotations

import contextlib
import time
from pathlib import Path
from types import TracebackType
from typing import Any

import httpx
import numpy as np
from benchmarks.serve_programs import Begin, Program, begin, free_port
from numpy.typing import NDArray

from alora_ts import ALoRa

__all__ = ["ServiceProcess", "make_model", "make_rows"]


def make_rows(count: int, variables: int, *, seed: int) -> NDArray[np.float64]:
    """Signals that follow two hidden loads, with noise and a few faults."""
    rng = np.random.default_rng(seed)
    at = np.arange(count)
    loads = np.stack([np.sin(at / 17), np.sin(at / 41 + 1)], axis=1)
    rows = loads @ rng.normal(size=(2, variables)) + 0.1 * rng.normal(size=(count, variables))
    for start in range(count // 7, count, max(count // 7, 1)):
        rows[start : start + 15, start % variables] += 3.0
    return rows.round(6)


def make_model(path: Path, variables: int, **settings: Any) -> ALoRa:
    """Fit a model to healthy rows a second apart and save it."""
    import polars as pl

    rows = make_rows(3000, variables, seed=99)[:420]
    times = np.datetime64("2026-01-01", "us") + np.arange(len(rows)) * np.timedelta64(1, "s")
    table = pl.DataFrame({"time": times} | {f"x{at}": rows[:, at] for at in range(variables)})
    model = ALoRa(**settings).fit(table)
    model.save(path)
    return model


class ServiceProcess:
    """``alora-ts serve`` with a settings file; can be killed and started again.

    Parameters
    ----------
    folder : Path
        Where it keeps its files and its log.
    settings : str
        TOML, without port and folder.
    prelude : str
        Python to run in the process first.
    begin : callable
        Begins the process.

    Attributes
    ----------
    config : Path
        The settings file.
    """

    def __init__(
        self, folder: Path, settings: str, *, prelude: str = "", begin: Begin = begin
    ) -> None:
        self._prelude = prelude
        self._begin = begin
        folder.mkdir(parents=True, exist_ok=True)
        self.port = free_port()
        self.url = f"http://127.0.0.1:{self.port}"
        self.config = folder / "serve.toml"
        self.config.write_text(
            f'port = {self.port}\nfolder = "{folder}/data"\n{settings}', encoding="utf-8"
        )
        self._log = folder / "serve.log"
        self._process: Program | None = None

    @property
    def pid(self) -> int:
        """The process's number."""
        assert self._process is not None
        return self._process.pid

    def start(self, *, seconds: float = 300.0) -> None:
        """Start it and wait until it is ready."""
        words = ["serve", "--config", str(self.config)]
        self._process = self._begin(words, log=self._log, prelude=self._prelude)
        until = time.monotonic() + seconds
        while True:
            if self._process.poll() is not None or time.monotonic() > until:
                self.kill()
                raise RuntimeError(f"the service did not start:\n{self._log.read_text()[-3000:]}")
            with contextlib.suppress(httpx.HTTPError):
                if httpx.get(f"{self.url}/readyz", timeout=60).is_success:
                    return
            time.sleep(0.05)

    def kill(self) -> None:
        """End it with SIGKILL, as a power cut would."""
        if self._process is not None:
            self._process.kill()
            self._process.wait(120)

    def stop(self) -> None:
        """End it as systemd would."""
        if self._process is not None and self._process.poll() is None:
            self._process.terminate()
            self._process.wait(120)

    def __enter__(self) -> ServiceProcess:
        self.start()
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.stop()
