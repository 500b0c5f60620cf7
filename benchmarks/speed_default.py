"""What a fit, a scored table and a row of a stream cost, against the default of release 0.1.

    ALORA_TS_DATA=… python -m benchmarks.speed_default

On one machine of SMD, one thread. Each round runs both in processes of their own, in turn, and the
medians of the rounds are compared: CPU seconds, and the most memory a process held.
"""

from __future__ import annotations

import argparse
import itertools
import json
import subprocess
import sys
import time
from statistics import median

from benchmarks.alarms import VARIANTS

from alora_ts import ALoRa
from alora_ts.bench.surroundings import peak_memory_mib
from alora_ts.datasets import load

_ROWS = 3000
_WORDS = {
    "fit": "fit, CPU s",
    "score": "28,479 rows scored and judged, CPU s",
    "stream": "a row into a stream, CPU ms",
    "memory": "most memory, MiB",
}


def measure(variant: str, entity: str) -> dict[str, float]:
    """Of one process."""
    data = load("SMD", entity=entity)
    marks = [time.process_time()]
    model = ALoRa(seed=0, threads=1, **VARIANTS[variant]).fit(data.train, progress=False)
    marks.append(time.process_time())
    model.diagnose(data.test, progress=False)
    marks.append(time.process_time())
    stream = model.stream()
    for row in data.test[:_ROWS]:
        stream.push(row)
    marks.append(time.process_time())
    fit, score, streamed = (b - a for a, b in itertools.pairwise(marks))
    return {
        "fit": fit,
        "score": score,
        "stream": 1000 * streamed / _ROWS,
        "memory": peak_memory_mib() or float("nan"),
    }


def main() -> None:
    """Parse, alternate, print a table in Markdown."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawTextHelpFormatter
    )
    parser.add_argument("--entity", default="machine-1-6")
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--one", choices=VARIANTS, help="measure this, in this process")
    given = parser.parse_args()
    if given.one:
        print(json.dumps(measure(given.one, given.entity)))
        return
    found: dict[str, list[dict[str, float]]] = {"default": [], "before": []}
    for _ in range(given.rounds):
        for variant, measured in found.items():
            command = [sys.executable, "-m", "benchmarks.speed_default", "--one", variant]
            done = subprocess.run(
                [*command, "--entity", given.entity], check=True, capture_output=True, text=True
            )
            measured.append(json.loads(done.stdout))
    print("| | default | default of 0.1, code of now | ratio |")
    print("|---|---|---|---|")
    for name, words in _WORDS.items():
        new, old = (median(one[name] for one in found[part]) for part in ("default", "before"))
        print(f"| {words} | {new:.3g} | {old:.3g} | {new / old:.2f} |")


if __name__ == "__main__":
    main()
