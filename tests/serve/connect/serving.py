"""The service as other programs reach it: on a port, in a thread of its own."""

from __future__ import annotations

import contextlib
import threading
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import httpx
import uvicorn
from benchmarks.serve_process import make_model
from benchmarks.serve_programs import free_port

from alora_ts import Architecture
from alora_ts.serve.http.app import create_app
from alora_ts.serve.http.tokens import make_token
from alora_ts.serve.service import Service
from alora_ts.serve.settings import Settings


def small_model(path: Path) -> Path:
    """A model of x0 and x1."""
    make_model(
        path,
        2,
        window=6,
        architecture=Architecture(layers=1, heads=2),
        epochs=1,
        epoch_windows=64,
    )
    return path


@dataclass(frozen=True)
class Served:
    """A service that answers at an address."""

    service: Service
    url: str

    def token(self, **options: Any) -> str:
        """Make a token and wait until the service knows it."""
        made = make_token(self.service.store, name="test", role="ingest", **options)
        wait_until(lambda: self.service.tokens.bearer_of(made) is not None)
        return made

    def connector(self) -> dict[str, Any]:
        """The first connector's status."""
        status = self.service.tasks.connectors[0].status()
        return vars(status)

    def rows(self, source: str = "plant") -> dict[int, dict[str, float | None]]:
        """All stored rows by their time in microseconds."""
        from alora_ts.serve.store.rows import rows_before

        known = self.service.sources.get(source)
        with self.service.store.reading() as connection:
            block = rows_before(connection, known.id, len(known.variables), end=2**62, limit=10_000)
        return {
            int(time): {
                name: None if value != value else value  # noqa: PLR0124
                for name, value in zip(known.variables, line, strict=True)
            }
            for time, line in zip(block.times, block.values.tolist(), strict=True)
        }


@contextlib.contextmanager
def served(settings: dict[str, Any]) -> Iterator[Served]:
    """Run a service until the block ends."""
    port = free_port()
    service = Service(Settings.model_validate(settings | {"port": port}))
    config = uvicorn.Config(
        create_app(service), host="127.0.0.1", port=port, log_level="warning", lifespan="on"
    )
    server = uvicorn.Server(config)
    thread = threading.Thread(target=server.run, daemon=True)
    thread.start()
    try:
        url = f"http://127.0.0.1:{port}"
        wait_until(lambda: server.started or not thread.is_alive())
        assert httpx.get(f"{url}/healthz", timeout=60).is_success
        wait_until(lambda: {one.status().state for one in service.tasks.connectors} != {"starting"})
        yield Served(service, url)
    finally:
        server.should_exit = True
        thread.join(60)


def wait_until(condition: Any, *, seconds: float = 240.0) -> None:
    """Wait for something to become true."""
    until = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < until, "it does not come true"
        time.sleep(0.05)
