"""`alora-ts demo --serve`: one command to a live dashboard, and an end that leaves it whole."""

from __future__ import annotations

import contextlib
import os
import re
import signal
import socket
import sqlite3
import subprocess
import sys
import time
from pathlib import Path

import httpx
import numpy as np
import pytest

from alora_ts.datasets.synthetic import plant
from alora_ts.datasets.synthetic_live import LivePlant
from tests.cli.invoke import files, invoke
from tests.conftest import REPOSITORY

DOCS = REPOSITORY / "docs" / "how-to"
_COMMAND = [sys.executable, "-c", "from alora_ts.cli.main import run; run()"]


def test_the_plant_is_the_demos_and_goes_on() -> None:
    """Its rows are those of the preset, whatever their chunks, and the faults come again."""
    live, preset = LivePlant(seed=3, train_rows=400), plant(seed=3, train_rows=400)
    np.testing.assert_allclose(live.train, preset.train, rtol=1e-5)
    parts = np.concatenate([live.advance(rows) for rows in (1, 700, 299, 2000)])
    np.testing.assert_allclose(parts, preset.test, rtol=1e-5)
    calm, again = live.advance(380), live.advance(60)
    level = live.variables.index("tank1_level")
    # The leak of every cycle drains the tank.
    assert again[-10:, level].mean() < calm[-100:, level].mean() - 3 * calm[-100:, level].std()


@pytest.mark.slow
def test_an_empty_folder_and_a_port_that_is_taken(tmp_path: Path) -> None:
    with contextlib.ExitStack() as stack:
        taken = stack.enter_context(socket.socket())
        with contextlib.suppress(OSError):  # somebody else has it, which is as good
            taken.bind(("127.0.0.1", 8080))
            taken.listen()
        process = subprocess.Popen(
            [*_COMMAND, "demo", "--serve"],
            cwd=tmp_path,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
            env={**os.environ, "PYTHONUNBUFFERED": "1"},
        )
        assert process.stdout is not None
        said = ""
        while "Ctrl-C ends it" not in said:
            line = process.stdout.readline()
            assert line, process.communicate()
            said += line
        url = re.search(r"http://127\.0\.0\.1:\d+", said)
        assert url is not None
        assert not url[0].endswith(":8080")
        with httpx.Client(base_url=f"{url[0]}/api/v1", timeout=60) as client:
            until = time.monotonic() + 120
            while not (items := client.get("/incidents").json()["items"]):
                assert time.monotonic() < until
                time.sleep(0.2)
            assert items[0]["culprits"][0]["variable"] == "tank1_level"
            # The command it prints works as it stands, and so do those of the documentation.
            pages = [
                (DOCS / name).read_text() for name in ("operate-the-service.md", "try-it-live.md")
            ]
            texts = [said, *(page.replace("http://127.0.0.1:8080", url[0]) for page in pages)]
            for text in texts:
                command = re.search(r"curl \S+/plant/rows -H 'content-type: app.*\\\n.*", text)
                assert command is not None
                sent = subprocess.run(
                    command[0], shell=True, capture_output=True, text=True, check=True
                )
                assert '"rejected":[]' in sent.stdout, sent.stdout
            before = client.get("/sources/plant").json()["rows"]
            while client.get("/sources/plant").json()["rows"] <= before:
                assert time.monotonic() < until
                time.sleep(0.2)
            last = client.get("/sources/plant").json()["last_time"]
            assert last <= time.strftime("%Y-%m-%dT%H:%M:%S", time.gmtime(time.time() + 1))
        process.send_signal(signal.SIGINT)
        out, err = process.communicate(timeout=60)
    assert (process.returncode, err) == (0, ""), err
    assert "Stopped." in out
    assert files(tmp_path) == {"alora-demo"}
    assert files(tmp_path / "alora-demo") == {"live", "live-0.alora"}
    assert files(tmp_path / "alora-demo" / "live") == {"store.db", "store.db.lock"}
    with sqlite3.connect(tmp_path / "alora-demo" / "live" / "store.db") as store:
        assert store.execute("PRAGMA integrity_check").fetchone() == ("ok",)


def test_a_port_that_was_asked_for_must_be_free(tmp_path: Path) -> None:
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        port = taken.getsockname()[1]
        refused = invoke("demo", tmp_path / "demo", "--serve", "--port", str(port))
    assert (refused.code, f"cannot listen on port {port}" in refused.err) == (1, True)
    assert invoke("demo", tmp_path / "demo", "--port", "9000").code == 2
