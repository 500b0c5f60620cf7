"""Quality on SMD, ASD and MSL: makes the numbers of docs/quality.md.

Every run (entity × seed × variant) is a file of its own under the folder of results; a finished
one is never repeated, so the whole can be interrupted and started again, and several processes
can share the work (a run that another has begun is left to it).

    ALORA_TS_DATA=… python benchmarks/quality.py run --results results/quality
    python benchmarks/quality.py table --results results/quality
"""

from __future__ import annotations

import argparse
import json
import os
import sys
import time
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray

from alora_ts import ALoRa, Architecture, Training, baselines
from alora_ts.data import as_table, plan_windows
from alora_ts.datasets import load
from alora_ts.datasets.dataset import Dataset
from alora_ts.diagnosis import localize
from alora_ts.diagnosis.localization import LOCALIZATIONS
from alora_ts.files import write_atomically
from alora_ts.metrics import affiliation, auc_pr, best_f1, hit_rate, ips, ndcg
from alora_ts.model.fitted import FittedModel
from alora_ts.model.localize import localize_rows
from alora_ts.scoring.rules import causal_mean, memory_segments
from evidence import evidence_of

Array = NDArray[Any]

VARIANTS: dict[str, dict[str, Any]] = {
    "default": {},
    # What the authors' program does where it differs from the paper's equations.
    "authors": {
        "architecture": Architecture.authors(),
        "training": Training(penalty="authors"),
    },
}
# Windows padded as the paper does.
VARIANTS["circular"] = {"architecture": Architecture(padding="circular")}
# The same fit, judged by the localization that is built on W_t; slow, so apart.
VARIANTS["window"] = {}
SMD = tuple(f"machine-1-{number}" for number in range(2, 9))
ASD = tuple(f"omi-{number}" for number in range(1, 7))


def plan(datasets: list[str], seeds: int, variants: list[str]) -> list[tuple[str, str, int, str]]:
    """All runs, the most informative first."""
    named = {"SMD": SMD, "ASD": ASD, "MSL": ("",)}
    return [
        (variant, dataset, seed, entity)
        for variant in variants
        for seed in range(seeds)
        for dataset in datasets
        for entity in named[dataset]
    ]


def judge(label: Array, score: Array) -> dict[str, float]:
    """Detection at the oracle threshold, and without one."""
    best = best_f1(label, score)
    return {
        "f1": best.f1,
        "precision": best.precision,
        "recall": best.recall,
        "auc_pr": auc_pr(label, score),
    }


def locate(truth: Array, scores: Array) -> dict[str, float]:
    """Localization on the rows with a known truth."""
    found = {}
    for percent in (100, 150):
        found[f"hr@{percent}"] = hit_rate(truth, scores, percent=percent)
        found[f"ndcg@{percent}"] = ndcg(truth, scores, percent=percent)
        found[f"ips@{percent}"] = ips(truth, scores, percent=percent)
    return found


def standardised(data: Dataset) -> tuple[Array, Array]:
    """Plain mean and standard deviation of train; a constant variable keeps its own unit."""
    center, spread = data.train.mean(0, dtype=np.float64), data.train.std(0, dtype=np.float64)
    spread[spread < 1e-6] = 1.0
    return (data.train - center) / spread, (data.test - center) / spread


def pca_error(train: Array, test: Array) -> Array:
    """Squared distance from the principal subspace that holds 90 % of the variance."""
    _, singular, axes = np.linalg.svd(train - train.mean(0), full_matrices=False)
    kept = int(np.searchsorted(np.cumsum(singular**2) / np.sum(singular**2), 0.9)) + 1
    centred = test - train.mean(0)
    residual: Array = centred - centred @ axes[:kept].T @ axes[:kept]
    return np.square(residual).sum(1)


def located_by_c(model: FittedModel, plain: Array, remembered: Array) -> dict[str, Array]:
    """Every form that traces by C, on the row's own errors and on remembered ones."""
    c = model.contributions
    forms = {form: localize(plain, c, form=form) for form in LOCALIZATIONS}
    again = ("error", "absolute", "blend", "paper", "paper-top-k", "authors")
    return forms | {f"{form}, remembered": localize(remembered, c, form=form) for form in again}


def by_window(
    model: FittedModel, error: Array, values: Array, borders: Array, truth: Array
) -> Array:
    """The form built on W_t, for the rows that are judged; zeros elsewhere."""
    plan = plan_windows(len(values), model.window, borders)
    rows = np.flatnonzero(truth.any(1))
    window = replace(model, options=replace(model.options, localization="window"))
    scores = np.zeros_like(error)
    scores[rows] = localize_rows(
        window, error[rows], lambda part: plan.gather(values, plan.of_row[rows[part]])
    )
    return scores


def run_one(variant: str, dataset: str, seed: int, entity: str, root: Path) -> dict[str, Any]:
    """Fit, score and judge one entity."""
    data = load(dataset, root, entity or None)
    began = time.perf_counter()
    estimator = ALoRa(seed=seed, **VARIANTS[variant]).fit(
        data.train, segments=data.train_segments, progress=False
    )
    fitted = time.perf_counter()
    model = estimator.model_
    if model.training.stopped == "interrupted":
        # The fit kept its best weights, but a partial training is not a result.
        raise KeyboardInterrupt
    table = as_table(data.test)
    _, values, borders = model.prepare(table, data.test_segments)
    evidence = evidence_of(model, values, borders)
    scored = time.perf_counter()
    rule = model.calibration.rule
    residual = (values - evidence.expected).astype(np.float64)
    error, plain = rule.error(residual), np.square(residual)
    memory = memory_segments(borders, evidence.warm_up)
    raw = rule.raw(error.sum(1), evidence.rank, memory)
    rank = evidence.rank.astype(np.float64)
    train, test = standardised(data)
    label = data.label
    drift = model.calibration.level().follow(raw, evidence.warm_up)
    calibrated = raw / (drift * model.calibration.threshold.value)
    scores = {
        "default": calibrated,
        "refined": raw,
        "AS": plain.sum(1) * rank,
        "error": plain.sum(1),
        "refined without rank": causal_mean(error.sum(1), rule.smoothing, memory),
        "rank": rank,
    }
    if seed == 0 and variant == "default":
        scores |= {"norm": np.square(test).sum(1), "pca": pca_error(train, test)}
        scores["knn"] = baselines.get("knn", "cpu").fit(data.train).score(data.test)
        scores |= {
            f"random {draw}": np.random.default_rng(draw).random(len(label)) for draw in range(3)
        }
    alarm = calibrated > 1
    label_free = affiliation(label, alarm)
    fixed = raw > model.calibration.threshold.value
    result: dict[str, Any] = {
        "variant": variant,
        "dataset": dataset,
        "entity": data.entity,
        "seed": seed,
        "fit_seconds": fitted - began,
        "score_seconds": scored - fitted,
        "windows_seen": model.training.windows,
        "best_epoch": model.training.best_epoch,
        "detection": {name: judge(label, score) for name, score in scores.items()},
        "label_free": {
            "f1": label_free.f1,
            "precision": label_free.precision,
            "recall": label_free.recall,
            "alarm_share_on_normal": float(alarm[~label].mean()),
            "asked": model.calibration.threshold.share,
            "f1_fixed": affiliation(label, fixed).f1,
            "alarm_share_on_normal_fixed": float(fixed[~label].mean()),
        },
    }
    truth = data.truth()
    if truth.any() and dataset != "MSL":
        remembered = causal_mean(rule.blame(residual), model.options.localization_memory, memory)
        if variant == "window":
            located = {
                "window": by_window(model, plain, values, borders, truth),
                "window, remembered": by_window(model, remembered, values, borders, truth),
            }
        else:
            located = located_by_c(model, plain, remembered)
        if seed == 0 and variant == "default":
            located |= {
                "squared input": np.square(test),
                "random": np.random.default_rng(0).random(test.shape),
            }
        result["localization"] = {name: locate(truth, s) for name, s in located.items()}
    return result


def run(args: argparse.Namespace) -> None:
    """Do what is not done yet."""
    torch.set_num_threads(args.threads)
    root = Path(args.data or os.environ["ALORA_TS_DATA"])
    results = Path(args.results)
    results.mkdir(parents=True, exist_ok=True)
    todo = plan(args.datasets.split(","), args.seeds, args.variants.split(","))
    for number, (variant, dataset, seed, entity) in enumerate(todo, start=1):
        name = f"{variant}-{dataset}-{entity or 'all'}-{seed}.json"
        target, claim = results / name, results / f".{name}.begun"
        if target.exists():
            continue
        try:
            claim.touch(exist_ok=False)
        except FileExistsError:
            continue
        try:
            found = run_one(variant, dataset, seed, entity, root)
            with write_atomically(target) as part:
                part.write_text(json.dumps(found, indent=1, sort_keys=True))
            default = found["detection"]["default"]
            print(
                f"{number}/{len(todo)} {name}: F1 {default['f1']:.3f} "
                f"AUC-PR {default['auc_pr']:.3f} fit {found['fit_seconds']:.0f} s "
                f"score {found['score_seconds']:.0f} s",
                flush=True,
            )
        finally:
            claim.unlink()


def main() -> None:
    """Parse and call."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawTextHelpFormatter
    )
    commands = parser.add_subparsers(dest="command", required=True)
    runs = commands.add_parser("run", help="do the runs that are not done yet")
    runs.add_argument("--data", help="folder with SMD/, ASD/, MSL/ (default: ALORA_TS_DATA)")
    runs.add_argument("--results", default="results/quality")
    runs.add_argument("--datasets", default="SMD,ASD,MSL")
    runs.add_argument("--variants", default="default,authors")
    runs.add_argument("--seeds", type=int, default=3)
    runs.add_argument("--threads", type=int, default=1)
    tables = commands.add_parser("table", help="print the tables of docs/quality.md")
    tables.add_argument("--results", default="results/quality")
    args = parser.parse_args()
    if args.command == "run":
        run(args)
        return
    from quality_tables import print_tables

    print_tables(Path(args.results), sys.stdout)


if __name__ == "__main__":
    main()
