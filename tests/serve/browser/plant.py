"""A little plant of five signals: a model of it, a day of it, and a service that watches it."""

from __future__ import annotations

import datetime as dt
import time
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import httpx
import numpy as np
import polars as pl
from benchmarks.serve_programs import Program, free_port

from alora_ts import ALoRa, Architecture
from tests.cli.invoke import invoke
from tests.forked import begin

# One name looks like markup and must stay text, one has what separates names elsewhere.
SIGNALS = ("inlet_flow", "pump_power", "pump_vibration", "tank_level <m>", "tank, hot & deep")
STEP = dt.timedelta(seconds=10)
# Rows of the fault in which a pump shakes and its power drops.
FAULT = slice(420, 460)


def measure(rows: int, *, seed: int, fault: slice = slice(0)) -> np.ndarray:
    """Signals that move together, with noise and with a fault."""
    rng = np.random.default_rng(seed)
    load = np.sin(np.arange(rows) / 25)
    parts = [load, 0.8 * load, 0.3 * load, -load, np.roll(load, 5)]
    values = np.stack(parts, axis=1) + 0.05 * rng.standard_normal((rows, len(SIGNALS)))
    values[fault, 2] += 2.5
    values[fault, 1] -= 0.8
    return 20 + 5 * values


def fit_model(path: Path, *, seed: int = 0) -> Path:
    """A tiny model of the normal plant."""
    start = dt.datetime(2026, 1, 1)
    times = [start + at * STEP for at in range(1500)]
    columns = dict(zip(SIGNALS, measure(len(times), seed=0).T, strict=True))
    model = ALoRa(
        window=8,
        architecture=Architecture(layers=1, heads=1),
        epochs=2,
        epoch_windows=160,
        seed=seed,
    )
    model.fit(pl.DataFrame({"time": times, **columns}))
    model.save(path)
    return path


def rows_until(end: dt.datetime, *, rows: int = 600, seed: int = 1) -> list[dict[str, Any]]:
    """Rows as the service takes them, the last one at ``end``."""
    values = measure(rows, seed=seed, fault=FAULT)
    return [
        {
            "time": (end - (rows - 1 - at) * STEP).isoformat(),
            "values": dict(zip(SIGNALS, values[at].tolist(), strict=True)),
        }
        for at in range(rows)
    ]


def now() -> dt.datetime:
    """This moment, on the grid of the plant's rows."""
    seconds = int(time.time() // STEP.seconds) * STEP.seconds
    return dt.datetime.fromtimestamp(seconds, dt.UTC)


@dataclass
class Running:
    """A service at work."""

    url: str
    process: Program
    token: str | None = None

    def client(self) -> httpx.Client:
        """A client of its API."""
        headers = {"authorization": f"Bearer {self.token}"} if self.token else {}
        return httpx.Client(base_url=f"{self.url}/api/v1", headers=headers, timeout=120)

    def post(self, rows: list[dict[str, Any]], source: str = "plant") -> None:
        """Send rows and wait until they are scored."""
        with self.client() as client:
            answer = client.post(f"/sources/{source}/rows", json={"rows": rows})
            assert answer.status_code == 200, answer.text
            assert answer.json()["rejected"] == []
            last = dt.datetime.fromisoformat(rows[-1]["time"]) - STEP / 2
            query = {"start": last.isoformat(), "limit": 1}
            wait_for(
                lambda: client.get(f"/sources/{source}/readings", params=query).json()["items"]
            )


def wait_for(happened: Any, *, seconds: float = 300) -> Any:
    """Ask again until it has happened."""
    until = time.monotonic() + seconds
    while not (found := happened()):
        assert time.monotonic() < until, "it did not happen in time"
        time.sleep(0.1)
    return found


def make_token(folder: Path, role: str) -> str:
    """`alora-ts token create` for a service that keeps its files in ``folder``."""
    done = invoke("token", "create", "--role", role, "--folder", folder)
    assert done.code == 0, done.err
    return done.out.strip()


@contextmanager
def serving(
    folder: Path,
    model: Path,
    *,
    port: int | None = None,
    token: str | None = None,
    settings: str = "",
) -> Any:
    """`alora-ts serve` in a process of its own."""
    port = port or free_port()
    file = folder.parent / f"{folder.name}.toml"
    file.write_text(settings)
    words = [
        "serve", "--config", str(file),
        "--model", f"plant={model}", "--folder", str(folder), "--port", str(port),
    ]  # fmt: skip
    process = begin(words, log=folder.parent / f"{folder.name}.log")
    running = Running(f"http://127.0.0.1:{port}", process, token)
    try:
        wait_for(lambda: _lives(running))
        yield running
    finally:
        process.terminate()
        process.wait(120)


def _lives(running: Running) -> bool:
    assert running.process.poll() is None, "the service ended; see its log"
    try:
        return httpx.get(f"{running.url}/healthz").status_code == 200
    except httpx.TransportError:
        return False
