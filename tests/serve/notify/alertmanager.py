"""A real Alertmanager on this machine."""

from __future__ import annotations

import contextlib
import json
import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import httpx
from benchmarks.serve_programs import find_program, free_port, wait_for_port

from tests.conftest import need_program

__all__ = ["Alertmanager"]


class Alertmanager:
    """Keeps alerts, and hands those that fire or ended to a receiver."""

    def __init__(self, folder: Path, *, receiver: str = "http://127.0.0.1:9/") -> None:
        self.port = free_port()
        self.url = f"http://127.0.0.1:{self.port}"
        self._folder = folder
        folder.mkdir(parents=True, exist_ok=True)
        hook = {"url": receiver, "send_resolved": True}
        route = {
            "receiver": "here",
            "group_by": ["..."],
            "group_wait": "0s",
            "group_interval": "1s",
            "repeat_interval": "1h",
        }
        # JSON is YAML.
        config = {"route": route, "receivers": [{"name": "here", "webhook_configs": [hook]}]}
        (folder / "alertmanager.yml").write_text(json.dumps(config))

    @contextlib.contextmanager
    def running(self) -> Iterator[Alertmanager]:
        name = "prometheus-alertmanager"
        program = find_program(name) or need_program(name)
        command = [
            program,
            f"--config.file={self._folder}/alertmanager.yml",
            f"--storage.path={self._folder}/data",
            f"--web.listen-address=127.0.0.1:{self.port}",
            "--cluster.listen-address=",
        ]
        with (self._folder / "log").open("a") as log:
            process = subprocess.Popen(command, stdout=log, stderr=log)
            try:
                wait_for_port(self.port)
                yield self
            finally:
                process.terminate()
                process.wait(60)

    def alerts(self) -> list[dict[str, Any]]:
        """Those that fire now."""
        found: list[dict[str, Any]] = httpx.get(f"{self.url}/api/v2/alerts").json()
        return found
