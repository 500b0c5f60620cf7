"""Several workers on one PostgreSQL store: nothing lost, nothing twice, and how fast.

    python -m benchmarks.serve_workers soak                       # 200,000 rows, 20 kills
    python -m benchmarks.serve_workers soak --rows 20000 --kills 6
    python -m benchmarks.serve_workers speed --rows 20000         # 1, 2 and 3 workers
    python -m benchmarks.serve_workers many --sources 5000

PostgreSQL (with fsync) and mosquitto are started here. ``soak`` sends rows of 60 sources, a tenth
of them over MQTT, through a web process; three workers score them. Workers are killed, each
replaced by another, and the database is restarted twice meanwhile. Every stored score is then
compared with a batch, and every notification counted. Each answer is one line of JSON.
"""

from __future__ import annotations

import argparse
import contextlib
import json
import os
import random
import signal
import subprocess
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import httpx
import numpy as np
import polars as pl
import psutil
from benchmarks.serve_machine import describe_machine
from benchmarks.serve_postgres import Server, running_server
from benchmarks.serve_process import make_model, make_rows
from benchmarks.serve_producers import HttpProducer, MqttProducer
from benchmarks.serve_programs import Broker, free_port
from benchmarks.serve_receiver import Receiver
from numpy.typing import NDArray
from sqlalchemy import create_engine, text
from sqlalchemy.exc import SQLAlchemyError

from alora_ts import ALoRa
from alora_ts.serve.store.engines import store_url

PROGRAM = "from alora_ts.cli.main import run; run()"
START = np.datetime64("2026-01-01", "us").astype(np.int64)
VARIABLES = 10


class Site:
    """A web process, workers and their store."""

    def __init__(self, folder: Path, server: Server, config: str) -> None:
        self.folder = folder
        self.port = free_port()
        self.config = folder / "serve.toml"
        self.config.write_text(
            f'port = {self.port}\nfolder = "{folder}/data"\nstore = "{server.address}"\n'
            f"workers = 0\nlate_limit = 1e8\nrate_limit = 100000\nsilent_after = 0\n{config}"
        )
        self.engine = create_engine(store_url(server.address), pool_pre_ping=True)
        self.web = self._start("serve")
        self.workers: list[subprocess.Popen[bytes]] = []

    def _start(self, command: str) -> subprocess.Popen[bytes]:
        words = [sys.executable, "-c", PROGRAM, command, "--config", str(self.config)]
        with (self.folder / "log").open("ab") as log:
            return subprocess.Popen(words, stderr=log, env={**os.environ, "OMP_NUM_THREADS": "1"})

    def ready(self) -> float:
        """Wait for the web process; returns the seconds."""
        began = time.monotonic()
        while True:
            with contextlib.suppress(httpx.HTTPError):
                if httpx.get(self.url("/readyz"), timeout=60).is_success:
                    return time.monotonic() - began
            if self.web.poll() is not None:
                raise RuntimeError((self.folder / "log").read_text()[-3000:])
            time.sleep(0.05)

    def url(self, path: str) -> str:
        """An address of the web process."""
        return f"http://127.0.0.1:{self.port}{path}"

    def add(self, count: int = 1) -> None:
        """Start workers."""
        self.workers += [self._start("worker") for _ in range(count)]

    def kill(self, rng: random.Random) -> None:
        """Kill one of them and start another."""
        place = rng.randrange(len(self.workers))
        self.workers[place].send_signal(signal.SIGKILL)
        self.workers[place].wait()
        self.workers[place] = self._start("worker")

    def ask(self, query: str) -> list[Any]:
        """Ask the store."""
        with self.engine.begin() as connection:
            return list(connection.execute(text(query)))

    def until(self, done: Callable[[], bool], seconds: float) -> float:
        """Wait; returns the seconds."""
        began = time.monotonic()
        while True:
            with contextlib.suppress(SQLAlchemyError):
                if done():
                    return time.monotonic() - began
            if time.monotonic() - began > seconds:
                raise RuntimeError((self.folder / "log").read_text()[-3000:])
            time.sleep(0.2)

    def scored(self) -> int:
        """How many rows are stored and scored."""
        return int(self.ask("SELECT sum(row_count - unscored) FROM sources")[0][0] or 0)

    def spread(self) -> int:
        """How many workers hold sources."""
        query = "SELECT count(DISTINCT worker) FROM leases WHERE kind = 'source'"
        return int(self.ask(query)[0][0])

    def close(self) -> None:
        """End everything."""
        for process in (*self.workers, self.web):
            process.kill()
            process.wait()
        self.engine.dispose()


@contextlib.contextmanager
def site(config: Callable[[Path], str]) -> Iterator[tuple[Site, Server]]:
    """A site over a new store."""
    with tempfile.TemporaryDirectory() as name, running_server(fsync=True) as server:
        folder = Path(name)
        place = Site(folder, server, config(folder))
        try:
            yield place, server
        finally:
            place.close()


def of_models(names: list[str], path: Path) -> str:
    """The settings that give each source the model."""
    return "[models]\n" + "".join(f'{name} = "{path}"\n' for name in names)


def soak(args: argparse.Namespace) -> dict[str, Any]:
    """Kill and restart while rows come; then compare."""
    names = [f"s{number}" for number in range(args.sources)]
    each = args.rows // args.sources
    times = START + np.arange(each) * 1_000_000
    tables = {name: make_rows(each, VARIABLES, seed=at) for at, name in enumerate(names)}
    over_mqtt = names[: args.sources // 10]
    receiver, rng = Receiver(), random.Random(args.seed)
    models: list[ALoRa] = []

    with tempfile.TemporaryDirectory() as elsewhere:
        broker = Broker(Path(elsewhere))
        broker.start()

        def config(folder: Path) -> str:
            path = folder / "model.alora"
            models.append(make_model(path, VARIABLES, window=10, epochs=2, seed=0))
            lines = "".join(
                f'[[connect.mqtt]]\nname = "line-{name}"\nsource = "{name}"\nhost = "127.0.0.1"\n'
                f"port = {broker.port}\nsilent_after = 0\n[[connect.mqtt.topics]]\n"
                f'topic = "{name}"\npayload = "row"\n'
                for name in over_mqtt
            )
            hook = (
                "[notify]\nmax_age = 31622400\n[[notify.webhook]]\nname = 'hook'\n"
                f"url = 'http://127.0.0.1:{receiver.server_port}/'\n"
            )
            return of_models(names, path) + lines + hook

        with site(config) as (place, server):
            place.ready()
            place.add(3)
            place.until(
                lambda: (
                    place.ask("SELECT count(*) FROM leases WHERE worker IS NOT NULL")[0][0]
                    >= args.sources + len(over_mqtt)
                ),
                120,
            )
            # Until a connector has subscribed, the broker keeps nothing for it.
            time.sleep(5)
            began = time.monotonic()
            senders: list[HttpProducer | MqttProducer] = [
                MqttProducer(broker.port, name, times, tables[name]) for name in over_mqtt
            ]
            senders += [
                HttpProducer(
                    place.url(f"/api/v1/sources/{name}/rows"),
                    times,
                    tables[name],
                    batch=20,
                    pause=args.pause,
                )
                for name in names[len(over_mqtt) :]
            ]
            for sender in senders:
                sender.start()
            marks = [each * args.sources * (at + 1) / (args.kills + 1) for at in range(args.kills)]
            restarts = {args.kills // 3, 2 * args.kills // 3}
            for number, mark in enumerate(marks):
                place.until(lambda mark=mark: place.scored() >= mark, 900)  # type: ignore[misc]
                place.kill(rng)
                if number in restarts:
                    server.restart()
            place.until(lambda: place.scored() == each * args.sources, 900)
            seconds = time.monotonic() - began
            place.until(
                lambda: not place.ask("SELECT 1 FROM outbox WHERE state = 'pending' LIMIT 1"), 300
            )
            wrong, worst = compare(place, models[0], times, tables)
            rows = place.ask("SELECT count(*) FROM rows")[0][0]
            told = Counter(
                (one["incident"]["id"], one["event"], one["id"])
                for one in receiver.told
                if one["event"] == "opened"
            )
            events = Counter(key[:2] for key in told)
            incidents = place.ask("SELECT count(*) FROM incidents WHERE state <> 'withdrawn'")
    receiver.shutdown()
    receiver.server_close()
    return {
        "rows": rows,
        "sources": args.sources,
        "over_mqtt": len(over_mqtt),
        "kills": args.kills,
        "database_restarts": len(restarts),
        "seconds": round(seconds, 1),
        "sources_with_wrong_times": wrong,
        "largest_relative_difference_to_batch": worst,
        "incidents": incidents[0][0],
        "incidents_told": len(events),
        "opened_by_two_events": sum(count > 1 for count in events.values()),
        "messages_repeated_with_the_same_id": sum(told.values()) - len(told),
    }


def compare(
    place: Site,
    model: ALoRa,
    times: NDArray[np.int64],
    tables: dict[str, NDArray[np.float64]],
) -> tuple[int, float]:
    """How many sources lack a row or have one too many, and how far scores are from a batch's."""
    worst, wrong = 0.0, 0
    for name, table in tables.items():
        found = place.ask(
            "SELECT r.time_us, r.score, r.warm_up FROM readings r JOIN sources s "
            f"ON s.id = r.source_id WHERE s.name = '{name}' ORDER BY 1"
        )
        columns = {f"x{at}": table[:, at] for at in range(VARIABLES)}
        frame = pl.DataFrame({"time": times.astype("datetime64[us]"), **columns})
        batch = np.asarray(model.score(frame, progress=False))
        if [row[0] for row in found] != times.tolist():
            wrong += 1
            continue
        warm = np.array([row[2] for row in found])
        apart = np.abs(np.array([row[1] for row in found]) - batch) / np.maximum(batch, 1e-6)
        worst = max(worst, float(apart[~warm].max()))
    return wrong, worst


def speed(args: argparse.Namespace) -> list[dict[str, Any]]:
    """Rows a second that are sent, stored and scored with 1, 2 and 3 workers."""
    answers = []
    names = [f"s{number}" for number in range(args.sources)]
    each = args.rows // args.sources
    times = START + np.arange(each) * 1_000_000
    for count in (1, 2, 3):

        def config(folder: Path) -> str:
            path = folder / "model.alora"
            make_model(path, args.variables, window=10, epochs=1, seed=0)
            return of_models(names, path)

        with site(config) as (place, _):
            place.ready()
            # All must be at work before the first row, or the first to start does it alone.
            place.add(count)
            place.until(lambda count=count: place.spread() == count, 180)  # type: ignore[misc]
            wal = place.ask("SELECT pg_current_wal_lsn() - '0/0'")[0][0]
            empty = place.ask("SELECT pg_database_size(current_database())")[0][0]
            senders = [
                HttpProducer(
                    place.url(f"/api/v1/sources/{name}/rows"),
                    times,
                    make_rows(each, args.variables, seed=at),
                    batch=100,
                )
                for at, name in enumerate(names)
            ]
            began = time.monotonic()
            for sender in senders:
                sender.start()
            for sender in senders:
                sender.join()
            stored = time.monotonic() - began
            place.until(lambda: place.scored() == each * args.sources, 900)
            seconds = time.monotonic() - began
            wal = place.ask("SELECT pg_current_wal_lsn() - '0/0'")[0][0] - wal
            memory = [psutil.Process(one.pid).memory_info().rss for one in place.workers]
            size = place.ask("SELECT pg_database_size(current_database())")[0][0]
            answers.append(
                {
                    "workers": count,
                    "variables": args.variables,
                    "rows_stored_a_second": round(args.rows / stored),
                    "rows_scored_a_second": round(args.rows / seconds),
                    "bytes_of_log_a_row": round(float(wal) / args.rows),
                    "bytes_on_disk_a_row": round((size - empty) / args.rows),
                    "memory_mib": [round(one / 2**20) for one in memory],
                }
            )
    return answers


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
            taken = place.until(
                lambda: (
                    place.ask(
                        "SELECT count(*) FROM leases WHERE worker IS NOT NULL AND kind = 'source'"
                    )[0][0]
                    == args.sources
                ),
                300,
            )
            began = time.monotonic()
            answer = httpx.get(place.url("/api/v1/sources?recent=100"), timeout=300)
            overview = time.monotonic() - began
            processes = {"web": place.web, "worker": place.workers[0]}
            memory = {
                which: round(psutil.Process(one.pid).memory_info().rss / 2**20)
                for which, one in processes.items()
            }
            return {
                "sources": len(answer.json()),
                "seconds_to_start": round(started, 1),
                "seconds_until_a_worker_has_all": round(taken, 1),
                "seconds_of_overview": round(overview, 2),
                "bytes_of_overview": len(answer.content),
                "memory_mib": memory,
            }
        finally:
            place.close()


def main() -> None:
    """Run one of them."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("what", choices=["soak", "speed", "many"])
    parser.add_argument("--rows", type=int, default=200_000)
    parser.add_argument("--sources", type=int, default=None)
    parser.add_argument("--kills", type=int, default=20)
    parser.add_argument("--pause", type=float, default=0.0, help="Seconds between HTTP requests.")
    parser.add_argument("--variables", type=int, default=19)
    parser.add_argument("--seed", type=int, default=0)
    args = parser.parse_args()
    if args.sources is None:
        args.sources = 5000 if args.what == "many" else 60
    work = {"soak": soak, "speed": speed, "many": many}[args.what]
    print(json.dumps({"machine": describe_machine(), args.what: work(args)}))


if __name__ == "__main__":
    main()
