"""Peak memory of fit and score on a long table, above an idle process with torch imported.

    python benchmarks/memory.py                # 2,000,000 × 38 float32, a small network
    python benchmarks/memory.py --pairs 512    # the default network: slow

The network's size does not change the peak (windows are gathered 256 at a time), so a small one
is used unless asked otherwise. Each step runs in a process of its own.
"""

from __future__ import annotations

import argparse
import json
import resource
import subprocess
import sys
import time

STEPS = ("idle", "table", "fit", "score", "chunks")


def peak() -> float:
    """Peak resident memory of this process, MiB."""
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024


def step(name: str, rows: int, variables: int, pairs: int) -> dict[str, float]:
    """Do one step and say what it took."""
    import tempfile
    from pathlib import Path

    import numpy as np
    import polars as pl
    import torch

    torch.set_num_threads(2)
    if name == "idle":
        return {"peak": peak(), "seconds": 0.0}
    rng = np.random.default_rng(0)
    table = rng.standard_normal((rows, variables), dtype=np.float32)
    if name == "table":
        return {"peak": peak(), "seconds": 0.0}
    from alora_ts import ALoRa, Architecture

    model = ALoRa(
        pairs=pairs, architecture=Architecture(layers=1, heads=2), epochs=1, epoch_windows=320
    )
    if pairs >= 512:
        model.set_params(architecture=Architecture())
    if name == "fit":
        began = time.perf_counter()
        model.fit(table, progress=False)
        return {"peak": peak(), "seconds": time.perf_counter() - began}
    model.fit(table[:20_000], progress=False)
    if name == "score":
        began = time.perf_counter()
        model.score(table, progress=False)
        return {"peak": peak(), "seconds": time.perf_counter() - began}
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "table.parquet"
        pl.DataFrame(table, schema=[f"x{i}" for i in range(variables)]).write_parquet(
            path, row_group_size=65_536
        )
        saved = model.save(Path(folder) / "m.alora")
        code = (
            "import resource, sys, time, torch; torch.set_num_threads(2)\n"
            "from alora_ts import load\n"
            "began = time.perf_counter()\n"
            "rows = sum(len(c.score) for c in load(sys.argv[1]).score_chunks("
            "sys.argv[2], progress=False))\n"
            "peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024\n"
            "print(peak, time.perf_counter() - began)"
        )
        run = subprocess.run(
            [sys.executable, "-c", code, str(saved), str(path)],
            check=True,
            capture_output=True,
            text=True,
        )
        high, seconds = map(float, run.stdout.split())
        return {"peak": high, "seconds": seconds}


def main() -> None:
    """Run every step in a process of its own and print the table."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawTextHelpFormatter
    )
    parser.add_argument("--rows", type=int, default=2_000_000)
    parser.add_argument("--variables", type=int, default=38)
    parser.add_argument("--pairs", type=int, default=16)
    parser.add_argument("--step", choices=STEPS)
    args = parser.parse_args()
    if args.step:
        print(json.dumps(step(args.step, args.rows, args.variables, args.pairs)))
        return
    table = args.rows * args.variables * 4 / 2**20
    print(f"{args.rows:,} × {args.variables} float32: {table:.0f} MiB; pairs {args.pairs}\n")
    print("| step | peak above idle, MiB | beyond the table, MiB | s per million rows |")
    print("|---|---:|---:|---:|")
    base = 0.0
    for name in STEPS:
        call = [sys.executable, __file__, "--step", name, "--rows", str(args.rows)]
        call += ["--variables", str(args.variables), "--pairs", str(args.pairs)]
        run = subprocess.run(call, check=True, capture_output=True, text=True)
        found = json.loads(run.stdout.splitlines()[-1])
        if name == "idle":
            base = found["peak"]
            continue
        above = found["peak"] - base
        speed = found["seconds"] / args.rows * 1e6
        print(f"| {name} | {above:.0f} | {above - table:.0f} | {speed:.0f} |", flush=True)


if __name__ == "__main__":
    main()
