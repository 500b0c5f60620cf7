"""Whether disk and memory stay flat while rows come and old ones are deleted.

    python -m benchmarks.serve_soak --out results/serve-soak.md

Rows a second apart go into one source at full speed; the service keeps a fraction of a day of
them, of their readings and their summaries. It deletes every five seconds instead of every ten
minutes, because a day passes in a minute here. The command fails when the store or the memory
grows by more than a tenth after the first third, in which the store fills up to what is kept.
"""

from __future__ import annotations

import argparse
import tempfile
import time
from pathlib import Path

import httpx
import numpy as np
import psutil
from benchmarks.serve_load import SETTINGS, metric, moments, scored
from benchmarks.serve_machine import describe_machine
from benchmarks.serve_process import ServiceProcess, make_model, make_rows
from benchmarks.serve_producers import HttpProducer

from alora_ts import Architecture
from alora_ts.files import write_atomically

_FLAT = 0.1
_KEPT = 20_000
_OFTEN = "import alora_ts.serve.operate.retention as kept; kept._EVERY = 5.0"


def measure(folder: Path, rows: int) -> tuple[list[str], list[str]]:
    """The table of samples, and what is wrong if anything is."""
    path = folder / "soak.alora"
    small = Architecture(layers=1, heads=2)
    make_model(path, 5, window=10, architecture=small, epochs=1, epoch_windows=64)
    days = _KEPT / 86_400
    keep = f"[keep]\nrows = {days}\nreadings = {days}\nsummaries = {2 * days}\n"
    # What waits to be scored is not deleted, so little may wait.
    settings = f"backlog_limit = 2000\n{SETTINGS}".replace("[models]", f"{keep}[models]")
    settings += f'plant = "{path}"\n'
    samples = list[tuple[float, float, float, float]]()
    with ServiceProcess(folder / "soak", settings, prelude=_OFTEN) as service:
        process = psutil.Process(service.pid)
        url = f"{service.url}/api/v1/sources/plant"
        sender = HttpProducer(f"{url}/rows", moments(rows), make_rows(rows, 5, seed=3), batch=200)
        began = time.monotonic()
        sender.start()
        done = 0.0
        while done < rows:
            time.sleep(0.5)
            done = scored(service.url)
            stored = httpx.get(url, timeout=60).json()["rows"]
            size = sum(metric(service.url, "alora_store_bytes").values())
            samples.append((done, stored, size / 2**20, process.memory_info().rss / 2**20))
        seconds = time.monotonic() - began
    lines = [
        f"{rows:,} rows in {seconds:.0f} s ({rows / seconds:.0f} readings/s); about {_KEPT:,} are "
        "kept.",
        "",
        "| readings stored so far | rows in the store | store, MiB | resident memory, MiB |",
        "|---|---|---|---|",
    ]
    for share in np.linspace(0.1, 1.0, 10):
        one = next(sample for sample in samples if sample[0] >= share * rows)
        lines.append(f"| {one[0]:,.0f} | {one[1]:,.0f} | {one[2]:.1f} | {one[3]:.0f} |")
    faults = []
    settled = [sample for sample in samples if sample[0] >= rows / 3]
    for name, place in (("store", 2), ("memory", 3)):
        early = max(sample[place] for sample in settled[: max(len(settled) // 4, 1)])
        grown = max(sample[place] for sample in settled) / early - 1
        lines += ["", f"After the first third the {name} grew by at most {grown:.1%}."]
        if grown > _FLAT:
            faults.append(f"the {name} grew by {grown:.1%}")
    return lines, faults


def main() -> None:
    """Run it and print or write the table."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--rows", type=int, default=250_000)
    parser.add_argument("--out", type=Path)
    given = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="alora-soak-") as folder:
        lines, faults = measure(Path(folder), given.rows)
    print("\n".join(lines))
    if given.out is not None:
        command = f"python -m benchmarks.serve_soak --rows {given.rows}"
        text = "\n".join(lines)
        with write_atomically(given.out) as out:
            out.write_text(
                f"# A soak with retention\n\n`{command}`\n\n{describe_machine()}\n\n{text}\n",
                encoding="utf-8",
            )
    if faults:
        raise SystemExit("; ".join(faults))


if __name__ == "__main__":
    main()
