"""Incidents on SMD, ASD, JumpStarter D2, D3 and MSL: makes docs/quality-alarms.md.

Every run (family, entity, seed, method) is a line of a file of results; a finished one is never
repeated, so that the whole can be interrupted and started again.

    ALORA_TS_DATA=… python benchmarks/alarms.py run --methods default --seeds 3
    ALORA_TS_DATA=… python benchmarks/alarms.py run --methods before norm pca knn random daemon
    ALORA_TS_DATA=… python benchmarks/alarms.py run --methods norm-days pca-days knn-days
    python benchmarks/alarms.py table
    python benchmarks/alarms.py pairs

A simple method "-days" is given rows less what repeats each day, as ALoRa is.
"""

from __future__ import annotations

import argparse
import json
import time
from collections.abc import Iterator, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from alora_ts import ALoRa, Architecture, baselines
from alora_ts.baselines.calibrated import Calibrated
from alora_ts.bench.statistics import bootstrap_mean
from alora_ts.data import as_table
from alora_ts.data.options import PreparationOptions
from alora_ts.data.repetition import learn_cycle
from alora_ts.datasets import Dataset, load
from alora_ts.metrics import auc_pr, best_f1, incident_curve, judge_incidents, vus
from alora_ts.model.cyclic import Acyclic

RESULTS = Path(__file__).parent.parent / "results" / "alarms.jsonl"
Families = Mapping[str, tuple[str, tuple[str | None, ...]]]
"""By name: a dataset and its entities."""
Variants = Mapping[str, Mapping[str, Any]]
"""Settings of ALoRa by name."""

FAMILIES: Families = {
    "SMD": ("SMD", tuple(f"machine-1-{number}" for number in range(2, 9))),
    "ASD": ("ASD", tuple(f"omi-{number}" for number in range(1, 7))),
    "D2": ("JumpStarter-D2", tuple(f"service{number}" for number in range(10))),
    "D3": ("JumpStarter-D3", tuple(f"service{number}" for number in range(10))),
    "MSL": ("MSL", (None,)),
}
VARIANTS: Variants = {
    "default": {},
    "refined": {"scoring": "refined"},
    "large": {"pairs": 512, "architecture": Architecture(layers=3)},
    # The default of release 0.1, but for the held-back rows: a share of rows that may alarm.
    "before": {
        "scoring": "refined",
        "pairs": 512,
        "architecture": Architecture(layers=3),
        "alarm_share": 0.02,
        "drift_memory": 2000,
    },
    "no days": {"preparation": PreparationOptions(calendar="off")},
    "budget 2000": {"false_alarms": "1 per 2000 rows"},
    "budget 5000": {"false_alarms": "1 per 5000 rows"},
}
SIMPLE = ("norm", "pca", "knn", "random", "daemon", "norm-days", "pca-days", "knn-days")
_PRESETS = {"daemon": "cpu"}
"""Where a method's published size would take a quarter of an hour of CPU a machine."""
_DAYS = "-days"
_VUS_WINDOW = 100
_JUDGED = {
    "f1": "F1, label-free",
    "best_f1": "F1, best level",
    "affiliation": "best affiliation F1",
    "auc_pr": "AUC-PR",
    "vus_pr": "VUS-PR",
}


def scores(
    method: str, data: Dataset, seed: int, variants: Variants
) -> tuple[NDArray[np.float64], Any, tuple[float, float]]:
    """Calibrated scores of the test rows, incidents (None: rows above 1), CPU s to fit, score."""
    began = time.process_time()
    if method in variants:
        model = ALoRa(seed=seed, **variants[method])
        model.fit(data.train, segments=data.train_segments, progress=False)
        fitted = time.process_time()
        found = model.diagnose(data.test, segments=data.test_segments, progress=False)
        taken = fitted - began, time.process_time() - fitted
        return np.where(found.warm_up, 0.0, found.score), found.incidents, taken
    if method.endswith(_DAYS):
        data, method = without_days(data), method.removesuffix(_DAYS)
    detector = baselines.get(method, _PRESETS.get(method, "paper"))
    calibrated = Calibrated(detector).fit(data.train, segments=data.train_segments, progress=False)
    fitted = time.process_time()
    score = calibrated.score(data.test, segments=data.test_segments, progress=False)
    return score, None, (fitted - began, time.process_time() - fitted)


def without_days(data: Dataset) -> Dataset:
    """The same rows less what repeats in training, found and placed as ALoRa does it."""
    found = learn_cycle(as_table(data.train))
    if found is None:
        return data
    cycle, train = found
    test, _ = Acyclic(cycle).take(as_table(data.test), data.test_segments)
    return replace(
        data, train=train.astype(np.float32), test=np.asarray(test.values, dtype=np.float32)
    )


def judge(method: str, data: Dataset, seed: int, variants: Variants = VARIANTS) -> dict[str, Any]:
    """Every number of one run."""
    score, incidents, (fitting, scoring) = scores(method, data, seed, variants)
    alarm = score > 1
    changed = []
    if incidents is not None:
        alarm = np.zeros(len(score), dtype=bool)
        for incident in incidents:
            alarm[incident.start : incident.end] = True
        changed = [(one.start, one.end) for one in incidents if one.changed]
    judged = judge_incidents(data.label, alarm)
    curve = incident_curve(data.label, score)
    best = curve.best()
    events = np.flatnonzero(np.diff(np.r_[0, data.label.astype(int), 0])).reshape(-1, 2)
    called = sum(any(s < e1 and e > s1 for s, e in changed) for s1, e1 in events.tolist())
    return {
        "precision": judged.precision,
        "recall": judged.recall,
        "f1": judged.f1,
        "false": judged.false,
        "normal_rows": judged.normal_rows,
        "alarmed_rows": judged.alarmed_rows,
        "best_f1": best.f1,
        "found_at_1": curve.found_at(1.0),
        "found_at_0.2": curve.found_at(0.2),
        "affiliation": best_f1(data.label, score).f1,
        "auc_pr": auc_pr(data.label, score),
        "vus_pr": vus(data.label, score, _VUS_WINDOW).pr,
        "events": len(events),
        "called_changed": called,
        "fit_seconds": fitting,
        "score_seconds": scoring,
    }


def run(
    results: Path,
    methods: list[str],
    families: Families,
    seeds: int,
    variants: Variants = VARIANTS,
) -> None:
    """Do what is not done yet."""
    done = {_key(one) for one in read_records(results)}
    for seed in range(seeds):
        for method in methods:
            for family, (name, entities) in families.items():
                for entity in entities:
                    key = (family, entity, seed, method)
                    if key in done or (method not in variants and seed > 0):
                        continue
                    found = judge(method, load(name, entity=entity), seed, variants)
                    said = dict(zip(("family", "entity", "seed", "method"), key, strict=True))
                    with results.open("a") as out:
                        out.write(json.dumps({**said, **found}) + "\n")
                    print(*key, f"F1 {found['f1']:.2f}", flush=True)


def table(results: Path) -> None:
    """Print means over entities (and seeds), a table for each family, in Markdown."""
    records = list(read_records(results))
    for family in FAMILIES:
        own = [one for one in records if one["family"] == family]
        if not own:
            continue
        print(f"\n### {family}\n")
        print(
            "| | P / R / F1, label-free | F1, best level | false per 1,000 normal rows "
            "| normal rows in incidents | found at 1 / 0.2 per 1,000 | best affiliation F1 "
            "| AUC-PR | VUS-PR | fit, CPU s |"
        )
        print("|---|---|---|---|---|---|---|---|---|---|")
        for method in dict.fromkeys(one["method"] for one in own):
            mine = [one for one in own if one["method"] == method]
            rows = sum(one["normal_rows"] for one in mine)

            def mean(name: str, mine: list[dict[str, Any]] = mine) -> float:
                return float(np.mean([one[name] for one in mine]))

            false = 1000 * sum(one["false"] for one in mine) / rows
            share = 100 * sum(one["alarmed_rows"] for one in mine) / rows
            seeds = len({one["seed"] for one in mine})
            print(
                f"| {method} ({seeds}) | {mean('precision'):.2f} / {mean('recall'):.2f} / "
                f"{mean('f1'):.2f} | {mean('best_f1'):.2f} | {false:.2f} | {share:.1f} % | "
                f"{mean('found_at_1'):.2f} / {mean('found_at_0.2'):.2f} | "
                f"{mean('affiliation'):.3f} | {mean('auc_pr'):.3f} | "
                f"{mean('vus_pr'):.3f} | {mean('fit_seconds'):.1f} |"
            )
        mine = [one for one in own if one["method"] == "default"]
        if mine:
            events = sum(one["events"] for one in mine)
            called = sum(one["called_changed"] for one in mine)
            print(f"\nEvents that overlap an incident called changed: {called} of {events}.")


def pairs(results: Path, against: list[str]) -> None:
    """Print where the default is ahead of others entity by entity, in Markdown.

    An interval is a bootstrap over entities of the differences of means over seeds.
    """
    records = list(read_records(results))
    print("| family | against | " + " | ".join(_JUDGED.values()) + " |")
    print("|---|---|" + "---|" * len(_JUDGED))
    for family in FAMILIES:
        own = [one for one in records if one["family"] == family]
        entities = list(dict.fromkeys(one["entity"] for one in own))
        for method in against:
            if method not in {one["method"] for one in own}:
                continue
            cells = []
            for name in _JUDGED:
                ahead = [
                    _mean(own, "default", entity, name) - _mean(own, method, entity, name)
                    for entity in entities
                ]
                cells.append(_say(ahead))
            print(f"| {family} | {method} | " + " | ".join(cells) + " |")


def _mean(records: list[dict[str, Any]], method: str, entity: str | None, name: str) -> float:
    own = [one[name] for one in records if (one["method"], one["entity"]) == (method, entity)]
    return float(np.mean(own))


def _say(ahead: list[float]) -> str:
    """A mean difference with its interval, and how many entities won, tied and lost."""
    won, lost = sum(one > 0.005 for one in ahead), sum(one < -0.005 for one in ahead)
    interval = bootstrap_mean(ahead)
    if interval is None:
        return f"{ahead[0]:+.3f}"
    return (
        f"{interval.mean:+.3f} ({interval.low:+.2f} to {interval.high:+.2f}), "
        f"{won} / {len(ahead) - won - lost} / {lost}"
    )


def read_records(results: Path) -> Iterator[dict[str, Any]]:
    """Every run of a file, in the order of their writing."""
    if results.exists():
        yield from map(json.loads, results.read_text().splitlines())


def _key(one: dict[str, Any]) -> tuple[Any, ...]:
    return one["family"], one["entity"], one["seed"], one["method"]


def main() -> None:
    """Parse and call."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("what", choices=("run", "table", "pairs"))
    parser.add_argument("--results", type=Path, default=RESULTS)
    parser.add_argument("--methods", nargs="+", default=[*VARIANTS, *SIMPLE])
    parser.add_argument("--families", nargs="+", default=list(FAMILIES))
    parser.add_argument("--seeds", type=int, default=1)
    given = parser.parse_args()
    if given.what == "run":
        chosen = {family: FAMILIES[family] for family in given.families}
        run(given.results, given.methods, chosen, given.seeds)
    elif given.what == "pairs":
        pairs(given.results, [*SIMPLE, "before"])
    else:
        table(given.results)


if __name__ == "__main__":
    main()
