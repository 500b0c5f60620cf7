"""The health page of several processes that share a store."""

from __future__ import annotations

import os
import signal
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import httpx
import pytest
from benchmarks.serve_postgres import postgres_program, running_server
from benchmarks.serve_workers_site import Site, of_models

from tests.conftest import need_program
from tests.forked import begin
from tests.serve.browser.plant import now, rows_until
from tests.serve.browser.watching import open_page, sideways

SOURCES = ["line-1", "line-2", "line-3", "line-4"]


@pytest.fixture
def place(tmp_path: Path, plant_model: Path) -> Iterator[Site]:
    try:
        postgres_program("initdb")
    except FileNotFoundError:
        need_program("initdb")
    with running_server() as server:
        place = Site(tmp_path, server, of_models(SOURCES, plant_model), begin=begin)
        try:
            place.ready()
            place.add(2)
            place.until(lambda: place.held() == 4 and place.spread() == 2, 180)
            yield place
        finally:
            place.close()


def text_of(page: Any, name: str) -> str:
    found: str = page.locator("section", has_text="Processes that share").inner_text()
    lines = found.split(f"{os.uname().nodename}:")
    return next(one for one in lines if one.startswith(name))


@pytest.mark.slow
def test_workers_leases_and_lag_are_shown(chromium: Any, place: Site, artifacts: Path) -> None:
    first, second = (str(one.pid) for one in place.workers)
    # One stands still: what is sent to its sources waits.
    place.workers[0].send_signal(signal.SIGSTOP)
    send_all(place)
    for width, dark in ((1280, False), (390, True)):
        watched = open_page(chromium, width=width, dark=dark)
        page = watched.page
        page.goto(place.url("/#/health"))
        page.wait_for_function("() => document.body.innerText.includes('gone for')")
        assert "gone for" in text_of(page, first)
        page.wait_for_function("() => document.body.innerText.includes('4 sources')")
        taken = text_of(page, second)
        assert "alive" in taken
        # All that one process does for all is named with whoever does it.
        for task in ("clean-up", "mutes", "patterns", "silence"):
            assert task in taken
        assert "rows wait" in taken
        assert "readings" in taken
        assert "MiB" in taken or "MB" in taken
        assert "web" in text_of(page, str(place.web.pid))
        assert sideways(page) == 0
        page.screenshot(path=artifacts / f"workers-{width}.png", full_page=True)
        assert watched.complaints == []
        page.context.close()
    place.workers[0].send_signal(signal.SIGCONT)


def send_all(place: Site) -> None:
    rows = rows_until(now())[:200]
    for name in SOURCES:
        answer = httpx.post(
            place.url(f"/api/v1/sources/{name}/rows"), json={"rows": rows}, timeout=60
        )
        assert answer.is_success, answer.text
