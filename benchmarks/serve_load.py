"""How many rows a second the service takes, how soon they are scored, and what memory it needs.

    python -m benchmarks.serve_load                            # all parts
    python -m benchmarks.serve_load --parts load --rows 4000
    python -m benchmarks.serve_load --out results/serve-load.md

*load*: one source, d=38, T=20, K=512, rows over HTTP in batches, an event stream open and a chart
asked for every second as the dashboard does. First as fast as the service scores (it takes rows
faster than it scores them, so the rate is that of stored readings), then at half of that rate,
where p50 and p99 from a row's arrival to its stored reading are read from /metrics.
*many*: 50 sources with a model of their own each, rows to all of them at once.
*fleet*: 300 sources on 30 models, rows to all of them at once, and meanwhile the request of the
overview (all sources, 100 scores each) again and again.
*backlog*: rows to one source faster than they are scored, with a limit of 5,000 that wait: how many
requests are told to wait, how many rows ever waited, and that none is lost.
*soak*: 86,400 rows (a day at one a second) at full speed; resident memory sampled all along. The
command fails when memory is not flat: when it grows by more than a tenth after the first fifth.
"""

from __future__ import annotations

import argparse
import contextlib
import tempfile
import threading
import time
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import httpx
import numpy as np
import psutil
from benchmarks.serve_machine import describe_machine
from benchmarks.serve_process import ServiceProcess, make_model, make_rows
from benchmarks.serve_producers import HttpProducer
from numpy.typing import NDArray

from alora_ts import Architecture
from alora_ts.files import write_atomically

_FLAT = 0.1
SETTINGS = "late_limit = 1e8\nrate_limit = 100000\n[models]\n"


@dataclass(frozen=True)
class Dashboard:
    """What an open page of the first source asks for, until it is closed."""

    url: str
    closed: threading.Event

    def listen(self) -> None:
        """Follow the events; the service ends the stream when it stops."""
        with (
            contextlib.suppress(httpx.RemoteProtocolError),
            httpx.Client(timeout=None) as client,
            client.stream("GET", f"{self.url}/api/v1/events") as answer,
        ):
            for _ in answer.iter_raw():
                if self.closed.is_set():
                    return

    def look(self) -> None:
        """Ask for the sources and for the charts of the last day every second."""
        with httpx.Client(base_url=f"{self.url}/api/v1", timeout=60) as client:
            while not self.closed.wait(1.0):
                source = client.get("/sources").json()[0]
                if source["last_time"] is None:
                    continue
                last = np.datetime64(source["last_time"].rstrip("Z"), "us")
                asked = {
                    "start": f"{last - np.timedelta64(1, 'D')}Z",
                    "points": 1500,
                    "signals": source["variables"][:4],
                }
                client.get(f"/sources/{source['name']}/series", params=asked).raise_for_status()

    def open(self) -> None:
        """Start both."""
        for work in (self.listen, self.look):
            threading.Thread(target=work, daemon=True).start()


def moments(count: int) -> NDArray[np.int64]:
    """Times a second apart that end an hour ago."""
    return (int(time.time()) - 3600 - count + np.arange(count, dtype=np.int64)) * 1_000_000


def metric(url: str, name: str) -> dict[str, float]:
    """The values of a metric by the text of their labels."""
    text = httpx.get(f"{url}/metrics", timeout=60).text
    found = dict[str, float]()
    for line in text.splitlines():
        if line.startswith((f"{name}{{", f"{name} ")):
            labels, _, value = line.removeprefix(name).rpartition(" ")
            found[labels] = float(value)
    return found


def scored(url: str) -> float:
    """How many readings the service has stored since its start."""
    return sum(metric(url, "alora_reading_latency_seconds_count").values())


def wait_until_scored(url: str, count: float) -> None:
    """Wait until so many readings are stored."""
    while scored(url) < count:
        time.sleep(0.2)


def quantiles(before: dict[str, float], after: dict[str, float]) -> dict[float, float]:
    """p50 and p99 from the cumulative counts of a histogram, linear within a bucket."""
    bounds = dict[float, float]()
    for labels, value in after.items():
        bound = float(labels.split('le="')[1].split('"')[0].replace("+Inf", "inf"))
        bounds[bound] = bounds.get(bound, 0.0) + value - before.get(labels, 0.0)
    edges = sorted(bounds)
    total = bounds[edges[-1]]
    found = dict[float, float]()
    for share in (0.5, 0.99):
        low, below = 0.0, 0.0
        for edge in edges:
            if bounds[edge] >= share * total:
                inside = (share * total - below) / max(bounds[edge] - below, 1.0)
                found[share] = low if edge == np.inf else low + (edge - low) * inside
                break
            low, below = edge, bounds[edge]
    return found


@dataclass(frozen=True)
class Part:
    """What a part of the benchmark found: a text, and what is wrong if anything is."""

    lines: list[str]
    fault: str | None = None


def growth(samples: Sequence[tuple[float, float]]) -> float:
    """By which share memory grew after the first fifth of the rows, as (rows, memory) in order.

    Before that, caches fill.

    Examples
    --------
    >>> growth([(10, 80.0), (20, 100.0), (60, 104.0), (100, 102.0)])
    0.04
    """
    settled = [memory for done, memory in samples if done >= samples[-1][0] / 5]
    return max(settled) / settled[0] - 1


def measure_load(folder: Path, rows: int) -> Part:
    """One wide source with the dashboard open."""
    path = folder / "wide.alora"
    make_model(path, 38, window=20, pairs=512, epochs=1, epoch_windows=64)
    values = make_rows(rows, 38, seed=1)
    times = moments(rows)
    settings = f'{SETTINGS}plant = "{path}"\n'
    bucket = "alora_reading_latency_seconds_bucket"
    with ServiceProcess(folder / "load", settings) as service:
        dashboard = Dashboard(service.url, threading.Event())
        dashboard.open()
        url = f"{service.url}/api/v1/sources/plant/rows"
        half = rows // 2
        began = time.monotonic()
        fast = HttpProducer(url, times[:half], values[:half], batch=50)
        fast.run()
        taken = half / (time.monotonic() - began)
        wait_until_scored(service.url, half)
        rate = half / (time.monotonic() - began)
        before = metric(service.url, bucket)
        slow = HttpProducer(url, times[half:], values[half:], batch=1, pause=2 / rate)
        began = time.monotonic()
        slow.run()
        offered = (rows - half) / (time.monotonic() - began)
        wait_until_scored(service.url, rows)
        found = quantiles(before, metric(service.url, bucket))
        dashboard.closed.set()
    return Part(
        [
            "## Load: d=38, T=20, K=512, dashboard open",
            "",
            f"- full speed: {rate:.0f} readings/s stored ({taken:.0f} rows/s taken in)",
            f"- at {offered:.0f} rows/s, one row a request: p50 {found[0.5] * 1e3:.0f} ms, "
            f"p99 {found[0.99] * 1e3:.0f} ms from arrival to stored reading",
        ]
    )


def measure_many(folder: Path, rows: int) -> Part:
    """Fifty sources at once."""
    count = 50
    settings = SETTINGS
    for number in range(count):
        path = folder / f"m{number}.alora"
        _small_model(path, seed=number)
        settings += f'm{number} = "{path}"\n'
    each = max(rows // count, 50)
    values, times = make_rows(each, 5, seed=2), moments(each)
    with ServiceProcess(folder / "many", settings) as service:
        began = time.monotonic()
        senders = [
            HttpProducer(f"{service.url}/api/v1/sources/m{at}/rows", times, values, batch=20)
            for at in range(count)
        ]
        for sender in senders:
            sender.start()
        for sender in senders:
            sender.join()
        wait_until_scored(service.url, each * count)
        seconds = time.monotonic() - began
        resident = psutil.Process(service.pid).memory_info().rss / 2**20
    return Part(
        [
            "## 50 models at once: d=5, T=10",
            "",
            f"- {each * count:,} rows to 50 sources: {each * count / seconds:.0f} readings/s in "
            f"all, resident memory {resident:.0f} MiB",
        ]
    )


def measure_fleet(folder: Path, rows: int) -> Part:
    """Three hundred sources at once, the overview open."""
    count, models = 300, 30
    settings = SETTINGS
    for number in range(models):
        _small_model(folder / f"m{number}.alora", seed=number)
    for number in range(count):
        settings += f's{number} = "{folder}/m{number % models}.alora"\n'
    each = max(rows // count, 50)
    values, times = make_rows(each, 5, seed=2), moments(each)
    took = list[float]()
    with ServiceProcess(folder / "fleet", settings) as service:
        began = time.monotonic()
        senders = [
            HttpProducer(f"{service.url}/api/v1/sources/s{at}/rows", times, values, batch=20)
            for at in range(count)
        ]
        for sender in senders:
            sender.start()
        with httpx.Client(timeout=120) as client:
            while any(sender.is_alive() for sender in senders):
                asked = time.monotonic()
                answer = client.get(f"{service.url}/api/v1/sources", params={"recent": 100})
                took.append(time.monotonic() - asked)
                time.sleep(0.5)
            wait_until_scored(service.url, each * count)
            seconds = time.monotonic() - began
            asked = time.monotonic()
            answer = client.get(f"{service.url}/api/v1/sources", params={"recent": 100})
            calm = time.monotonic() - asked
        resident = psutil.Process(service.pid).memory_info().rss / 2**20
    return Part(
        [
            "## 300 sources on 30 models at once: d=5, T=10, overview open",
            "",
            f"- {each * count:,} rows: {each * count / seconds:.0f} readings/s in all, resident "
            f"memory {resident:.0f} MiB",
            f"- the overview's one request ({len(answer.content) / 1e3:.0f} kB): median "
            f"{np.median(took):.2f} s, slowest {max(took):.2f} s of {len(took)} meanwhile, "
            f"{calm:.2f} s once all was scored",
        ]
    )


def measure_backlog(folder: Path, rows: int) -> Part:
    """More rows than can be scored."""
    limit = 5000
    path = folder / "wide.alora"
    make_model(path, 38, window=20, pairs=512, epochs=1, epoch_windows=64)
    settings = f'backlog_limit = {limit}\n{SETTINGS}plant = "{path}"\n'
    waited = list[float]()
    with ServiceProcess(folder / "backlog", settings) as service:
        url = f"{service.url}/api/v1/sources/plant/rows"
        sender = HttpProducer(url, moments(rows), make_rows(rows, 38, seed=1), batch=200)
        began = time.monotonic()
        sender.start()
        while sender.is_alive():
            waited += metric(service.url, "alora_unscored_rows").values()
            time.sleep(0.1)
        sent = time.monotonic() - began
        wait_until_scored(service.url, rows)
        seconds = time.monotonic() - began
        refused = sum(metric(service.url, "alora_refused_requests_total").values())
        stored = httpx.get(f"{service.url}/api/v1/sources/plant", timeout=60).json()["rows"]
        resident = psutil.Process(service.pid).memory_info().rss / 2**20
    lines = [
        f"## Backlog: more rows than are scored, d=38, T=20, K=512, at most {limit:,} may wait",
        "",
        f"- {rows:,} rows taken in {sent:.0f} s and scored in {seconds:.0f} s; "
        f"{refused:.0f} requests were told to come again (503, Retry-After)",
        f"- at most {max(waited):,.0f} rows waited; resident memory {resident:.0f} MiB; "
        f"{stored:,} of {rows:,} rows stored",
    ]
    fault = None
    if stored != rows or max(waited) > limit + 200:
        fault = f"{stored} of {rows} rows stored, {max(waited):.0f} waited"
    return Part(lines, fault)


def _small_model(path: Path, *, seed: int) -> None:
    small = Architecture(layers=1, heads=2)
    make_model(path, 5, window=10, architecture=small, epochs=1, epoch_windows=64, seed=seed)


def measure_soak(folder: Path, rows: int) -> Part:
    """A day of rows at full speed, with the dashboard open."""
    path = folder / "soak.alora"
    _small_model(path, seed=0)
    samples = list[tuple[float, float]]()
    with ServiceProcess(folder / "soak", f'{SETTINGS}plant = "{path}"\n') as service:
        dashboard = Dashboard(service.url, threading.Event())
        dashboard.open()
        process = psutil.Process(service.pid)
        url = f"{service.url}/api/v1/sources/plant/rows"
        sender = HttpProducer(url, moments(rows), make_rows(rows, 5, seed=3), batch=200)
        began = time.monotonic()
        sender.start()
        done = 0.0
        while done < rows:
            time.sleep(0.5)
            done = scored(service.url)
            samples.append((done, process.memory_info().rss / 2**20))
        seconds = time.monotonic() - began
        dashboard.closed.set()
    lines = [
        "## Soak: a day at 1 Hz at full speed, dashboard open, d=5, T=10",
        "",
        f"- {rows:,} rows in {seconds:.0f} s ({rows / seconds:.0f} readings/s)",
        "",
        "| readings stored | resident memory, MiB |",
        "|---|---|",
    ]
    for share in np.linspace(0.1, 1.0, 10):
        done, resident = next(sample for sample in samples if sample[0] >= share * rows)
        lines.append(f"| {done:,.0f} | {resident:.0f} |")
    grown = growth(samples)
    lines += ["", f"After the first fifth of the rows memory grew by at most {grown:.1%}."]
    return Part(lines, f"memory grew by {grown:.1%}" if grown > _FLAT else None)


def main() -> None:
    """Run the parts asked for and print or write their tables."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--parts", nargs="+", default=["load", "many", "fleet", "backlog", "soak"])
    parser.add_argument("--rows", type=int, help="instead of each part's own number")
    parser.add_argument("--out", type=Path)
    given = parser.parse_args()
    parts = {
        "load": (measure_load, 6000),
        "many": (measure_many, 20_000),
        "fleet": (measure_fleet, 30_000),
        "backlog": (measure_backlog, 30_000),
        "soak": (measure_soak, 86_400),
    }
    lines, faults = list[str](), list[str]()
    for part in given.parts:
        measure, usual = parts[part]
        with tempfile.TemporaryDirectory(prefix="alora-load-") as folder:
            found = measure(Path(folder), given.rows or usual)
        print("\n".join([*found.lines, ""]), flush=True)
        lines += [*found.lines, ""]
        faults += [found.fault] if found.fault else []
    if given.out is not None:
        rows = "" if given.rows is None else f" --rows {given.rows}"
        command = f"python -m benchmarks.serve_load --parts {' '.join(given.parts)}{rows}"
        with write_atomically(given.out) as out:
            out.write_text(
                f"# The service under load\n\n`{command}`\n\n{describe_machine()}\n\n"
                + "\n".join(lines),
                encoding="utf-8",
            )
    if faults:
        raise SystemExit("; ".join(faults))


if __name__ == "__main__":
    main()
