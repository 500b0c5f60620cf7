"""A worker that stands still for a minute at work and then goes on."""

from __future__ import annotations

import argparse
import os
import signal
import time
from pathlib import Path
from typing import Any

import numpy as np
from benchmarks.serve_process import make_model, make_rows
from benchmarks.serve_producers import HttpProducer
from benchmarks.serve_workers_site import START, VARIABLES, Site, of_models, site

__all__ = ["pause"]

SECONDS = 60.0
WATCHED = 30.0  # seconds after it goes on
STAMPS = {
    "readings": "SELECT source_id, time_us, xmin::text FROM readings ORDER BY 1, 2",
    "incidents": "SELECT id, xmin::text FROM incidents ORDER BY 1",
    "messages": "SELECT id, xmin::text FROM outbox ORDER BY 1",
    "progress": "SELECT id, xmin::text FROM sources ORDER BY 1",
}


def pause(_: argparse.Namespace) -> list[dict[str, Any]]:
    """Stop one of two workers under load, three times, and see what it writes then."""
    names = [f"s{number}" for number in range(12)]
    each = 3000
    tables = {name: make_rows(3 * each, VARIABLES, seed=at) for at, name in enumerate(names)}
    times = START + np.arange(3 * each) * 1_000_000

    def config(folder: Path) -> str:
        make_model(folder / "model.alora", VARIABLES, window=10, epochs=1, seed=0)
        return of_models(names, folder / "model.alora")

    answers = []
    with site(config) as (place, _server):
        place.ready()
        place.add(2)
        place.until(lambda: place.held() == len(names) and place.spread() == 2, 180)
        for number in range(3):
            part = slice(number * each, (number + 1) * each)
            senders = [
                HttpProducer(
                    place.url(f"/api/v1/sources/{name}/rows"), times[part], table[part], batch=50
                )
                for name, table in tables.items()
            ]
            for sender in senders:
                sender.start()
            begun = number * each * len(names)
            place.until(lambda begun=begun: place.scored() > begun + 2000, 120)  # type: ignore[misc]
            answers.append(_pause(place, number % 2, (number + 1) * each * len(names)))
            for sender in senders:
                sender.join(120)
            answers[-1] = {"pause": number + 1, **answers[-1]}
    return answers


def _pause(place: Site, which: int, rows: int) -> dict[str, Any]:
    worker = place.workers[which]
    name = f"{os.uname().nodename}:{worker.pid}"
    worker.send_signal(signal.SIGSTOP)
    began = time.monotonic()
    scored = place.scored()
    moved = place.until(lambda: place.spread() == 1 and place.held() == 12, 60)
    place.until(lambda: place.all_scored(rows), 120)
    all_scored = time.monotonic() - began
    time.sleep(max(0.0, SECONDS - all_scored))
    before = {what: place.ask(query) for what, query in STAMPS.items()}
    ids = place.ask(f"SELECT id FROM workers WHERE name = '{name}'")
    worker.send_signal(signal.SIGCONT)
    back = place.until(
        lambda: place.ask(f"SELECT id FROM workers WHERE name = '{name}'") != ids, 60
    )
    place.until(lambda: place.spread() == 2, 60)
    time.sleep(WATCHED)
    after = {what: place.ask(query) for what, query in STAMPS.items()}
    changed = {what: len(set(after[what]) ^ set(before[what])) for what in STAMPS}
    return {
        "rows not scored when it was stopped": rows - scored,
        "seconds until another had its sources": round(moved, 1),
        "seconds until all rows were scored": round(all_scored, 1),
        "seconds it stood still": round(max(SECONDS, all_scored)),
        "seconds until it was back under another id": round(back, 1),
        **{f"{what} written or changed when it went on": n for what, n in changed.items()},
    }
