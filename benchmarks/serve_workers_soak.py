"""Workers killed and the database restarted while rows come by three ways."""

from __future__ import annotations

import argparse
import contextlib
import json
import random
import tempfile
import threading
import time
from collections import Counter
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import torch
from benchmarks.serve_kafka_cluster import MockCluster
from benchmarks.serve_process import make_model, make_rows
from benchmarks.serve_producers import HttpProducer, MqttProducer, as_row
from benchmarks.serve_programs import Begin, Broker, begin
from benchmarks.serve_receiver import Receiver
from benchmarks.serve_workers_site import START, VARIABLES, Site, of_models, site
from numpy.typing import NDArray
from sqlalchemy.exc import SQLAlchemyError

from alora_ts.estimator import load

__all__ = ["soak"]

NOTHING = 1e-6  # relative
TOPIC, GROUP = "rows", "alora-ts-bus"
AHEAD = 20_000  # rows; the cluster keeps about 5 MB of each of four partitions
BUS = """
[[connect.kafka]]
name = "bus"
source = "{{key}}"
brokers = "{brokers}"
silent_after = 0
[[connect.kafka.topics]]
topic = "rows"
payload = "row"
[connect.kafka.options]
"session.timeout.ms" = 6000  # so long a killed member keeps its partitions
"""
LINE = """
[[connect.mqtt]]
name = "line-{name}"
source = "{name}"
host = "127.0.0.1"
port = {port}
silent_after = 0
[[connect.mqtt.topics]]
topic = "{name}"
payload = "row"
"""
HOOK = """
[notify]
max_age = 31622400
[[notify.webhook]]
name = "hook"
url = "http://127.0.0.1:{port}/"
"""


class KafkaSender(threading.Thread):
    """Sends the rows of some sources in turn, never too far ahead of the store."""

    def __init__(
        self,
        cluster: MockCluster,
        place: Site,
        times: NDArray[np.int64],
        tables: dict[str, NDArray[np.float64]],
    ) -> None:
        super().__init__(name="kafka-sender", daemon=True)
        self._cluster = cluster
        self._place = place
        self._times = times
        self._lines = {name: table.tolist() for name, table in tables.items()}
        self._stored = 0

    def run(self) -> None:
        """Send everything."""
        for start in range(0, len(self._times), 100):
            while start * len(self._lines) - self._count() > AHEAD:
                time.sleep(0.5)
            for at, moment in enumerate(self._times[start : start + 100].tolist(), start):
                self._cluster.send_soon(
                    TOPIC,
                    (
                        (name, json.dumps(as_row(moment, rows[at])))
                        for name, rows in self._lines.items()
                    ),
                )
            self._cluster.flush()

    def _count(self) -> int:
        names = ", ".join(f"'{name}'" for name in self._lines)
        query = f"SELECT sum(row_count) FROM sources WHERE name IN ({names})"
        with contextlib.suppress(SQLAlchemyError):  # it may just be restarted
            self._stored = int(self._place.ask(query)[0][0] or 0)
        return self._stored


def soak(args: argparse.Namespace, *, begin: Begin = begin) -> dict[str, Any]:
    """Kill and restart while rows come; then compare."""
    names = [f"s{number}" for number in range(args.sources)]
    each = args.rows // args.sources
    times = START + np.arange(each) * 1_000_000
    tables = {name: make_rows(each, VARIABLES, seed=at) for at, name in enumerate(names)}
    by_mqtt, by_kafka, by_http = names[::3], names[1::3], names[2::3]
    receiver, rng, cluster = Receiver(), random.Random(args.seed), MockCluster()
    cluster.send(TOPIC, [("nobody", "{}")])
    with tempfile.TemporaryDirectory() as elsewhere, Broker(Path(elsewhere)) as broker:

        def config(folder: Path) -> str:
            path = folder / "model.alora"
            make_model(path, VARIABLES, window=10, epochs=2, seed=0)
            lines = "".join(LINE.format(name=name, port=broker.port) for name in by_mqtt)
            bus = BUS.format(brokers=cluster.address)
            return of_models(names, path) + lines + bus + HOOK.format(port=receiver.server_port)

        with site(config, begin=begin) as (place, server):
            place.ready()
            place.add(3)
            place.until(
                lambda: (
                    place.held() == len(names)
                    and place.held("connector") == len(by_mqtt)
                    and place.spread() == 3
                ),
                120,
            )
            # Until a connector has subscribed, the broker keeps nothing for it.
            time.sleep(5)
            began = time.monotonic()
            senders: list[threading.Thread] = [
                MqttProducer(broker.port, name, times, tables[name]) for name in by_mqtt
            ]
            senders += [
                HttpProducer(
                    place.url(f"/api/v1/sources/{name}/rows"),
                    times,
                    tables[name],
                    batch=20,
                    pause=args.pause,
                )
                for name in by_http
            ]
            senders.append(
                KafkaSender(cluster, place, times, {name: tables[name] for name in by_kafka})
            )
            for sender in senders:
                sender.start()
            restarts = {args.kills // 3, 2 * args.kills // 3}
            for number in range(args.kills):
                mark = each * args.sources * (number + 1) / (args.kills + 1)
                place.until(lambda mark=mark: place.scored() >= mark, 900)  # type: ignore[misc]
                place.kill(rng)
                passed = time.monotonic() - began
                print(f"  kill {number + 1}/{args.kills} after {passed:.0f} s", flush=True)
                if number in restarts:
                    server.restart()
            place.until(lambda: place.all_scored(each * args.sources), 900)
            seconds = time.monotonic() - began
            place.until(
                lambda: not place.ask("SELECT 1 FROM outbox WHERE state = 'pending' LIMIT 1"), 300
            )
            compared = compare(place, Batch(place.folder / "model.alora"), times, tables)
            stored = place.ask("SELECT count(*) FROM rows")[0][0]
            incidents = place.ask("SELECT id FROM incidents WHERE state <> 'withdrawn'")
            behind = cluster.behind(GROUP, [TOPIC])
    receiver.shutdown()
    receiver.server_close()
    return {
        "rows sent": each * args.sources,
        "rows stored": stored,
        "sources by MQTT, Kafka, HTTP": f"{len(by_mqtt)}, {len(by_kafka)}, {len(by_http)}",
        "workers": 3,
        "workers killed": args.kills,
        "database restarts": len(restarts),
        "seconds from the first row until all are scored": round(seconds, 1),
        **compared,
        "Kafka messages not committed at the end": behind,
        **told(receiver.told, [row[0] for row in incidents]),
    }


def told(messages: Sequence[dict[str, Any]], incidents: Sequence[str]) -> dict[str, int]:
    """How often people were told of incidents."""
    opened = Counter(
        (one["incident"]["id"], one["id"]) for one in messages if one["event"] == "opened"
    )
    apiece = Counter(incident for incident, _ in opened)
    return {
        "incidents": len(incidents),
        "incidents that nobody was told of": len(set(incidents) - set(apiece)),
        "incidents told by two messages": sum(count > 1 for count in apiece.values()),
        "messages sent again with the same id": sum(opened.values()) - len(opened),
    }


class Batch:
    """The model of a file, scoring all rows of a source at once.

    It is loaded and run with one thread of torch, as the service does: with another number single
    precision rounds differently, and where a singular value lies at the level of the rank, a score
    jumps. How often is counted too, by a batch with as many threads as torch likes.
    """

    def __init__(self, path: Path) -> None:
        self._path = path

    def score(
        self, times: NDArray[np.int64], table: NDArray[np.float64], threads: int
    ) -> NDArray[np.float64]:
        """The score of every row."""
        columns = {f"x{at}": table[:, at] for at in range(VARIABLES)}
        frame = pl.DataFrame({"time": times.astype("datetime64[us]"), **columns})
        before = torch.get_num_threads()
        torch.set_num_threads(threads)
        try:
            return np.asarray(load(self._path).score(frame, progress=False), dtype=np.float64)
        finally:
            torch.set_num_threads(before)


def compare(
    place: Site,
    batch: Batch,
    times: NDArray[np.int64],
    tables: dict[str, NDArray[np.float64]],
) -> dict[str, Any]:
    """How many sources lack a row or have one too many, and how far scores are from a batch's."""
    worst, wrong, jumps, threads = 0.0, 0, 0, max(2, torch.get_num_threads())
    for name, table in tables.items():
        found = place.ask(
            "SELECT r.time_us, r.score, r.warm_up FROM readings r JOIN sources s "
            f"ON s.id = r.source_id WHERE s.name = '{name}' ORDER BY 1"
        )
        if [row[0] for row in found] != times.tolist():
            wrong += 1
            continue
        expected = batch.score(times, table, 1)
        ready = ~np.array([row[2] for row in found])
        worst = max(worst, float(apart(np.array([row[1] for row in found]), expected)[ready].max()))
        other = batch.score(times, table, threads)
        jumps += int((apart(other, expected)[ready] > NOTHING).sum())
    return {
        "sources with a row or score missing or too many": wrong,
        "largest relative difference of a score to a batch with one thread": f"{worst:.1e}",
        f"scores of a batch with {threads} threads that are {NOTHING:g} from one with 1": jumps,
    }


def apart(one: NDArray[np.float64], other: NDArray[np.float64]) -> NDArray[np.float64]:
    """Relative differences."""
    return np.abs(one - other) / np.maximum(np.abs(other), 1e-6)
