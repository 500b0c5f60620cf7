"""What each variable should count, and how the level should follow drift: the trials behind both.

    ALORA_TS_DATA=… python benchmarks/quality_scales.py --evidence evidence --seeds 0,1

Fits one model for each entity and seed and keeps its residuals and ranks on normal and test rows
in the folder of evidence (a finished one is not repeated); then scores them in several ways and
prints a table: best affiliation F1, AUC-PR, F1 at the level chosen without labels, and the share of
rows labelled normal that alarm there. Labels only judge.
"""

from __future__ import annotations

import argparse
import os
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray

from alora_ts import ALoRa
from alora_ts.data import as_table
from alora_ts.data.windows import plan_windows
from alora_ts.datasets import load
from alora_ts.metrics import affiliation, auc_pr, best_f1
from alora_ts.scoring.rules import causal_mean, memory_segments
from alora_ts.scoring.spectrum import singular_values
from evidence import evidence_of
from quality import ASD, SMD

Array = NDArray[Any]
Evidence = dict[str, Array]
CAP, SMOOTHING, SHARE = 1000.0, 2, 0.02
RARE, RARE_SQUARE = 0.99, 6.635


def gather(dataset: str, entity: str, seed: int, root: Path, path: Path) -> Evidence:
    """Residuals and ranks of one fit; from the file if it is there."""
    if path.is_file():
        return dict(np.load(path))
    data = load(dataset, root, entity or None)
    model = ALoRa(seed=seed, threads=1).fit(data.train, segments=data.train_segments).model_
    level = model.calibration.rank_level
    _, values, borders = model.prepare(as_table(data.test), data.test_segments)
    found = evidence_of(model, values, borders)
    _, normal, normal_borders = model.prepare(as_table(data.train), data.train_segments)
    held_back_from = round(0.9 * len(normal))
    whole = plan_windows(len(normal), model.window, normal_borders)
    chosen = np.linspace(0, len(whole.ends) - 1, min(len(whole.ends), 12_000)).astype(np.intp)
    plan = replace(whole, ends=whole.ends[chosen], starts=whole.starts[chosen])
    expected = np.empty((len(plan.ends), normal.shape[1]), dtype=np.float32)
    sigma = np.empty((len(plan.ends), model.window), dtype=np.float32)
    for chunk in model.engine.chunks(normal, plan, lambda _: None):
        expected[chunk.windows] = chunk.expected
        sigma[chunk.windows] = singular_values(chunk.attention)
    kept = {
        "test": values,
        "expected": found.expected,
        "rank": found.rank,
        "warm": found.warm_up,
        "borders": borders,
        "label": data.label,
        "train": normal[plan.ends],
        "texp": expected,
        "sig": sigma,
        "held": plan.ends >= held_back_from,
        "tseg": normal_borders[plan.ends],
        "h1": np.array(level),
    }
    np.savez_compressed(path, **kept)
    return kept


def scales(one: Evidence, floor: float, rare: bool) -> Array:
    """What squared residual of each variable counts as 1."""
    squares = np.square(one["train"] - one["texp"], dtype=np.float64)
    usual = squares.mean(0)
    if rare:
        usual = np.maximum(usual, np.quantile(squares, RARE, axis=0) / RARE_SQUARE)
    return np.maximum(usual + floor * usual.mean(), 1e-8)


def weights(one: Evidence, power: float) -> Array:
    """What each variable counts: switches less where they outnumber the others."""
    few = np.array([len(np.unique(column)) <= 2 for column in one["train"].T])
    balance = min(1.0, (~few).sum() / max(few.sum(), 1))
    return np.where(few, balance**power, 1.0)


def raw_scores(one: Evidence, scale: Array, weight: Array) -> tuple[Array, Array, Array]:
    """Raw scores of test rows, of held-back rows and of rows spread over training."""

    def total(values: Array, expected: Array) -> Array:
        relative = np.square(values - expected, dtype=np.float64) / scale
        summed: Array = (np.minimum(relative, CAP) * weight).sum(1)
        return summed

    test = total(one["test"], one["expected"]) * one["rank"]
    normal = total(one["train"], one["texp"]) * (one["sig"] > one["h1"]).sum(1)
    held = one["held"]
    return (
        causal_mean(test, SMOOTHING, memory_segments(one["borders"], one["warm"])),
        causal_mean(normal[held], SMOOTHING, one["tseg"][held].astype(np.int64)),
        normal[~held],
    )


def followed(raw: Array, normal: Array, *, quantile: float, memory: int, power: float) -> Array:
    """By how much the level stands above its normal height before each row; at most tenfold."""
    spread = np.quantile(normal, np.linspace(0, 1, memory + 2)[1:-1])
    past = spread[np.random.default_rng(0).permutation(memory)]
    usual = max(np.quantile(spread, quantile), 1e-12)
    lined = np.concatenate([past, raw])
    view = np.lib.stride_tricks.sliding_window_view(lined[:-1], memory)
    # A level moves slowly; every 20th row is near enough for a trial.
    every = np.quantile(view[::20], quantile, axis=1)
    factor = np.repeat(every, 20)[: len(raw)] / usual
    limited: Array = np.clip(factor, 1.0, None) ** power
    return np.minimum(limited, 10.0)


def judge(one: Evidence, score: Array) -> tuple[float, float, float, float]:
    """Best F1, AUC-PR, F1 without labels, share of normal rows that alarm."""
    label = one["label"]
    alarm = score > 1
    return (
        best_f1(label, score).f1,
        auc_pr(label, score),
        affiliation(label, alarm).f1,
        float(alarm[~label].mean()),
    )


def scored(
    *,
    floor: float = 0.0,
    rare: bool = False,
    switches: float = 2.0,
    pooled: bool = True,
    quantile: float = 0.5,
    memory: int = 2000,
    power: float = 1.0,
) -> Callable[[Evidence], Array]:
    """One way to score; the arguments' defaults are the estimator's way."""

    def way(one: Evidence) -> Array:
        raw, held, spread = raw_scores(one, scales(one, floor, rare), weights(one, switches))
        normal = np.concatenate([held, spread]) if pooled else held
        level = followed(raw, normal, quantile=quantile, memory=memory, power=power)
        calibrated: Array = raw / (level * np.quantile(normal, 1 - SHARE))
        return calibrated

    return way


WAYS = {
    "the default": scored(),
    "normal errors with a floor of 0.3": scored(floor=0.3),
    "rare large errors raise the scale": scored(rare=True),
    "switches count fully": scored(switches=0.0),
    "switches count measured / switches": scored(switches=1.0),
    "level and threshold by held-back rows": scored(pooled=False),
    "level by the lowest tenth, square root": scored(quantile=0.1, power=0.5),
    "level by the lowest tenth": scored(quantile=0.1),
    "level by the last 500 rows": scored(memory=500),
    "level by the last 3,000 rows": scored(memory=3000),
    "level to the power 0.8": scored(power=0.8),
}


def main() -> None:
    """Gather, score, print."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawTextHelpFormatter
    )
    parser.add_argument("--evidence", type=Path, required=True)
    parser.add_argument("--data", help="folder with SMD/, ASD/, MSL/ (default: ALORA_TS_DATA)")
    parser.add_argument("--seeds", default="0")
    args = parser.parse_args()
    torch.set_num_threads(1)
    args.evidence.mkdir(parents=True, exist_ok=True)
    root = Path(args.data or os.environ["ALORA_TS_DATA"])
    named = {"SMD": SMD, "ASD": ASD, "MSL": ("",)}
    print(
        "| way | " + " | ".join(f"{name}: F1 / AUC-PR, label-free F1, on normal" for name in named)
    )
    print("|---|" + "---|" * len(named))
    every = [
        (
            dataset,
            gather(dataset, entity, seed, root, args.evidence / f"{dataset}_{entity}_{seed}.npz"),
        )
        for dataset, entities in named.items()
        for entity in entities
        for seed in map(int, args.seeds.split(","))
    ]
    for name, way in WAYS.items():
        cells = []
        for dataset in named:
            found = [judge(one, way(one)) for kind, one in every if kind == dataset]
            f1, area, free, normal = np.mean(found, axis=0)
            cells.append(f"{f1:.3f} / {area:.3f}, {free:.3f}, {normal:.4f}")
        print(f"| {name} | " + " | ".join(cells) + " |", flush=True)


if __name__ == "__main__":
    main()
