"""A running service takes up what its operator changes, and keeps what it has where it cannot."""

from __future__ import annotations

import os
import signal
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import httpx
import pytest
from benchmarks.serve_process import ServiceProcess

from tests.forked import begin
from tests.serve.core import plant

PATIENCE = 300.0
LOOK_OFTEN = "import alora_ts.serve.run as run; run._LOOK = 0.1"


def wait(happened: Callable[[], Any]) -> Any:
    until = time.monotonic() + PATIENCE
    while not (found := happened()):
        assert time.monotonic() < until, "it did not happen in time"
        time.sleep(0.1)
    return found


@pytest.mark.slow
def test_settings_change_while_it_runs(tmp_path: Path, model_file: Path) -> None:
    file = tmp_path / "service" / "plant.alora"
    file.parent.mkdir()
    file.write_bytes(model_file.read_bytes())
    models = '[models]\nplant = "plant.alora"\n'
    with (
        ServiceProcess(tmp_path / "service", models, prelude=LOOK_OFTEN, begin=begin) as service,
        httpx.Client(base_url=f"{service.url}/api/v1", timeout=120) as client,
    ):

        def ask(path: str) -> Any:
            answer = client.get(path)
            assert answer.is_success, answer.text
            return answer.json()

        def source() -> Any:
            return ask("/sources/plant")

        first = source()["model_id"]
        # The settings are the same, but the model they name is another; only a signal shows it.
        plant.fit(seed=7).save(file)
        os.kill(service.pid, signal.SIGHUP)
        wait(lambda: source()["model_id"] != first)

        def change(text: str) -> None:
            part = service.config.with_suffix(".part")
            part.write_text(text)
            part.replace(service.config)

        good = service.config.read_text()
        change(good + "prot = 1\n")
        error = wait(lambda: ask("/health")["settings_error"])
        assert f"line {good.count(chr(10)) + 1}" in error
        assert "prot" in error
        # A port cannot change under a running service; the rest of the file is not taken either.
        change(good.replace(f"port = {service.port}", "port = 1\nlate_limit = 1e8"))
        wait(lambda: "restart" in (ask("/health")["settings_error"] or ""))

        rows = plant.rows(plant.values(700, seed=4))
        sent = client.post("/sources/plant/rows", json={"rows": rows})
        assert sent.json()["accepted"] == len(rows)
        own = source()["threshold"]
        # Recalibration as scheduled, every second here.
        change(f"recalibrate_every = {1 / 3600}\n{good}second = 'plant.alora'\n")
        wait(lambda: source()["threshold"] != own)
        assert ask("/health")["settings_error"] is None
        assert [one["name"] for one in ask("/sources")] == ["plant", "second"]
