"""Where the score wins and loses, event by event: makes the pictures of docs/quality-study.md.

    ALORA_TS_DATA=… python benchmarks/quality_study.py --evidence study-evidence

Fits one model for each SMD machine and ASD server (seed 0, with the paper's circular padding, whose
echo the study found), keeps what it says of every row in the
folder of evidence (a finished one is not repeated), prints the tables and writes the pictures.
Labels are used to look at results only.
"""

from __future__ import annotations

import argparse
import os
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import matplotlib as mpl

mpl.use("Agg")
import matplotlib.pyplot as plt
import numpy as np
import torch
from numpy.typing import NDArray

from alora_ts import ALoRa, Architecture, baselines
from alora_ts.data import as_table
from alora_ts.datasets import load
from alora_ts.metrics import affiliation, auc_pr, best_f1
from alora_ts.model.fitted import FittedModel, limit
from alora_ts.scoring.rules import causal_mean, memory_segments
from alora_ts.scoring.threshold import choose_threshold
from evidence import evidence_of
from quality import ASD, SMD, pca_error, standardised

Array = NDArray[Any]
SHARE = 0.02
BLUE, ORANGE, GREEN, GREY = "#0072B2", "#D55E00", "#009E73", "#777777"


@dataclass(frozen=True)
class Study:
    """One entity: its data and every score of it."""

    name: str
    test: Array
    expected: Array
    error: Array
    rank: Array
    drift: Array
    raw: Array
    held_back: Array
    threshold: float
    label: Array
    scores: dict[str, Array]
    variables: tuple[str, ...]

    def events(self) -> list[slice]:
        """The labelled events."""
        edges = np.flatnonzero(np.diff(np.r_[0, self.label.astype(int), 0]))
        return [slice(a, b) for a, b in edges.reshape(-1, 2)]


def gather(dataset: str, entity: str, root: Path, folder: Path) -> Study:
    """Fit, score and keep; or read what was kept."""
    file = folder / f"{dataset}-{entity}.npz"
    data = load(dataset, root, entity)
    if not file.exists():
        model = (
            ALoRa(architecture=Architecture(padding="circular"))
            .fit(data.train, segments=data.train_segments, progress=False)
            .model_
        )
        _, values, borders = model.prepare(as_table(data.test), data.test_segments)
        found = evidence_of(model, values, borders)
        rule, calibration = model.calibration.rule, model.calibration
        residual = (values - found.expected).astype(np.float64)
        memory = memory_segments(borders, found.warm_up)
        error = rule.error(residual)
        raw = rule.raw(error.sum(1), found.rank, memory)
        train, test = standardised(data)
        normal = model.preparation.apply(as_table(data.train))
        quiet = held_back_scores(model, limit(normal.values, model.input_limit), normal.segments)
        np.savez(
            file,
            expected=model.preparation.standardiser.restore(found.expected).astype(np.float32),
            error=error.astype(np.float32),
            rank=found.rank,
            drift=calibration.level().follow(raw, found.warm_up),
            threshold=calibration.threshold.value,
            raw=raw,
            held_back=quiet,
            without_rank=causal_mean(error.sum(1), rule.smoothing, memory),
            paper=np.square(residual).sum(1) * found.rank,
            norm=np.square(test).sum(1),
            pca=pca_error(train, test),
            knn=baselines.get("knn", "cpu").fit(data.train).score(data.test),
        )
        print(f"{dataset} {entity} done", flush=True)
    kept = np.load(file)
    scores = {
        "default": kept["raw"] / (kept["drift"] * kept["threshold"]),
        "without rank": kept["without_rank"],
        "paper's AS": kept["paper"],
        "‖x‖²": kept["norm"],
        "PCA": kept["pca"],
        "kNN": kept["knn"],
    }
    return Study(
        name=entity,
        test=data.test,
        expected=kept["expected"],
        error=kept["error"],
        rank=kept["rank"],
        drift=kept["drift"],
        raw=kept["raw"],
        held_back=kept["held_back"],
        threshold=float(kept["threshold"]),
        label=data.label.astype(bool),
        scores=scores,
        variables=tuple(data.variables),
    )


def held_back_scores(model: FittedModel, values: Array, segments: Array) -> Array:
    """Raw scores of the last tenth of the training rows, which no weight has seen."""
    first = round(0.9 * len(values)) - model.window + 1
    part, borders = values[first:], segments[first:]
    found = evidence_of(model, part, borders)
    rule = model.calibration.rule
    error = rule.error((part - found.expected).astype(np.float64)).sum(1)
    raw = rule.raw(error, found.rank, memory_segments(borders, found.warm_up))
    quiet: Array = raw[~found.warm_up]
    return quiet


def level(score: Array, label: Array) -> float:
    """The level that 2 % of the rows labelled normal exceed: the same budget for every score."""
    return float(np.quantile(score[~label], 1 - SHARE))


def found_events(studies: list[Study]) -> None:
    """How many events each score finds at the same budget of false alarms."""
    names = list(studies[0].scores)
    print(
        "| score | events found | of them short (≤ 20 rows) | median delay, rows | only this one |"
    )
    print("|---|---:|---:|---:|---:|")
    hit: dict[str, list[bool]] = {name: [] for name in names}
    delay: dict[str, list[int]] = {name: [] for name in names}
    short: list[bool] = []
    for study in studies:
        levels = {name: level(score, study.label) for name, score in study.scores.items()}
        for event in study.events():
            short.append(event.stop - event.start <= 20)
            for name, score in study.scores.items():
                above = np.flatnonzero(score[event] > levels[name])
                hit[name].append(len(above) > 0)
                if len(above):
                    delay[name].append(int(above[0]))
    table = np.array([hit[name] for name in names])
    for name, row in zip(names, table, strict=True):
        alone = int((row & (table.sum(0) == 1)).sum())
        print(
            f"| {name} | {row.sum()} of {row.size} | {int((row & np.array(short)).sum())} of "
            f"{sum(short)} | {np.median(delay[name]):.0f} | {alone} |"
        )
    print(f"\nFound by none: {int((table.sum(0) == 0).sum())}.")


def shares(studies: list[Study]) -> None:
    """Label-free F1 and rate of alarms for several shares, with and without following."""
    print("| share asked for | F1, fixed level | alarms on normal | F1, following | on normal |")
    print("|---:|---:|---:|---:|---:|")
    for share in (0.002, 0.005, 0.01, 0.02, 0.03):
        cells = []
        for study in studies:
            at = choose_threshold(study.held_back, alarm_share=share).value
            for score in (study.raw, study.raw / study.drift):
                alarm = score > at
                cells.append((affiliation(study.label, alarm).f1, alarm[~study.label].mean()))
        fixed, following = np.mean(cells[0::2], 0), np.mean(cells[1::2], 0)
        print(
            f"| {share:g} | {fixed[0]:.3f} | {fixed[1]:.4f} | {following[0]:.3f} | "
            f"{following[1]:.4f} |"
        )
    oracle = np.mean([best_f1(s.label, s.scores["default"]).f1 for s in studies])
    print(f"\nBest F1 over all levels, with labels: {oracle:.3f}.")


def followers(studies: list[Study]) -> None:
    """Other ways to follow the level: quantile, memory and power, at the default share."""
    print("| quantile | memory | power | AUC-PR | label-free F1 | alarms on normal |")
    print("|---:|---:|---:|---:|---:|---:|")
    for quantile in (0.1, 0.5, 0.8):
        for memory in (500, 2000):
            for power in (0.5, 1.0):
                cells = []
                for study in studies:
                    past = np.r_[study.held_back[-memory:], study.raw]
                    usual = np.quantile(study.held_back, quantile)
                    windows = np.lib.stride_tricks.sliding_window_view(past, memory)
                    # Every tenth row is enough to see the effect.
                    lately = np.quantile(windows[-len(study.raw) - 1 : -1 : 10], quantile, axis=1)
                    rise = np.repeat(lately / usual, 10)[: len(study.raw)]
                    score = study.raw / np.minimum(np.maximum(rise, 1) ** power, 4)
                    alarm = score > study.threshold
                    cells.append(
                        (
                            auc_pr(study.label, score),
                            affiliation(study.label, alarm).f1,
                            alarm[~study.label].mean(),
                        )
                    )
                mean = np.mean(cells, 0)
                print(
                    f"| {quantile:g} | {memory} | {power:g} | {mean[0]:.3f} | {mean[1]:.3f} | "
                    f"{mean[2]:.4f} |"
                )


def shade(axes: Any, study: Study, rows: slice) -> None:
    """Mark the labelled events."""
    for event in study.events():
        if event.stop > rows.start and event.start < rows.stop:
            axes.axvspan(event.start, event.stop, color="#F0E442", alpha=0.45, lw=0)
    axes.set_xlim(rows.start, rows.stop)
    axes.spines[["top", "right"]].set_visible(False)


def draw_drift(study: Study, file: Path) -> None:
    """The score of a machine that drifts, with the fixed level and the following one."""
    figure, axes = plt.subplots(figsize=(8, 2.6), layout="constrained")
    rows = slice(0, len(study.label))
    axes.semilogy(study.raw.clip(study.threshold / 1e3), color=BLUE, lw=0.4, label="raw score")
    axes.axhline(study.threshold, color=GREY, lw=1, ls="--", label="fixed level")
    axes.plot(study.threshold * study.drift, color=ORANGE, lw=1.3, label="following level")
    shade(axes, study, rows)
    axes.set(title=f"{study.name}: drift fills the day with alarms", xlabel="row (events shaded)")
    axes.legend(loc="upper left", ncols=3, fontsize=8, frameon=False)
    figure.savefig(file, dpi=150)
    plt.close(figure)


def draw_event(study: Study, event: slice, title: str, file: Path) -> None:
    """Scores around an event over their own levels, and the signals that deviate most."""
    margin = max(60, event.stop - event.start)
    rows = slice(max(0, event.start - margin), min(len(study.label), event.stop + margin))
    shown = ("default", "paper's AS", "‖x‖²")
    leaders = np.argsort(-study.error[event].mean(0))[:2]
    figure, (top, *below) = plt.subplots(
        3, 1, figsize=(8, 5.2), layout="constrained", sharex=True, height_ratios=(1.4, 1, 1)
    )
    for name, colour in zip(shown, (BLUE, ORANGE, GREEN), strict=True):
        score = study.scores[name]
        relative = score / level(score, study.label)
        top.semilogy(
            np.arange(rows.start, rows.stop), relative[rows], color=colour, lw=1, label=name
        )
    top.axhline(1, color=GREY, lw=0.8, ls="--")
    top.set(title=title, ylabel="score / its level")
    top.legend(ncols=3, fontsize=8, frameon=False)
    for axes, at in zip(below, leaders, strict=True):
        axes.plot(np.arange(rows.start, rows.stop), study.test[rows, at], color=BLUE, lw=1)
        axes.plot(
            np.arange(rows.start, rows.stop), study.expected[rows, at], color=ORANGE, lw=1, ls="--"
        )
        axes.set_ylabel(study.variables[at], fontsize=8)
    for axes in (top, *below):
        shade(axes, study, rows)
    below[-1].set_xlabel("row (the event is shaded; dashed: expected)")
    figure.savefig(file, dpi=150)
    plt.close(figure)


def draw_rank(studies: list[Study], file: Path) -> None:
    """What the rank adds on each entity, in AUC-PR."""
    gain = [auc_pr(s.label, s.raw) - auc_pr(s.label, s.scores["without rank"]) for s in studies]
    figure, axes = plt.subplots(figsize=(8, 2.6), layout="constrained")
    colours = [BLUE if each >= 0 else ORANGE for each in gain]
    axes.bar([s.name.removeprefix("machine-") for s in studies], gain, color=colours)
    axes.axhline(0, color=GREY, lw=0.8)
    axes.set(title="What the rank adds to the error", ylabel="AUC-PR")
    axes.spines[["top", "right"]].set_visible(False)
    figure.savefig(file, dpi=150)
    plt.close(figure)


def clearest(study: Study, mine: str, other: str) -> slice:
    """The event that one score shows most clearly beyond another, each relative to its level."""
    ratio = {
        name: study.scores[name] / level(study.scores[name], study.label) for name in (mine, other)
    }
    events = study.events()
    lead = [np.log(ratio[mine][e].max()) - np.log(ratio[other][e].max()) for e in events]
    return events[int(np.argmax(lead))]


def main() -> None:
    """Gather, print, draw."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawTextHelpFormatter
    )
    parser.add_argument("--data", help="folder with SMD/ and ASD/ (default: ALORA_TS_DATA)")
    parser.add_argument("--evidence", default="study-evidence")
    parser.add_argument("--images", default="docs/images")
    args = parser.parse_args()
    torch.set_num_threads(1)
    root = Path(args.data or os.environ["ALORA_TS_DATA"])
    folder, images = Path(args.evidence), Path(args.images)
    folder.mkdir(parents=True, exist_ok=True)
    by_kind = {
        kind: [gather(kind, entity, root, folder) for entity in entities]
        for kind, entities in (("SMD", SMD), ("ASD", ASD))
    }
    for kind, studies in by_kind.items():
        print(f"\n### {kind}: events found at 2 % alarms on normal rows\n")
        found_events(studies)
        print(f"\n### {kind}: the level without labels\n")
        shares(studies)
    print("\n### SMD: ways to follow the level\n")
    followers(by_kind["SMD"])
    smd = {study.name: study for study in by_kind["SMD"]}
    draw_rank([*by_kind["SMD"], *by_kind["ASD"]], images / "study-rank.png")
    draw_drift(smd["machine-1-5"], images / "study-drift.png")
    won, lost = smd["machine-1-4"], smd["machine-1-7"]
    event = clearest(won, "default", "‖x‖²")
    draw_event(
        won,
        event,
        f"{won.name}: seen by residuals only, with an echo at row 18490",
        images / "study-won.png",
    )
    event = clearest(lost, "‖x‖²", "default")
    draw_event(
        lost,
        event,
        f"{lost.name}: the square of one variable is louder, not earlier",
        images / "study-lost.png",
    )


if __name__ == "__main__":
    main()
