"""Quality against cost of the network's sizes, one factor at a time: makes docs/quality-sizes.md.

Two entities of each family, one seed, everything else as shipped.

    ALORA_TS_DATA=… python benchmarks/network_sizes.py run    # resumable
    python benchmarks/network_sizes.py table
"""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import Any

import numpy as np

import alarms
from alora_ts import Architecture

RESULTS = Path(__file__).parent.parent / "results" / "network-sizes.jsonl"
FAMILIES = {
    "SMD": ("SMD", ("machine-1-2", "machine-1-6")),
    "ASD": ("ASD", ("omi-1", "omi-2")),
    "D2": ("JumpStarter-D2", ("service0", "service1")),
    "D3": ("JumpStarter-D3", ("service0", "service1")),
}
SIZES: dict[str, dict[str, Any]] = {
    "as shipped": {},
    **{f"K = {pairs}": {"pairs": pairs} for pairs in (64, 256, 512)},
    **{f"L = {layers}": {"architecture": Architecture(layers=layers)} for layers in (1, 3)},
    **{f"H = {heads}": {"architecture": Architecture(heads=heads)} for heads in (2, 4)},
    **{f"T = {window}": {"window": window} for window in (5, 10, 50, 100)},
}


def table(results: Path) -> None:
    """Print a line for each size: means over entities, means of families where there is one."""
    records = list(alarms.read_records(results))
    print(
        "| size | F1, label-free: SMD / ASD / D2 / D3 | mean | best level, mean | VUS-PR, mean "
        "| AUC-PR, mean | fit | score |"
    )
    print("|---|---|---|---|---|---|---|---|")
    shipped = {_entity(one): one for one in records if one["method"] == "as shipped"}
    for size in SIZES:
        mine = [one for one in records if one["method"] == size]
        if not mine:
            continue
        by_family = [
            np.mean([one["f1"] for one in mine if one["family"] == family]) for family in FAMILIES
        ]
        mean = {
            name: float(np.mean([one[name] for one in mine]))
            for name in ("f1", "best_f1", "vus_pr", "auc_pr")
        }
        # Ratios of one entity each, so that the longest does not decide.
        cost = [
            np.exp(np.mean([np.log(one[name] / shipped[_entity(one)][name]) for one in mine]))
            for name in ("fit_seconds", "score_seconds")
        ]
        print(
            f"| {size} | {' / '.join(f'{one:.2f}' for one in by_family)} | {mean['f1']:.2f} "
            f"| {mean['best_f1']:.2f} | {mean['vus_pr']:.3f} | {mean['auc_pr']:.3f} "
            f"| {cost[0]:.1f}× | {cost[1]:.1f}× |"
        )


def _entity(one: dict[str, Any]) -> tuple[str, str]:
    return one["family"], one["entity"]


def main() -> None:
    """Parse and call."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("what", choices=("run", "table"))
    parser.add_argument("--results", type=Path, default=RESULTS)
    given = parser.parse_args()
    if given.what == "table":
        table(given.results)
        return
    alarms.run(given.results, list(SIZES), FAMILIES, 1, SIZES)


if __name__ == "__main__":
    main()
