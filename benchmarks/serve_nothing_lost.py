"""Shows that no row is lost or stored twice while the service is killed and the broker restarted.

    python -m benchmarks.serve_nothing_lost                    # 200,000 rows, 20 kills, 2 restarts
    python -m benchmarks.serve_nothing_lost --rows 4000 --kills 2 --restarts 1
    python -m benchmarks.serve_nothing_lost --out results/serve-nothing-lost.md

Half of the rows go to one source over MQTT (mosquitto with persistence, QoS 1), half to another
over HTTP. Both producers send a row again until it is confirmed. The service is ended by SIGKILL
when shares of the rows drawn from the seed are stored, spread over the whole transfer. Afterwards
every stored reading is fetched through the HTTP interface and compared with the rows sent and with
a batch run.
"""

from __future__ import annotations

import argparse
import random
import tempfile
import time
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

import httpx
import numpy as np
from benchmarks.serve_machine import describe_machine
from benchmarks.serve_process import ServiceProcess, make_model, make_rows
from benchmarks.serve_producers import HttpProducer, MqttProducer
from benchmarks.serve_programs import Begin, Broker, begin
from numpy.typing import NDArray

from alora_ts import ALoRa, Architecture
from alora_ts.files import write_atomically

VARIABLES = 4
WINDOW = 6
SETTINGS = """
late_limit = 1e8     # the rows' times run faster than the clock
rate_limit = 100000
[models]
http = "{model}"
mqtt = "{model}"
[[connect.mqtt]]
name = "line"
source = "mqtt"
host = "127.0.0.1"
port = {port}
silent_after = 0
[[connect.mqtt.topics]]
topic = "rows"
payload = "row"
"""


@dataclass(frozen=True)
class Stored:
    """What a source holds: times in microseconds, values, scores, and which rows were warm-up."""

    times: NDArray[np.int64]
    values: NDArray[np.float64]
    scores: NDArray[np.float64]
    warm_up: NDArray[np.bool_]


@dataclass(frozen=True)
class Outcome:
    """The result in numbers, for one source."""

    source: str
    sent: int
    stored: int
    missing: int
    repeated: int
    wrong_values: int
    compared: int
    worst_score: float
    """The largest difference to the batch's score, relative to it, of the rows compared."""

    @property
    def holds(self) -> bool:
        """Whether everything is there once and scored as a batch would."""
        wrong = self.missing + self.repeated + self.wrong_values
        # Only the rows before the first full window have another score than a batch gives.
        enough = self.compared == self.sent - WINDOW + 1
        return self.stored == self.sent and not wrong and enough and self.worst_score < 1e-3


@dataclass(frozen=True)
class Proof:
    """Both sources, and what was done to them."""

    outcomes: tuple[Outcome, ...]
    kills: int
    restarts: int
    http_attempts: int
    refused: tuple[str, ...]
    seconds: float


def prove(
    folder: Path, *, rows: int, kills: int, restarts: int, seed: int = 0, begin: Begin = begin
) -> Proof:
    """Send rows, disturb, and look what is there."""
    began = time.monotonic()
    model_path = folder / "plant.alora"
    model = make_model(
        model_path,
        VARIABLES,
        window=WINDOW,
        architecture=Architecture(layers=1, heads=2),
        epochs=1,
        epoch_windows=128,
    )
    half = rows // 2
    first = (int(time.time()) - half - 3600) * 1_000_000
    times = first + np.arange(half, dtype=np.int64) * 1_000_000
    values = {name: make_rows(half, VARIABLES, seed=at) for at, name in enumerate(("http", "mqtt"))}
    with Broker(folder / "broker") as broker:
        settings = SETTINGS.format(model=model_path, port=broker.port)
        with ServiceProcess(folder / "service", settings, begin=begin) as service:
            wait_for_connectors(service)
            url = f"{service.url}/api/v1/sources/http/rows"
            http = HttpProducer(url, times, values["http"], batch=200)
            mqtt = MqttProducer(broker.port, "rows", times, values["mqtt"])
            http.start()
            mqtt.start()
            _disturb(service, broker, total=2 * half, kills=kills, restarts=restarts, seed=seed)
            http.join()
            mqtt.join()
            stored = wait_and_fetch(service, dict.fromkeys(values, half))
    outcomes = tuple(
        compare(name, model, times, values[name], stored[name]) for name in ("http", "mqtt")
    )
    seconds = time.monotonic() - began
    return Proof(outcomes, kills, restarts, http.attempts, tuple(http.refused), seconds)


def _disturb(
    service: ServiceProcess, broker: Broker, *, total: int, kills: int, restarts: int, seed: int
) -> None:
    """Kill and restart, each when a chosen share of all rows is stored."""
    rng = random.Random(seed)
    plan = [((at + rng.uniform(0.2, 0.8)) / kills * 0.95, "kill") for at in range(kills)]
    plan += [((at + 0.6) / restarts * 0.9, "restart") for at in range(restarts)]
    for number, (share, deed) in enumerate(sorted(plan), start=1):
        while (stored := stored_rows(service)) < share * total:
            time.sleep(0.05)
        print(f"  {number}/{len(plan)} {deed} when {stored:,} rows are stored", flush=True)
        if deed == "kill":
            service.kill()
            service.start()
        else:
            broker.stop()
            broker.start()


def stored_rows(service: ServiceProcess) -> int:
    """How many rows of all sources are stored."""
    sources = httpx.get(f"{service.url}/api/v1/sources", timeout=60).json()
    return sum(int(source["rows"]) for source in sources)


def wait_for_connectors(service: ServiceProcess) -> None:
    """The broker keeps messages only for those it has seen before."""
    while True:
        health = httpx.get(f"{service.url}/api/v1/health", timeout=30).json()
        if all(each["state"] == "connected" for each in health["connectors"]):
            return
        time.sleep(0.05)


def wait_and_fetch(service: ServiceProcess, counts: dict[str, int]) -> dict[str, Stored]:
    """Wait until nothing more is stored or scored, then read every reading of these sources back.

    A row that is stored twice comes late: after all are there, two seconds must pass without one.
    """
    address = f"{service.url}/api/v1"
    with httpx.Client(timeout=120) as client:
        quiet, before = time.monotonic(), dict[str, int]()
        complete = False
        while time.monotonic() - quiet < (2.0 if complete else 120.0):
            found = {one["name"]: one["rows"] for one in client.get(f"{address}/sources").json()}
            if found != before:
                quiet, before = time.monotonic(), found
            complete = all(before[name] >= count for name, count in counts.items())
            time.sleep(0.1)
        # Scoring, also again where rows came late, may take long after the rows are stored.
        began = time.monotonic()
        while client.get(f"{address}/health").json()["queues"]["sources_to_score"]:
            time.sleep(0.1)
        rows = sum(before[name] for name in counts)
        print(f"  {rows:,} rows stored, scored {time.monotonic() - began:.0f} s later")
        return {name: _fetch(client, f"{address}/sources/{name}/readings") for name in counts}


def _fetch(client: httpx.Client, address: str) -> Stored:
    items, cursor = list[dict[str, object]](), None
    while True:
        page = client.get(
            address, params={"limit": "10000"} | ({"cursor": cursor} if cursor else {})
        ).json()
        items += [
            {key: item[key] for key in ("time", "score", "warm_up", "values")}
            for item in page["items"]
        ]
        cursor = page["next"]
        if cursor is None:
            break
    stamps = np.array([str(item["time"]).rstrip("Z") for item in items], dtype="datetime64[us]")
    names = [f"x{at}" for at in range(VARIABLES)]
    cells = [[item["values"][name] for name in names] for item in items]  # type: ignore[index]
    return Stored(
        stamps.astype(np.int64),
        np.array(cells, dtype=np.float64).reshape(-1, VARIABLES),
        np.array([item["score"] for item in items], dtype=np.float64),
        np.array([item["warm_up"] for item in items], dtype=bool),
    )


def compare(
    source: str,
    model: ALoRa,
    times: NDArray[np.int64],
    values: NDArray[np.float64],
    stored: Stored,
) -> Outcome:
    """Compare what is stored with what was sent and with a batch run."""
    unique, where = np.unique(stored.times, return_index=True)
    same = np.isin(times, unique)
    got = stored.values[where][np.isin(unique, times)]
    batch = np.asarray(model.score(values))
    scores = stored.scores[where][np.isin(unique, times)]
    ready = ~stored.warm_up[where][np.isin(unique, times)]
    expected = batch[same]
    worst = np.abs(scores - expected)[ready] / np.maximum(np.abs(expected[ready]), 1e-9)
    return Outcome(
        source=source,
        sent=len(times),
        stored=len(stored.times),
        missing=int((~same).sum()),
        repeated=len(stored.times) - len(unique),
        wrong_values=int((got != values[same]).any(axis=1).sum()),
        compared=int(ready.sum()),
        worst_score=float(worst.max(initial=0.0)),
    )


def outcome_table(outcomes: Iterable[Outcome]) -> list[str]:
    """What is there of every source, as Markdown."""
    lines = [
        "| source | sent | stored | missing | twice | changed | compared | worst difference |",
        "|---|---|---|---|---|---|---|---|",
    ]
    lines += [
        f"| {o.source} | {o.sent:,} | {o.stored:,} | {o.missing} | {o.repeated} | "
        f"{o.wrong_values} | {o.compared:,} | {o.worst_score:.1e} |"
        for o in outcomes
    ]
    return lines


def table(proof: Proof) -> str:
    """The result as Markdown."""
    lines = [
        *outcome_table(proof.outcomes),
        "",
        f"{proof.kills} kills by SIGKILL, {proof.restarts} broker restarts, "
        f"{proof.http_attempts:,} HTTP requests, {len(proof.refused)} rows refused, "
        f"{proof.seconds:.0f} s in all. Score differences are relative to the batch's score.",
    ]
    return "\n".join(lines)


def main() -> None:
    """Run the test and print or write its table."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--rows", type=int, default=200_000)
    parser.add_argument("--kills", type=int, default=20)
    parser.add_argument("--restarts", type=int, default=2)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--out", type=Path)
    given = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="alora-nothing-lost-") as folder:
        proof = prove(
            Path(folder),
            rows=given.rows,
            kills=given.kills,
            restarts=given.restarts,
            seed=given.seed,
        )
    text = table(proof)
    print(text)
    if given.out is not None:
        command = (
            f"python -m benchmarks.serve_nothing_lost --rows {given.rows} --kills {given.kills} "
            f"--restarts {given.restarts} --seed {given.seed}"
        )
        with write_atomically(given.out) as part:
            part.write_text(
                f"# Nothing lost\n\n`{command}`\n\n{describe_machine()}\n\n{text}\n",
                encoding="utf-8",
            )
    if not all(outcome.holds for outcome in proof.outcomes):
        raise SystemExit("rows were lost, repeated, changed or scored differently")


if __name__ == "__main__":
    main()
