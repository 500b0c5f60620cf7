"""SIGKILL at any moment: what was acknowledged is there once, and every score is a batch's."""

from __future__ import annotations

import time
from pathlib import Path

import httpx
import numpy as np
import pytest
from benchmarks.serve_programs import free_port
from numpy.testing import assert_allclose

from alora_ts import ALoRa
from alora_ts.serve.service import Service
from alora_ts.serve.settings import Settings
from tests.forked import Forked, begin
from tests.serve.core import plant
from tests.serve.core.conftest import settle, stored_scores


def start(folder: Path, model: Path, port: int) -> Forked:
    words = ["serve", "--model", f"plant={model}", "--folder", str(folder), "--port", str(port)]
    folder.mkdir(exist_ok=True)
    process = begin(words, log=folder / "log")
    deadline = time.monotonic() + 240
    while True:
        try:
            if httpx.get(f"http://127.0.0.1:{port}/readyz", timeout=30).status_code == 200:
                return process
        except httpx.TransportError:
            pass
        assert process.poll() is None, (folder / "log").read_text()
        assert time.monotonic() < deadline
        time.sleep(0.1)


@pytest.mark.slow
def test_nothing_is_lost_when_the_service_is_killed(
    tmp_path: Path, model: ALoRa, model_file: Path
) -> None:
    table = plant.values(600, seed=5)
    table[300:320, 0] += 50
    rows = plant.rows(table)
    folder, port = tmp_path / "data", free_port()
    sent, kills = 0, 0
    process = start(folder, model_file, port)
    rng = np.random.default_rng(0)
    url = f"http://127.0.0.1:{port}/api/v1/sources/plant/rows"
    while sent < len(rows):
        if kills < 1 and sent > 350:
            process.kill()
            process.wait()
            kills += 1
            # The last rows are sent again, as a sender does that heard no answer.
            sent = max(0, sent - 100)
            process = start(folder, model_file, port)
        size = int(rng.integers(1, 80))
        answer = httpx.post(url, json={"rows": rows[sent : sent + size]}, timeout=120)
        assert answer.status_code == 200
        sent += size
    process.terminate()
    assert process.wait(120) == 0
    assert kills == 1
    service = Service(Settings(folder=folder, models={"plant": model_file}))
    try:
        settle(service)
        source = service.sources.get("plant")
        assert source.rows == len(rows)
        found = stored_scores(service, source)
    finally:
        service.close()
    wanted = model.score(plant.frame(table), progress=False)
    assert_allclose(found[8:], wanted[8:], rtol=2e-4, atol=1e-6)
