"""Time and quality of every compared method on the synthetic `clear-faults` series.

    python -m benchmarks.baselines                                     # all methods, `cpu` presets
    python -m benchmarks.baselines --methods knn npsr --seed 1
    python -m benchmarks.baselines --methods memto --set temperature=1e9
    python -m benchmarks.baselines --out results/baselines.md

The series has 10 variables, 4,000 healthy and 2,040 watched rows. Times are wall-clock seconds per
10,000 rows on the threads stated, of one run: compare them within a table, not across machines.
AUC-PR of a method without skill equals the share of anomalous rows.
"""

from __future__ import annotations

import argparse
import json
import platform
import sys
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray

from alora_ts import baselines
from alora_ts.baselines.torch_detector import TorchDetector
from alora_ts.datasets.synthetic import SyntheticDataset, make
from alora_ts.files import write_atomically
from alora_ts.metrics import auc_pr, hit_rate

PER_ROWS = 10_000


@dataclass(frozen=True)
class Result:
    """One line of the table; None where the method does not offer it."""

    name: str
    parameters: int | None
    auc: float | None
    hits: float | None
    fit_seconds: float
    score_seconds: float | None
    variable_seconds: float | None


def timed(work: Callable[[], NDArray[np.float64]], rows: int) -> tuple[NDArray[np.float64], float]:
    """What the work gives, and its seconds per 10,000 rows."""
    start = time.perf_counter()
    scores = work()
    return scores, (time.perf_counter() - start) * PER_ROWS / rows


def measure(
    name: str, data: SyntheticDataset, *, preset: str, seed: int, changes: dict[str, Any]
) -> Result:
    """Fit and score one method."""
    detector = baselines.get(name, preset, **changes)
    if "seed" in detector.get_params() and "seed" not in changes:
        detector.set_params(seed=seed)
    start = time.perf_counter()
    detector.fit(data.train)
    fit_seconds = (time.perf_counter() - start) * PER_ROWS / len(data.train)
    auc = hits = score_seconds = variable_seconds = None
    if detector.capabilities.detects:
        scores, score_seconds = timed(lambda: detector.score(data.test), len(data.test))
        auc = auc_pr(data.label, scores)
    if detector.capabilities.localizes:
        # Localization is asked for where there is an anomaly; for some methods a row costs seconds.
        rows = np.flatnonzero(data.label)
        shown = slice(max(0, int(rows[0]) - 200), int(rows[-1]) + 1)
        scores, variable_seconds = timed(
            lambda: detector.score_variables(data.test[shown]), shown.stop - shown.start
        )
        hits = hit_rate(data.origin_truth()[shown], scores)
    count = (
        detector.parameter_count(data.train.shape[1])
        if isinstance(detector, TorchDetector)
        else None
    )
    return Result(name, count, auc, hits, fit_seconds, score_seconds, variable_seconds)


def line(result: Result, rate: float) -> str:
    """One row of the Markdown table."""

    def show(value: float | None, pattern: str = "{:.3g}") -> str:
        return "–" if value is None else pattern.format(value)

    cells = [
        f"`{result.name}`",
        show(result.parameters, "{:,}"),
        show(result.auc, "{:.3f}"),
        show(None if result.auc is None else result.auc / rate, "{:.1f}×"),
        show(result.hits, "{:.2f}"),
        show(result.fit_seconds),
        show(result.score_seconds),
        show(result.variable_seconds),
    ]
    return "| " + " | ".join(cells) + " |"


def table(methods: Sequence[str], *, preset: str, seed: int, changes: dict[str, Any]) -> str:
    """Measure the methods and make the table."""
    data = make("clear-faults", seed=seed)
    rate = float(data.label.mean())
    chance = float(data.origin_truth()[data.label].sum(1).mean() / data.test.shape[1])
    baselines.get("knn").fit(data.train[:50])  # pyod's import must not count as fitting
    where = f"{torch.get_num_threads()} threads of {platform.machine()}"
    versions = f"Python {platform.python_version()}, torch {torch.__version__}"
    changed = f" with {json.dumps(changes)}" if changes else ""
    lines = [
        f"Preset `{preset}`{changed}, seed {seed}, {where}, {versions}. {rate:.1%} of the rows are "
        f"anomalous; the hit rate of chance is {chance:.2f}.",
        "",
        "| method | parameters | AUC-PR | × share | hit rate | fit s | score s | per variable s |",
        "|---|---:|---:|---:|---:|---:|---:|---:|",
    ]
    for name in methods:
        result = measure(name, data, preset=preset, seed=seed, changes=changes)
        lines.append(line(result, rate))
        print(lines[-1], file=sys.stderr, flush=True)
    return "\n".join(lines) + "\n"


def main() -> None:
    """Parse, measure, print or write."""
    assert __doc__ is not None
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--methods", nargs="*", default=list(baselines.names()))
    parser.add_argument("--preset", default="cpu")
    parser.add_argument("--set", nargs="*", default=[], metavar="NAME=JSON", dest="changes")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--out", type=Path)
    given = parser.parse_args()
    changes = {name: json.loads(value) for name, value in (c.split("=") for c in given.changes)}
    text = table(given.methods, preset=given.preset, seed=given.seed, changes=changes)
    if given.out is None:
        print(text)
        return
    with write_atomically(given.out) as part:
        part.write_text(text)


if __name__ == "__main__":
    main()
