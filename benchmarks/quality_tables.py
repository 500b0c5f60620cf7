"""Turns the files that quality.py leaves into the tables of docs/quality.md."""

from __future__ import annotations

import json
from collections import defaultdict
from collections.abc import Iterable
from pathlib import Path
from typing import Any, TextIO

import numpy as np
from scipy.stats import wilcoxon

ByEntity = dict[str, list[dict[str, float]]]
_DATASETS = ("SMD", "ASD", "MSL")


def print_tables(results: Path, out: TextIO) -> None:
    """Print every table, as Markdown."""
    runs = [json.loads(file.read_text()) for file in sorted(results.glob("*.json"))]
    counts = defaultdict(set)
    for run in runs:
        counts[run["variant"], run["dataset"]].add((run["entity"], run["seed"]))
    for (variant, dataset), done in sorted(counts.items()):
        print(f"{variant}, {dataset}: {len(done)} runs", file=out)
    for dataset in _DATASETS:
        here = [run for run in runs if run["dataset"] == dataset and run["variant"] != "window"]
        if here:
            _detection(dataset, here, out)
    for dataset in ("SMD", "ASD"):
        here = [run for run in runs if run["dataset"] == dataset and "localization" in run]
        if here:
            _localization(dataset, here, out)


def _rows(
    runs: Iterable[dict[str, Any]], section: str
) -> dict[str, dict[str, list[dict[str, float]]]]:
    """Row name to entity to the values of its seeds."""
    table: dict[str, dict[str, list[dict[str, float]]]] = defaultdict(lambda: defaultdict(list))
    for run in runs:
        prefix = "" if run["variant"] == "default" else f"{run['variant']} variant: "
        for name, values in run[section].items():
            row = "random" if name.startswith("random") else name
            table[prefix + row][run["entity"] or "all channels"].append(values)
    return table


def _mean(by_entity: ByEntity, measure: str) -> float:
    """Mean over entities of the mean over seeds."""
    return float(np.mean([np.mean([v[measure] for v in seeds]) for seeds in by_entity.values()]))


def _spread(by_entity: ByEntity, measure: str) -> float:
    """Standard deviation over seeds of the mean over entities."""
    seeds = min(len(values) for values in by_entity.values())
    if seeds < 2:
        return 0.0
    means = [np.mean([v[s][measure] for v in by_entity.values()]) for s in range(seeds)]
    return float(np.std(means, ddof=1))


def _order(row: str) -> tuple[bool, int]:
    """Ours first, the authors' variant last."""
    rows = (
        *("default", "refined", "refined without rank", "AS", "error", "rank"),
        *("norm", "pca", "knn", "random"),
    )
    name = row.rpartition(": ")[2]
    return ":" in row, rows.index(name)


def _detection(dataset: str, runs: list[dict[str, Any]], out: TextIO) -> None:
    table = _rows(runs, "detection")
    names = sorted({name for by_entity in table.values() for name in by_entity})
    print(f"\n### {dataset}: detection\n", file=out)
    head = ["score", "F1", "± seeds", "AUC-PR", "± seeds", *names]
    print("| " + " | ".join(head) + " |", file=out)
    print("|" + "---|" * len(head), file=out)
    for row, by_entity in sorted(table.items(), key=lambda item: _order(item[0])):
        cells = [
            row,
            f"{_mean(by_entity, 'f1'):.3f}",
            f"{_spread(by_entity, 'f1'):.3f}",
            f"{_mean(by_entity, 'auc_pr'):.3f}",
            f"{_spread(by_entity, 'auc_pr'):.3f}",
        ]
        for name in names:
            values = by_entity.get(name)
            cells.append(
                ""
                if not values
                else f"{np.mean([v['f1'] for v in values]):.2f} / "
                f"{np.mean([v['auc_pr'] for v in values]):.2f}"
            )
        print("| " + " | ".join(cells) + " |", file=out)
    _paired(table, out)
    free = [run for run in runs if run["variant"] == "default"]
    if free:
        _label_free(free, out)


def _paired(table: dict[str, ByEntity], out: TextIO) -> None:
    """The default against each simple score, entity by entity."""
    if "default" not in table or len(table["default"]) < 3:
        return
    print("\n| default against | F1: wins, losses | p | AUC-PR: wins, losses | p |", file=out)
    print("|---|---|---|---|---|", file=out)
    for row in ("AS", "error", "norm", "pca", "knn"):
        cells = [row]
        for measure in ("f1", "auc_pr"):
            lead = [
                np.mean([v[measure] for v in table["default"][name]])
                - np.mean([v[measure] for v in values])
                for name, values in table[row].items()
            ]
            chance = float(wilcoxon(lead).pvalue)
            won, lost = sum(x > 0 for x in lead), sum(x < 0 for x in lead)
            cells += [f"{won}, {lost}", f"{chance:.3f}"]
        print("| " + " | ".join(cells) + " |", file=out)


def _label_free(runs: list[dict[str, Any]], out: TextIO) -> None:
    def mean(name: str) -> float:
        return float(np.mean([run["label_free"][name] for run in runs]))

    best = np.mean([run["detection"]["default"]["f1"] for run in runs])
    print(
        f"\nWithout labels: F1 {mean('f1'):.3f} (best of all levels {best:.3f}; with a level that "
        f"does not follow drift {mean('f1_fixed'):.3f}); alarms on rows labelled normal "
        f"{mean('alarm_share_on_normal'):.4f} (asked for {mean('asked'):.3f}; without following "
        f"{mean('alarm_share_on_normal_fixed'):.4f}). Fit "
        f"{np.median([r['fit_seconds'] for r in runs]):.0f} s, score "
        f"{np.median([r['score_seconds'] for r in runs]):.0f} s (medians, one thread, busy "
        f"machine), {int(np.median([r['windows_seen'] for r in runs])):,} training windows.",
        file=out,
    )


def _localization(dataset: str, runs: list[dict[str, Any]], out: TextIO) -> None:
    ours = [{**run, "variant": "default"} for run in runs if run["variant"] != "authors"]
    table = _rows(ours, "localization")
    measures = [f"{m}@{p}" for m in ("hr", "ndcg", "ips") for p in (100, 150)]
    print(f"\n### {dataset}: localization\n", file=out)
    head = ["form", *(m.upper() for m in measures)]
    print("| " + " | ".join(head) + " |", file=out)
    print("|" + "---|" * len(head), file=out)
    for row, by_entity in sorted(table.items()):
        cells = [row, *(f"{_mean(by_entity, measure):.3f}" for measure in measures)]
        print("| " + " | ".join(cells) + " |", file=out)
