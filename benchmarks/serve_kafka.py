"""Rows of many sources through Kafka while the service is killed again and again.

    python -m benchmarks.serve_kafka --rows 200000 --sources 20 --kills 20

One topic whose keys are the sources, read by a consumer group of one service, on librdkafka's mock
cluster in this process. The cluster keeps about 5 MB of a partition, so the sender waits for the
store, and at every kill and at the end it is asserted that nothing aged
out before it was committed. The service is killed (SIGKILL) when shares of the rows drawn from the
seed are stored. Afterwards every stored reading is fetched through the HTTP interface and compared
with the rows sent and with a batch run.
"""

from __future__ import annotations

import argparse
import json
import random
import tempfile
import threading
import time
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from benchmarks.serve_kafka_cluster import MockCluster
from benchmarks.serve_machine import describe_machine
from benchmarks.serve_nothing_lost import (
    VARIABLES,
    WINDOW,
    Outcome,
    compare,
    outcome_table,
    stored_rows,
    wait_and_fetch,
)
from benchmarks.serve_process import ServiceProcess, make_model, make_rows
from benchmarks.serve_producers import as_row
from benchmarks.serve_programs import Begin, begin

from alora_ts import Architecture
from alora_ts.files import write_atomically

TOPIC, GROUP = "rows", "alora-ts-bus"
AHEAD = 40_000  # rows; with four partitions about 1.5 MB each
SETTINGS = """
late_limit = 1e8     # the rows' times run faster than the clock
rate_limit = 100000
[models]
{models}
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


@dataclass(frozen=True)
class Proof:
    """What is there of all sources, and what was done to them."""

    outcomes: tuple[Outcome, ...]
    kills: int
    aged_out: int
    uncommitted: int
    seconds: float

    @property
    def holds(self) -> bool:
        """Whether everything is there once, scored as a batch would, and committed."""
        good = all(outcome.holds for outcome in self.outcomes)
        return good and not self.aged_out and not self.uncommitted


def prove(
    folder: Path, *, rows: int, sources: int, kills: int, seed: int = 0, begin: Begin = begin
) -> Proof:
    """Send rows, kill, and look what is there."""
    began = time.monotonic()
    path = folder / "plant.alora"
    model = make_model(
        path,
        VARIABLES,
        window=WINDOW,
        architecture=Architecture(layers=1, heads=2),
        epochs=1,
        epoch_windows=128,
    )
    each = rows // sources
    names = [f"line-{at:02d}" for at in range(sources)]
    first = (int(time.time()) - each - 3600) * 1_000_000
    times = first + np.arange(each, dtype=np.int64) * 1_000_000
    values = {name: make_rows(each, VARIABLES, seed=at) for at, name in enumerate(names)}
    cluster = MockCluster()
    settings = SETTINGS.format(
        brokers=cluster.address, models="\n".join(f'{name} = "{path}"' for name in names)
    )
    counted = 0
    # Near enough that every kill comes while rows are on their way.
    ahead = min(AHEAD, rows // (kills + 1))

    def send() -> None:
        """Send the rows of all sources in turn, never too far ahead of the store."""
        lines = {name: table.tolist() for name, table in values.items()}
        for start in range(0, each, 100):
            while start * sources - counted > ahead:
                time.sleep(0.1)
            part = slice(start, start + 100)
            for at, moment in enumerate(times[part].tolist(), start):
                cluster.send_soon(
                    TOPIC, ((name, json.dumps(as_row(moment, lines[name][at]))) for name in names)
                )
            cluster.flush()

    sender = threading.Thread(target=send, name="sender", daemon=True)
    sender.start()
    rng, aged_out = random.Random(seed), 0
    shares = [(at + rng.uniform(0.2, 0.8)) / kills * 0.95 for at in range(kills)]
    with ServiceProcess(folder / "service", settings, begin=begin) as service:
        for number, share in enumerate([*shares, 1.0], start=1):
            while (counted := stored_rows(service)) < share * each * sources:
                time.sleep(0.1)
            aged_out += cluster.lost(GROUP, [TOPIC])
            if number <= kills:
                print(f"  {number}/{kills} kill when {counted:,} rows are stored", flush=True)
                service.kill()
                service.start()
        sender.join()
        stored = wait_and_fetch(service, dict.fromkeys(names, each))
        uncommitted = cluster.behind(GROUP, [TOPIC])
    outcomes = tuple(compare(name, model, times, values[name], stored[name]) for name in names)
    return Proof(outcomes, kills, aged_out, uncommitted, time.monotonic() - began)


def table(proof: Proof) -> str:
    """The result as Markdown."""
    stored = sum(outcome.stored for outcome in proof.outcomes)
    lines = [
        *outcome_table(proof.outcomes),
        "",
        f"{stored:,} rows of {len(proof.outcomes)} sources, {proof.kills} kills by SIGKILL, "
        f"{proof.aged_out} messages aged out, {proof.uncommitted} not committed at the end, "
        f"{proof.seconds:.0f} s in all. Score differences are relative to the batch's score. The "
        "cluster is librdkafka's mock, not a full Kafka.",
    ]
    return "\n".join(lines)


def main() -> None:
    """Run the test and print or write its table."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--rows", type=int, default=200_000)
    parser.add_argument("--sources", type=int, default=20)
    parser.add_argument("--kills", type=int, default=20)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--out", type=Path)
    given = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="alora-kafka-") as folder:
        proof = prove(
            Path(folder),
            rows=given.rows,
            sources=given.sources,
            kills=given.kills,
            seed=given.seed,
        )
    text = table(proof)
    print(text)
    if given.out is not None:
        command = (
            f"python -m benchmarks.serve_kafka --rows {given.rows} --sources {given.sources} "
            f"--kills {given.kills} --seed {given.seed}"
        )
        with write_atomically(given.out) as part:
            part.write_text(
                f"# Nothing lost through Kafka\n\n`{command}`\n\n{describe_machine()}\n\n{text}\n",
                encoding="utf-8",
            )
    if not proof.holds:
        raise SystemExit("rows were lost, repeated, changed or scored differently")


if __name__ == "__main__":
    main()
