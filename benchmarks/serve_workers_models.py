"""What sources with a model each take of a worker's memory, and whether a limit on them holds."""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import Any

import numpy as np
import psutil
from benchmarks.serve_process import make_model, make_rows
from benchmarks.serve_producers import HttpProducer
from benchmarks.serve_workers_site import START, site

__all__ = ["models"]

_ROWS = 40


def models(args: argparse.Namespace) -> list[dict[str, Any]]:
    """A worker's memory with a tenth, a half and all of its sources kept ready."""
    return [_measure(args, args.sources // part) for part in (10, 2, 1)]


def _measure(args: argparse.Namespace, limit: int) -> dict[str, Any]:
    names = [f"s{number}" for number in range(args.sources)]
    times = START + np.arange(_ROWS) * 1_000_000

    def config(folder: Path) -> str:
        for at, name in enumerate(names):
            make_model(folder / f"{name}.alora", args.variables, window=10, epochs=1, seed=at)
        files = "".join(f'{name} = "{folder}/{name}.alora"\n' for name in names)
        return f"sources_in_memory = {limit}\n[models]\n{files}"

    with site(config) as (place, _):
        place.ready()
        place.add(1)
        place.until(lambda: place.held() == len(names), 180)
        worker = psutil.Process(place.workers[0].pid)
        before = worker.memory_info().rss
        most = before
        # Twice around, so that every source that had to go comes back.
        for part in (slice(0, _ROWS // 2), slice(_ROWS // 2, _ROWS)):
            for at, name in enumerate(names):
                sender = HttpProducer(
                    place.url(f"/api/v1/sources/{name}/rows"),
                    times[part],
                    make_rows(_ROWS, args.variables, seed=at)[part],
                    batch=_ROWS,
                )
                sender.run()
                most = max(most, worker.memory_info().rss)
        place.until(lambda: place.all_scored(_ROWS * len(names)), 600)
        most = max(most, worker.memory_info().rss)
        size = (place.folder / "s0.alora").stat().st_size
    return {
        "sources, each with a model of its own": len(names),
        "`sources_in_memory`": limit,
        "bytes of a model's file": size,
        "memory of the worker before the first row": f"{before / 2**20:.0f} MiB",
        "most memory of the worker": f"{most / 2**20:.0f} MiB",
    }
