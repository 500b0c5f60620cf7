"""Rows a second with one, two and three workers, and who takes the processor."""

from __future__ import annotations

import argparse
import os
import time
from pathlib import Path
from typing import Any

import numpy as np
import psutil
from benchmarks.serve_postgres import Server
from benchmarks.serve_process import make_model, make_rows
from benchmarks.serve_producers import HttpProducer
from benchmarks.serve_workers_site import START, Site, of_models, site

__all__ = ["busy", "speed"]

_WATCHED = 15.0


def speed(args: argparse.Namespace) -> list[dict[str, Any]]:
    """Rows a second that are sent, stored and scored."""
    return [_measure(args, count) for count in (1, 2, 3)]


def _measure(args: argparse.Namespace, count: int) -> dict[str, Any]:
    names = [f"s{number}" for number in range(args.sources)]
    each = args.rows // args.sources
    rows = each * args.sources
    times = START + np.arange(each) * 1_000_000

    def config(folder: Path) -> str:
        make_model(folder / "model.alora", args.variables, window=10, epochs=1, seed=0)
        return of_models(names, folder / "model.alora")

    with site(config) as (place, server):
        place.ready()
        # All must be at work before the first row, or the first to start does it alone.
        place.add(count)
        place.until(lambda: place.held() == len(names) and place.spread() == count, 180)
        time.sleep(5)
        idle = _idle(place, server)
        size = "SELECT pg_current_wal_lsn() - '0/0', pg_database_size(current_database())"
        wal, disk = place.ask(size)[0]
        url = place.url
        senders = [
            HttpProducer(
                url(f"/api/v1/sources/{name}/rows"),
                times,
                make_rows(each, args.variables, seed=at),
                batch=args.batch,
                pause=args.pause,
            )
            for at, name in enumerate(names)
        ]
        before, wire = busy(place, server), psutil.net_io_counters(pernic=True)["lo"].bytes_sent
        began = time.monotonic()
        for sender in senders:
            sender.start()
        for sender in senders:
            sender.join(1200)
        stored = time.monotonic() - began
        place.until(lambda: place.all_scored(rows), 900)
        seconds = time.monotonic() - began
        used = {
            name: max(0.0, spent - before[name] - idle[name] * (time.monotonic() - began))
            for name, spent in busy(place, server).items()
        }
        wire = psutil.net_io_counters(pernic=True)["lo"].bytes_sent - wire
        wal_after, disk_after = place.ask(size)[0]
        memory = [psutil.Process(one.pid).memory_info().rss >> 20 for one in place.workers]
    total = sum(used.values())
    return {
        "workers": count,
        "rows stored a second": round(rows / stored),
        "rows scored a second": round(rows / seconds),
        **{f"processor a row, {name}": f"{s / rows * 1e6:.0f} us" for name, s in used.items()},
        "processor a row, all": f"{total / rows * 1e6:.0f} us",
        "rows a second if two cores did nothing else": round(2 * rows / total),
        **{
            f"core taken while no row comes, {name}": f"{idle[name]:.1%}"
            for name in ("web part", "workers", "PostgreSQL")
        },
        "cores busy with rows": round(total / seconds, 2),
        "log of PostgreSQL a row": f"{float(wal_after - wal) / rows:.0f} B",
        "disk a row": f"{(disk_after - disk) / rows:.0f} B",
        "loopback traffic a row, all parts": f"{wire / rows:.0f} B",
        "memory of each worker": ", ".join(f"{one} MiB" for one in memory),
    }


def _idle(place: Site, server: Server) -> dict[str, float]:
    """The part of a core that each takes while no row comes."""
    before, began = busy(place, server), time.monotonic()
    time.sleep(_WATCHED)
    passed = time.monotonic() - began
    return {name: (spent - before[name]) / passed for name, spent in busy(place, server).items()}


def busy(place: Site, server: Server) -> dict[str, float]:
    """Seconds of processor that each part has used so far."""
    postmaster = int((server.folder / "db" / "postmaster.pid").read_text().split()[0])
    parent = psutil.Process(postmaster)
    # Children that have ended count with their parent.
    times = parent.cpu_times()
    database = sum(times[:4]) + sum(_spent(one.pid) for one in parent.children(recursive=True))
    return {
        "senders": _spent(os.getpid()),
        "web part": _spent(place.web.pid),
        "workers": sum(_spent(one.pid) for one in place.workers),
        "PostgreSQL": database,
    }


def _spent(process: int) -> float:
    try:
        return sum(psutil.Process(process).cpu_times()[:2])
    except psutil.NoSuchProcess:
        return 0.0
