"""Does the low-rank loss make the rank tell anomalous windows from normal ones? On six servers.

    ALORA_TS_DATA=… python -m benchmarks.rank_separation

Fits the paper's network with and without the penalty on each server of ASD, counts ranks of the
last layer at each network's own h1 as the figure "rank-per-layer" does, and adds a line for each
server to results/rank-separation.jsonl. Servers that are there already are left out.
"""

from __future__ import annotations

import json
from pathlib import Path

from alora_ts.bench.figures import Workshop
from alora_ts.bench.figures.rank_layers import measure
from alora_ts.bench.surroundings import describe_surroundings
from alora_ts.datasets import data_root

OUT = Path(__file__).parent.parent / "results" / "rank-separation.jsonl"
_PLACES = tuple(f"ASD/omi-{at}" for at in range(1, 7))
_SEED = 0


def main() -> None:
    """Measure what is missing."""
    there = [json.loads(line)["place"] for line in _lines()]
    for place in _PLACES:
        if place in there:
            continue
        found = measure(Workshop(root=data_root(None), place=place, parameters={"seed": _SEED}))
        without, with_penalty = found.separation
        line = {
            "place": place,
            "seed": _SEED,
            "auc_without": round(without, 4),
            "auc_with": round(with_penalty, 4),
            "h1_without": found.levels[0],
            "h1_with": found.levels[1],
            "windows": [len(found.normal[0]), len(found.anomalous[0])],
            "measured": describe_surroundings(1),
        }
        with OUT.open("a", encoding="utf-8") as file:
            file.write(json.dumps(line, sort_keys=True) + "\n")
        print(f"{place}: AUC-ROC {without:.3f} without, {with_penalty:.3f} with the penalty")


def _lines() -> list[str]:
    return OUT.read_text(encoding="utf-8").splitlines() if OUT.is_file() else []


if __name__ == "__main__":
    main()
