"""Speed and memory of the metrics, beside the naive twin in the same run.

    python -m benchmarks.metrics                                  # prints the table
    python -m benchmarks.metrics --out results/metrics.md

Times are CPU seconds of one thread, the best of the runs stated, so that other work on the
machine does not count. Exit code 1 when a limit is broken.
"""

from __future__ import annotations

import argparse
import json
import os
import platform
import resource
import subprocess
import sys
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.typing import NDArray
from tests.metrics import naive_metrics as naive

from alora_ts import metrics
from alora_ts.files import write_atomically

SMALL, LARGE = 100_000, 1_000_000
THRESHOLDS_OF_TWIN = 20
AFFILIATION = "affiliation F1, all thresholds"
RANGE = "range F1, all thresholds"
VOLUME = "VUS-ROC and VUS-PR, window 100"
LONG = (AFFILIATION, RANGE, VOLUME)
"""Those whose growth is bounded; the others are one sort, a few milliseconds that fit a cache."""


@dataclass(frozen=True)
class Limit:
    """One limit: a number and its bound."""

    what: str
    value: float
    bound: float
    unit: str
    at_least: bool = False

    @property
    def kept(self) -> bool:
        """Whether the bound holds."""
        return self.value >= self.bound if self.at_least else self.value <= self.bound


def series(n: int) -> tuple[NDArray[np.int64], NDArray[np.float64]]:
    """A label with one event per 1,000 rows and a slowly varying score that rises in them."""
    rng = np.random.default_rng(0)
    label = np.zeros(n, dtype=np.int64)
    for start in range(0, n, 1000):
        first = start + int(rng.integers(0, 900))
        label[first : first + int(rng.integers(1, 100))] = 1
    noise = rng.normal(size=n + 9)
    smooth: NDArray[np.float64] = np.convolve(noise, np.full(10, 0.3), mode="valid")
    return label, smooth + label


def work(n: int) -> dict[str, Callable[[], object]]:
    """What is timed."""
    label, score = series(n)
    return {
        AFFILIATION: lambda: metrics.best_f1(label, score),
        RANGE: lambda: metrics.best_f1(label, score, "range"),
        "event F1, all thresholds": lambda: metrics.best_f1(label, score, "event"),
        "point F1, all thresholds": lambda: metrics.best_f1(label, score, "point"),
        VOLUME: lambda: metrics.vus(label, score, 100),
        "AUC-ROC": lambda: metrics.auc_roc(label, score),
        "AUC-PR": lambda: metrics.auc_pr(label, score),
    }


def seconds(call: Callable[[], object], runs: int) -> float:
    """CPU seconds, best of some runs."""
    found = []
    for _ in range(runs):
        begin = time.process_time()
        call()
        found.append(time.process_time() - begin)
    return min(found)


def in_own_process(n: int) -> dict[str, float]:
    """Times and peak memory of a process that does nothing else."""
    command = [sys.executable, "-m", "benchmarks.metrics", "--child", str(n)]
    one_thread = {"OMP_NUM_THREADS": "1", "OPENBLAS_NUM_THREADS": "1"}
    done = subprocess.run(
        command, capture_output=True, text=True, check=True, env=os.environ | one_thread
    )
    result: dict[str, float] = json.loads(done.stdout)
    return result


def child(n: int) -> None:
    """Measure in this process and print JSON."""
    found = {name: seconds(call, 5 if n <= SMALL else 3) for name, call in work(n).items()}
    found["GiB"] = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 2**20
    print(json.dumps(found))


def twin_seconds(n: int) -> float:
    """The naive twin of affiliation at a few thresholds, once."""
    label, score = series(n)
    levels = np.linspace(score.min(), score.max(), THRESHOLDS_OF_TWIN + 2)[1:-1]

    def walk() -> None:
        for level in levels:
            naive.affiliation(label.tolist(), (score >= level).astype(int).tolist())

    return seconds(walk, 1)


def main() -> int:
    """Run all, print the table, and say whether every limit is kept."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--out", type=Path, help="write the table here too")
    parser.add_argument("--child", type=int, help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.child:
        child(options.child)
        return 0

    small, large = in_own_process(SMALL), in_own_process(LARGE)
    twin = twin_seconds(SMALL)
    fast = small[AFFILIATION]
    names = [name for name in small if name != "GiB"]
    limits = [
        Limit("affiliation, 100,000 rows", fast, 1.5, "s"),
        Limit(
            f"affiliation against its naive twin at {THRESHOLDS_OF_TWIN} thresholds ({twin:.1f} s)",
            twin / fast,
            10,
            "×",
            at_least=True,
        ),
        Limit("VUS, 100,000 rows", small[VOLUME], 2, "s"),
        Limit("range F1, 100,000 rows", small[RANGE], 5, "s"),
        Limit("all metrics, 1,000,000 rows", sum(large[name] for name in names), 60, "s"),
        Limit("peak memory, 1,000,000 rows", large["GiB"], 2, "GiB"),
        *(
            Limit(f"growth of {name} from 100,000 to 1,000,000", large[name] / small[name], 15, "×")
            for name in LONG
        ),
    ]
    lines = [
        "# Metrics: speed and memory",
        "",
        "`python -m benchmarks.metrics --out results/metrics.md`",
        "",
        f"CPU seconds of one thread (best of 5 and of 3 runs); one event per 1,000 rows. "
        f"Python {platform.python_version()}, numpy {np.__version__}, {platform.machine()}. "
        "Growth is bounded for the three long ones; the others are little more than one sort, "
        "which fits the CPU's cache at 100,000 rows and not at 1,000,000.",
        "",
        "| | 100,000 rows | 1,000,000 rows | growth |",
        "|---|---:|---:|---:|",
        *(
            f"| {name} | {small[name]:.3f} s | {large[name]:.3f} s | "
            f"{large[name] / small[name]:.1f}× |"
            for name in names
        ),
        f"| peak memory of the process | {small['GiB']:.2f} GiB | {large['GiB']:.2f} GiB | |",
        "",
        "| limit | measured | bound | kept |",
        "|---|---:|---:|---|",
        *(
            f"| {limit.what} | {limit.value:.3g} {limit.unit} | "
            f"{'≥' if limit.at_least else '≤'} {limit.bound:g} {limit.unit} | "
            f"{'yes' if limit.kept else '**no**'} |"
            for limit in limits
        ),
        "",
    ]
    text = "\n".join(lines)
    print(text)
    if options.out is not None:
        with write_atomically(options.out) as part:
            part.write_text(text)
    return 0 if all(limit.kept for limit in limits) else 1


if __name__ == "__main__":
    sys.exit(main())
