"""A real browser, watched for everything it should not do."""

from __future__ import annotations

import os
import socket
import threading
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import uvicorn
from fastapi import FastAPI

from alora_ts.serve.web import mount_dashboard
from tests.conftest import need_program
from tests.serve.browser.plant import STEP, Running, fit_model, now, rows_until, serving
from tests.serve.browser.watching import FLAGS


# Not for the whole session: while Playwright runs, no other test could start an event loop.
@pytest.fixture(scope="package")
def chromium() -> Iterator[Any]:
    program = need_program("chromium")
    from playwright.sync_api import sync_playwright

    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=program, args=FLAGS.split())
        yield browser
        browser.close()


@pytest.fixture(scope="package")
def bare_site() -> Iterator[str]:
    """The dashboard's files without a service behind them."""
    app = FastAPI()
    mount_dashboard(app)
    with socket.socket() as listening:
        listening.bind(("127.0.0.1", 0))
        server = uvicorn.Server(uvicorn.Config(app, log_level="error", ws="none"))
        thread = threading.Thread(target=server.run, kwargs={"sockets": [listening]})
        thread.start()
        while not server.started:
            time.sleep(0.02)
        yield f"http://127.0.0.1:{listening.getsockname()[1]}"
        server.should_exit = True
        thread.join()


@pytest.fixture(scope="package")
def artifacts(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Where screenshots go: ALORA_TS_ARTIFACTS, or a temporary folder."""
    named = os.environ.get("ALORA_TS_ARTIFACTS")
    folder = Path(named) / "dashboard" if named else tmp_path_factory.mktemp("dashboard")
    folder.mkdir(parents=True, exist_ok=True)
    return folder


@pytest.fixture(scope="package")
def plant_model(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return fit_model(tmp_path_factory.mktemp("model") / "plant.alora")


@pytest.fixture(scope="package")
def plant_service(plant_model: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Running]:
    """A service that has seen a day of the plant."""
    with serving(tmp_path_factory.mktemp("service") / "data", plant_model) as running:
        running.post(rows_until(now() - 20 * STEP))
        yield running
