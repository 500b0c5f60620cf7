"""Mutated tables: each Parquet or CSV body is judged or refused cleanly, within a bound of memory.

    python -m benchmarks.fuzz_bodies --csv 2000 --parquet 300 --out results/fuzz-bodies.md

The bodies go to the service's own endpoint (`POST /api/v1/detect`). A Parquet file has bytes
flipped, cut out and doubled, mostly in the description at its end, which says how much there is to
read; a CSV file has odd cells, quotes, separators and bytes. Some are tables that are small as
files and large when read.
"""

from __future__ import annotations

import argparse
import contextlib
import io
import tempfile
import threading
import time
from collections import Counter
from collections.abc import Iterator
from concurrent.futures import ProcessPoolExecutor
from itertools import islice
from multiprocessing import get_context
from pathlib import Path

import numpy as np
import polars as pl
import psutil
from benchmarks.serve_machine import describe_machine
from benchmarks.serve_process import make_model
from fastapi.testclient import TestClient

from alora_ts.files import write_atomically
from alora_ts.serve.http.app import create_app
from alora_ts.serve.service import Service
from alora_ts.serve.settings import Settings

__all__ = ["bodies", "kinds"]

kinds = {"parquet": "application/vnd.apache.parquet", "csv": "text/csv"}
_ODD = (
    b"", b",", b"\n", b'"', b"\r", b"\x00", b"\xff\xfe", b"1e999", b"-inf", b"nan", b"9" * 400,
    b"," * 3000, b'"' * 999, b"2026-13-45", b"0x10", b"\xf0\x9f\x92\xa5", b"=1+1", b"\n" * 500,
)  # fmt: skip


def bodies(kind: str, *, seed: int) -> Iterator[bytes]:
    """Mutated tables of a kind, without end."""
    rng = np.random.default_rng(seed)
    rows = {f"x{at}": rng.normal(size=60) for at in range(5)}
    times = np.datetime64("2026-01-01", "us") + np.arange(60) * np.timedelta64(1, "s")
    whole = io.BytesIO()
    table = pl.DataFrame({"time": times, **rows})
    if kind == "csv":
        table.write_csv(whole)
    else:
        table.write_parquet(whole, row_group_size=20)
        yield from _bombs()
    file = whole.getvalue()
    while True:
        made = bytearray(file)
        for _ in range(int(rng.integers(1, 4))):
            (_harm_csv if kind == "csv" else _harm_parquet)(made, rng)
        yield bytes(made)


def _harm_csv(made: bytearray, rng: np.random.Generator) -> None:
    at = int(rng.integers(len(made) + 1))
    odd = _ODD[int(rng.integers(len(_ODD)))]
    made[at : at + int(rng.integers(0, 30))] = odd


def _harm_parquet(made: bytearray, rng: np.random.Generator) -> None:
    if len(made) < 16:
        return
    # The description, the head of a page, or anywhere.
    size = min(int.from_bytes(made[-8:-4], "little"), len(made) - 8)
    low = max(len(made) - 8 - size, 0) if rng.random() < 0.7 else 0
    at = int(rng.integers(low, len(made)))
    what = rng.random()
    if what < 0.6:
        made[at] = int(rng.integers(256))
    elif what < 0.75:
        made[at : at + 1] = b"\xff\xff\xff\xff\x0f"  # a large number in its description
    elif what < 0.9:
        del made[at : at + int(rng.integers(1, 20))]
    else:
        made[at:at] = made[at : at + int(rng.integers(1, 20))]


def _bombs() -> Iterator[bytes]:
    """Tables that are small as files: constant rows, long texts, many columns."""
    for columns in (
        {"x0": np.zeros(15_000_000)},
        {f"x{at}": pl.repeat("a" * 50_000, 20_000, eager=True) for at in range(3)},
        {f"c{at}": [0.0] for at in range(20_000)},
    ):
        file = io.BytesIO()
        pl.DataFrame(columns).write_parquet(file, compression="zstd")
        yield file.getvalue()


class _Peak(threading.Thread):
    """The highest resident memory while it runs, that of child processes included, MiB."""

    def __init__(self) -> None:
        super().__init__(daemon=True)
        self._process = psutil.Process()
        self.highest = 0.0
        self.over = threading.Event()

    def run(self) -> None:
        while not self.over.wait(0.05):
            whole = 0
            for one in (self._process, *self._process.children()):
                with contextlib.suppress(psutil.Error):
                    whole += one.memory_info().rss
            self.highest = max(self.highest, whole / 2**20)


def _make(kind: str, count: int, seed: int) -> list[bytes]:
    return list(islice(bodies(kind, seed=seed), count))


def run(client: TestClient, model: str, kind: str, count: int, seed: int) -> tuple[str, bool]:
    """Send so many; a line of the table, and whether all went well."""
    url, ended = "/api/v1/detect", Counter[int]()
    slowest = 0.0
    # Made ahead and elsewhere, so that making them takes no part in what is measured.
    with ProcessPoolExecutor(1, mp_context=get_context("spawn")) as pool:
        made = pool.submit(_make, kind, count, seed).result()
    before = psutil.Process().memory_info().rss / 2**20
    peak = _Peak()
    peak.start()
    for body in made:
        began = time.perf_counter()
        answer = client.post(
            url, params={"model_id": model}, content=body, headers={"content-type": kinds[kind]}
        )
        slowest = max(slowest, time.perf_counter() - began)
        ended[answer.status_code] += 1
        if answer.status_code >= 500:
            path = Path(tempfile.gettempdir()) / f"fuzz-{kind}-{sum(ended.values())}"
            path.write_bytes(body)
            print(f"{answer.status_code}: {path}", flush=True)
    peak.over.set()
    peak.join()
    grown = peak.highest - before
    told = ", ".join(f"{count:,} × {status}" for status, count in sorted(ended.items()))
    line = f"| {kind} | {count:,} | {told} | {grown:.0f} | {slowest:.2f} |"
    return line, all(status < 500 for status in ended) and grown <= 256


def main() -> None:
    """Try many of each kind and say how they ended."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--csv", type=int, default=2000)
    # Each is read in a process of its own, which takes most of the time.
    parser.add_argument("--parquet", type=int, default=300)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--out", type=Path)
    given = parser.parse_args()
    lines = [
        "| body | sent | answers | memory, MiB more | slowest, s |",
        "|---|---|---|---|---|",
    ]
    well, counts = True, {"csv": given.csv, "parquet": given.parquet}
    with tempfile.TemporaryDirectory(prefix="alora-fuzz-") as folder:
        path = Path(folder) / "plant.alora"
        make_model(path, 5, window=10, epochs=1, epoch_windows=64)
        settings = Settings(folder=Path(folder) / "data", models={"plant": path}, rate_limit=1e6)
        service = Service(settings)
        app = create_app(service)
        with TestClient(app, base_url="http://127.0.0.1", raise_server_exceptions=False) as client:
            model = service.sources.get("plant").model_id
            for kind in kinds:
                line, good = run(client, model, kind, counts[kind], given.seed)
                lines.append(line)
                well = well and good
    print("\n".join(lines))
    if given.out is not None:
        counted = f"--csv {given.csv} --parquet {given.parquet} --seed {given.seed}"
        command = f"python -m benchmarks.fuzz_bodies {counted}"
        text = "\n".join(lines)
        with write_atomically(given.out) as out:
            out.write_text(
                f"# Mutated Parquet and CSV bodies\n\n`{command}`\n\n{describe_machine()}\n\n"
                f"{text}\n\nThe first Parquet bodies are tables that are small as files and large "
                "when read. Memory is that of the service and its readers above what the process "
                "had before the first.\n",
                encoding="utf-8",
            )
    if not well:
        raise SystemExit("an answer of 500, or more than 256 MiB")


if __name__ == "__main__":
    main()
