"""Thousands of sources: start-up, memory, overview, and what they cost while nothing happens."""

from __future__ import annotations

import argparse
import shutil
import tempfile
import time
from pathlib import Path
from typing import Any

import httpx
import numpy as np
import psutil
from benchmarks.serve_dashboard import FLAGS
from benchmarks.serve_postgres import running_server
from benchmarks.serve_process import make_model, make_rows
from benchmarks.serve_producers import HttpProducer
from benchmarks.serve_workers_site import START, VARIABLES, Site, of_models
from benchmarks.serve_workers_speed import busy
from sqlalchemy import text

__all__ = ["many"]

_PAINTED = "() => new Promise((yes) => requestAnimationFrame(() => requestAnimationFrame(yes)))"
_ROWS = 100
_TILES = 200  # that the page shows at first
_WATCHED = 30.0
# Sources like the first, each with rows and readings of its own.
_COPY = (
    "INSERT INTO sources (name, variables, bucket_us, score_from_us, late_count, created_us, "
    "newest_us, oldest_us, row_count, unscored, arrived_us) SELECT 'm' || n, variables, bucket_us, "
    "score_from_us, 0, created_us, newest_us, oldest_us, row_count, 0, arrived_us "
    "FROM sources, generate_series(2, {count}) n WHERE sources.name = 's0'",
    "INSERT INTO activations (source_id, model_id, at_us, rolled_back) SELECT s.id, a.model_id, "
    "a.at_us, false FROM sources s, activations a WHERE s.name <> 's0'",
    "INSERT INTO rows (source_id, time_us, arrived_us, cells) SELECT s.id, r.time_us, "
    "r.arrived_us, r.cells FROM sources s, rows r WHERE s.name <> 's0'",
    "INSERT INTO readings (source_id, {columns}) SELECT s.id, {columns} FROM sources s, readings r "
    "WHERE s.name <> 's0'",
    "ANALYZE",
)


def many(args: argparse.Namespace) -> dict[str, Any]:
    """Start-up, memory and the overview with many sources."""
    with tempfile.TemporaryDirectory() as name, running_server(fsync=True) as server:
        folder = Path(name)
        make_model(folder / "model.alora", VARIABLES, window=10, epochs=1, seed=0)
        first = Site(folder, server, of_models(["s0"], folder / "model.alora"))
        try:
            _fill(first, args.sources)
        finally:
            first.close()
        place = Site(folder, server, "")
        try:
            started = place.ready()
            place.add(1)
            taken = place.until(lambda: place.held() == args.sources, 300)
            taking, spent = list[float](), busy(place, server)
            for _ in range(3):
                began = time.monotonic()
                answer = httpx.get(place.url("/api/v1/sources?recent=100"), timeout=300)
                taking.append(time.monotonic() - began)
            shown = ", ".join(f"{one:.2f}" for one in taking)
            spent = {name: seconds - spent[name] for name, seconds in busy(place, server).items()}
            of_three = f"{spent['web part'] / 3:.2f} s, {spent['PostgreSQL'] / 3:.2f} s"
            processes = {"web": place.web, "worker": place.workers[0]}
            memory = {
                which: round(psutil.Process(one.pid).memory_info().rss / 2**20)
                for which, one in processes.items()
            }
            page = _open(place.url("/"), args.sources)
            # What looking on costs while no row comes.
            before, wire = busy(place, server), psutil.net_io_counters(pernic=True)["lo"].bytes_sent
            time.sleep(_WATCHED)
            idle = {name: spent - before[name] for name, spent in busy(place, server).items()}
            wire = psutil.net_io_counters(pernic=True)["lo"].bytes_sent - wire
            return {
                "sources": len(answer.json()),
                "rows and readings of each": _ROWS,
                "seconds until the web part is ready": round(started, 1),
                "seconds until a worker has all, from its start": round(taken, 1),
                "seconds of the overview's request, once and again": shown,
                "processor of one of them, web part and PostgreSQL": of_three,
                "bytes of the overview": len(answer.content),
                "seconds until Chromium shows the overview": page,
                "memory of the web part": f"{memory['web']} MiB",
                "memory of the worker": f"{memory['worker']} MiB",
                **{
                    f"core taken while no row comes, {name}": f"{idle[name] / _WATCHED:.1%}"
                    for name in ("web part", "workers", "PostgreSQL")
                },
                "loopback traffic while no row comes": f"{wire / _WATCHED / 1e3:.0f} kB/s",
            }
        finally:
            place.close()


def _fill(first: Site, count: int) -> None:
    first.ready()
    first.add(1)
    times = START + np.arange(_ROWS) * 1_000_000
    rows = make_rows(_ROWS, VARIABLES, seed=0)
    sender = HttpProducer(first.url("/api/v1/sources/s0/rows"), times, rows, batch=_ROWS)
    sender.start()
    first.until(lambda: first.all_scored(_ROWS), 120)
    names = first.ask(
        "SELECT column_name FROM information_schema.columns WHERE table_name = 'readings' "
        "AND column_name <> 'source_id'"
    )
    columns = ", ".join(f'"{one[0]}"' for one in names)
    with first.engine.begin() as connection:
        for query in _COPY:
            connection.execute(text(query.format(count=count, columns=columns)))


def _open(url: str, count: int) -> str:
    """How long a browser takes to show the overview, once and again."""
    program = shutil.which("chromium")
    if program is None:
        return "not installed"
    from playwright.sync_api import sync_playwright

    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=program, args=FLAGS.split())
        taking = list[float]()
        for _ in range(2):
            page = browser.new_page(viewport={"width": 1280, "height": 900})
            began = time.monotonic()
            page.goto(url, timeout=300_000)
            page.wait_for_function(
                "(count) => document.querySelectorAll('.source').length >= count",
                arg=min(count, _TILES),
                timeout=300_000,
            )
            page.evaluate(_PAINTED)
            taking.append(time.monotonic() - began)
            page.close()
        browser.close()
    return ", ".join(f"{one:.1f}" for one in taking)
