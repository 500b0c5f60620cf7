"""Thousands of sources: start-up, memory, overview."""

from __future__ import annotations

import argparse
import tempfile
import time
from pathlib import Path
from typing import Any

import httpx
import psutil
from benchmarks.serve_postgres import running_server
from benchmarks.serve_process import make_model
from benchmarks.serve_workers_site import VARIABLES, Site, of_models
from sqlalchemy import text

__all__ = ["many"]


def many(args: argparse.Namespace) -> dict[str, Any]:
    """Start-up, memory and the overview with many sources."""
    with tempfile.TemporaryDirectory() as name, running_server(fsync=True) as server:
        folder = Path(name)
        make_model(folder / "model.alora", VARIABLES, window=10, epochs=1, seed=0)
        first = Site(folder, server, of_models(["s0"], folder / "model.alora"))
        first.ready()
        with first.engine.begin() as connection:
            for query in (
                "INSERT INTO sources (name, variables, bucket_us, score_from_us, late_count, "
                "created_us) SELECT 'm' || n, variables, bucket_us, score_from_us, 0, created_us "
                f"FROM sources, generate_series(2, {args.sources}) n WHERE sources.name = 's0'",
                "INSERT INTO activations (source_id, model_id, at_us, rolled_back) SELECT s.id, "
                "a.model_id, a.at_us, false FROM sources s, activations a WHERE s.name <> 's0'",
            ):
                connection.execute(text(query))
        first.close()
        place = Site(folder, server, "")
        try:
            started = place.ready()
            place.add(1)
            taken = place.until(lambda: place.held() == args.sources, 300)
            taking = list[float]()
            for _ in range(3):
                began = time.monotonic()
                answer = httpx.get(place.url("/api/v1/sources?recent=100"), timeout=300)
                taking.append(time.monotonic() - began)
            shown = ", ".join(f"{one:.2f}" for one in taking)
            processes = {"web": place.web, "worker": place.workers[0]}
            memory = {
                which: round(psutil.Process(one.pid).memory_info().rss / 2**20)
                for which, one in processes.items()
            }
            return {
                "sources": len(answer.json()),
                "seconds until the web part is ready": round(started, 1),
                "seconds until a worker has all, from its start": round(taken, 1),
                "seconds of the overview's request, once and again": shown,
                "bytes of the overview": len(answer.content),
                "memory of the web part": f"{memory['web']} MiB",
                "memory of the worker": f"{memory['worker']} MiB",
            }
        finally:
            place.close()
