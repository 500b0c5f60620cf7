"""Memory of a stream over a million rows: it must not grow.

python benchmarks/stream_memory.py                   # 1,000,000 rows through a small model
python benchmarks/stream_memory.py --rows 100000
"""

from __future__ import annotations

import argparse
import time

import numpy as np
import psutil
import torch

from alora_ts import ALoRa, Architecture
from alora_ts.bench.speed import wavy_rows

SAMPLES = 10


def main() -> None:
    """Push rows and print the resident memory along the way."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawTextHelpFormatter
    )
    parser.add_argument("--rows", type=int, default=1_000_000)
    parser.add_argument("--variables", type=int, default=12)
    args = parser.parse_args()
    torch.set_num_threads(1)
    model = ALoRa(
        window=8,
        pairs=60,
        architecture=Architecture(heads=2, layers=2),
        epochs=1,
        epoch_windows=320,
    )
    rows = wavy_rows(10_000, args.variables)
    model.fit(rows, progress=False)
    stream, process = model.stream(), psutil.Process()
    began = time.perf_counter()
    memory = []
    print("| rows | resident MiB | rows/s |\n|---:|---:|---:|")
    for at in range(args.rows):
        stream.push(rows[at % len(rows)])
        if (at + 1) % (args.rows // SAMPLES) == 0:
            memory.append(process.memory_info().rss / 2**20)
            rate = (at + 1) / (time.perf_counter() - began)
            print(f"| {at + 1:,} | {memory[-1]:.1f} | {rate:,.0f} |", flush=True)
    print(f"\nFrom the first tenth to the last: {np.ptp(memory):.1f} MiB.")


if __name__ == "__main__":
    main()
