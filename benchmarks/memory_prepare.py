"""Memory and time of reading and preparing a large table, each step in a process of its own.

Run it with: python benchmarks/memory_prepare.py [--rows 2000000] [--variables 38]

Each line's peak is what the process took beyond an idle one that has imported the same packages
(torch too), and beside it how often the table itself would fit into that.
"""

from __future__ import annotations

import argparse
import json
import resource
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

import numpy as np
import polars as pl

from alora_ts.data import Preparation, as_table
from alora_ts.data.chunks import prepare_chunks

WINDOW = 20


def write(path: Path, rows: int, variables: int) -> None:
    """Write in slices, so that making the file does not need the memory that is measured."""
    rng = np.random.default_rng(0)
    folder = path.parent / "slices"
    folder.mkdir()
    for number, start in enumerate(range(0, rows, 100_000)):
        count = min(100_000, rows - start)
        values = rng.standard_normal((count, variables), dtype=np.float32)
        values[rng.random(count) < 0.01, 0] = np.nan
        seconds = np.arange(start, start + count).astype("datetime64[s]").astype("datetime64[us]")
        columns = {f"v{at}": values[:, at] for at in range(variables)}
        pl.DataFrame({"time": seconds, **columns}).write_parquet(folder / f"{number:05d}.parquet")
    pl.scan_parquet(folder / "*.parquet").sink_parquet(path)
    for piece in folder.iterdir():
        piece.unlink()
    folder.rmdir()


def read(path: Path) -> None:
    """Only read."""
    as_table(path, progress=False)


def fit(path: Path) -> None:
    """Read and learn."""
    Preparation().fit(as_table(path, progress=False))


def apply(path: Path) -> None:
    """Prepare beside the table."""
    table = as_table(path, progress=False)
    Preparation().fit(table).apply(table)


def apply_in_place(path: Path) -> None:
    """Prepare into the table's own memory."""
    table = as_table(path, progress=False)
    Preparation().fit(table).apply(table, overwrite=True)


def chunks(path: Path) -> None:
    """Prepare a file that need not fit into memory."""
    head = pl.scan_parquet(path).head(50_000).collect()
    fitted = Preparation().fit(as_table(head))
    for _ in prepare_chunks(path, fitted, window=WINDOW, progress=False):
        pass


STEPS: dict[str, Callable[[Path], None]] = {
    "read": read,
    "read, fit": fit,
    "read, fit, apply": apply,
    "read, fit, apply in place": apply_in_place,
    "prepare in chunks": chunks,
}


def measure(step: str, path: Path) -> dict[str, float]:
    """Run one step in this process and return its peak beyond idle."""
    import torch

    # One small round first, so that libraries have loaded what they load on first use.
    warm = path.parent / "warm.parquet"
    pl.scan_parquet(path).head(1000).collect().write_parquet(warm)
    STEPS[step](warm)
    assert torch.__version__
    idle = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    begin = time.perf_counter()
    STEPS[step](path)
    seconds = time.perf_counter() - begin
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    return {"peak": peak - idle, "idle": idle, "seconds": seconds}


def main() -> None:
    """Measure every step and print a table."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rows", type=int, default=2_000_000)
    parser.add_argument("--variables", type=int, default=38)
    parser.add_argument("--step", help="measure one step on --file and print it as JSON")
    parser.add_argument("--file", type=Path)
    given = parser.parse_args()
    if given.step:
        print(json.dumps(measure(given.step, given.file)))
        return
    size = given.rows * given.variables * 4 / 2**20
    print(f"table: {given.rows:,} × {given.variables} float32 = {size:.0f} MiB")
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "table.parquet"
        write(path, given.rows, given.variables)
        print(f"{'step':<28}{'peak MiB':>10}{'tables':>8}{'s':>8}{'s per 1e6 rows':>16}")
        for step in STEPS:
            command = [sys.executable, __file__, "--step", step, "--file", str(path)]
            done = subprocess.run(command, check=True, capture_output=True, text=True)
            found = json.loads(done.stdout)
            per_million = found["seconds"] / given.rows * 1e6
            print(
                f"{step:<28}{found['peak']:>10.0f}{found['peak'] / size:>8.2f}"
                f"{found['seconds']:>8.1f}{per_million:>16.2f}"
            )


if __name__ == "__main__":
    main()
