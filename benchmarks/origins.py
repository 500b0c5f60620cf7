"""Which form of localization names the origin of a fault that spread: docs/quality-origins.md.

Random systems (see benchmarks/origin_systems.py), each recorded healthy and then with 14 faults;
ALoRa with its defaults is fitted on the healthy rows, and every form ranks the signals from the
same fitted model. Counted are the faults that moved at least one signal beside their origin.
"incident" is what people see: `Incident.origin` of the worst incident that touches a fault, and of
the fault's own rows where they are given. The other forms are asked about the same incident, too:
over its alarming rows, weighed by how much they alarm, as release 0.1 named the origin.

    python benchmarks/origins.py                                # 48 fits, 10 to 15 minutes
    python benchmarks/origins.py --systems 2 --seeds 1 --out -  # a quick look, on the terminal
"""

from __future__ import annotations

import argparse
import json
import sys
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray

from alora_ts import ALoRa
from alora_ts.data import as_table, plan_windows
from alora_ts.diagnosis import Diagnosis, Incident, localize
from alora_ts.diagnosis.localization import LOCALIZATIONS
from alora_ts.diagnosis.shares import shares
from alora_ts.files import write_atomically
from alora_ts.model.fitted import FittedModel
from alora_ts.model.localize import origin_rows
from alora_ts.network import window_contributions
from alora_ts.scoring import Evidence
from alora_ts.scoring.rules import causal_mean, memory_segments
from evidence import evidence_of
from origin_systems import FAMILIES, Fault, Recording, record
from origin_tables import write_tables

Array = NDArray[np.float64]
_RESULTS = Path(__file__).parents[1] / "results"


def residuals(model: FittedModel, x: Array) -> tuple[Array, Array, Evidence]:
    """Scaled values, the network's residuals, and what else it says of the rows."""
    _, values, borders = model.prepare(as_table(x), None)
    found = evidence_of(model, values, borders)
    exact = values.astype(np.float64)
    return exact, exact - found.expected, found


def projected(residual: Array, directions: Array, inverse: Array) -> Array:
    """Reconstruction-based contributions: how much of each residual lies along each direction.

    ``directions`` is (d, d) or one such matrix per row; its row j is what a unit fault of variable
    j does to all residuals.
    """
    along = residual @ inverse
    if directions.ndim == 2:
        size = np.einsum("ji,ik,jk->j", directions, inverse, directions)
        share: Array = np.square(along @ directions.T) / np.maximum(size, 1e-12)
        return share
    size = np.einsum("nji,ik,njk->nj", directions, inverse, directions, optimize=True)
    hit = np.einsum("ni,nji->nj", along, directions)
    each: Array = np.square(hit) / np.maximum(size, 1e-12)
    return each


def rankings(
    model: FittedModel, data: Recording, rows: NDArray[np.intp], *, slow: bool
) -> dict[str, Array]:
    """The score of every form at the rows asked for, (rows, d); the slow ones where wanted."""
    values, residual, evidence = residuals(model, data.test)
    assert model.mechanisms is not None
    rule, c = model.calibration.rule, model.contributions
    memory = memory_segments(np.zeros(len(values), dtype=np.int64), evidence.warm_up)
    back = model.options.localization_memory
    plain, error = np.square(residual)[rows], rule.error(residual)
    remembered = causal_mean(error, back, memory)[rows]
    plan = plan_windows(len(values), model.window, None)
    scaled = values.astype(np.float32)

    def windows_of(which: NDArray[np.intp]) -> NDArray[np.float32]:
        return plan.gather(scaled, plan.of_row[which])

    _, normal, _ = residuals(model, data.train[-1000:])
    spread = np.cov(normal.T)
    inverse = np.linalg.inv(spread + 0.01 * np.trace(spread) / len(spread) * np.eye(len(spread)))
    identity = np.eye(len(c))
    surprise = np.concatenate(
        [
            np.square(model.mechanisms.residuals(windows_of(part))).mean(1)
            for part in np.array_split(rows, max(len(rows) // 64, 1))
        ]
    )
    found = {
        "random": np.random.default_rng(0).random(plain.shape),
        "squared input": np.square(values)[rows],
        "squared input, remembered": causal_mean(np.square(values), back, memory)[rows],
    }
    found |= {form: localize(plain, c, form=form) for form in LOCALIZATIONS}
    for form in ("error", "paper", "blend"):
        found[f"{form}, remembered"] = localize(remembered, c, form=form)
    steps = model.window - model.mechanisms.lags  # the rows that "origin" looks back on
    found[f"error, {steps} rows"] = causal_mean(error, steps, memory)[rows]
    if slow:
        w = by_window(model, windows_of(rows))
        found["window, remembered"] = localize(remembered, np.abs(w).sum(1), form="absolute")
        found["projection through W_t"] = projected(residual[rows], identity - w[:, -1], inverse)
    found |= {
        "projection through C": projected(residual[rows], identity - c, inverse),
        "squared surprise": surprise,
        "origin": origin_rows(model, rows, windows_of),
    }
    return found


def by_window(model: FittedModel, windows: NDArray[np.float32]) -> Array:
    """W_t of each window, (rows, T, d, d)."""
    parts = np.array_split(windows, max(len(windows) // 64, 1))
    return np.concatenate(
        [window_contributions(model.network, torch.from_numpy(part)).numpy() for part in parts]
    )


def worst(found: Diagnosis, fault: Fault) -> Incident | None:
    """The incident with the highest score that touches a fault, if any does."""
    touching = (one for one in found.incidents if one.end > fault.start and one.start < fault.end)
    return max(touching, key=lambda one: one.score, default=None)


def judge(data: Recording, seed: int) -> list[dict[str, Any]]:
    """Fit, and say of each fault which forms named its origin."""
    fitted = ALoRa(seed=seed).fit(data.train, progress=False)
    found = fitted.diagnose(data.test, progress=False)
    spans = [np.arange(fault.start, fault.end) for fault in data.faults]
    incidents = [worst(found, fault) for fault in data.faults]
    alarming = [_alarming(found, incident) for incident in incidents]
    # The forms built on W_t take as long as the fit; one seed shows how they do.
    rows = np.unique(np.concatenate(spans + alarming))
    scores = rankings(fitted.model_, data, rows, slow=seed == 0)
    outcomes = []
    for fault, reached, span, incident, alarm in zip(
        data.faults, data.reached, spans, incidents, alarming, strict=True
    ):
        if not reached:
            continue
        here, there = np.searchsorted(rows, span), np.searchsorted(rows, alarm)
        hits: dict[str, list[float | None]] = {}
        for form, table in scores.items():
            part, own = shares(table[here]), fault.origin
            row = float((table[here].argmax(1) == own).mean())
            whole = float(part.sum(0).argmax() == own)
            named = float((shares(table[there]).T @ found.score[alarm]).argmax() == own)
            hits[form] = [row, whole, named if len(alarm) else None]
        given = fitted.explain(data.test, fault.start, fault.end, progress=False)
        hits["incident"] = [None, _right(given, fault, found), _right(incident, fault, found)]
        origin = None if incident is None else incident.origin
        outcomes.append(
            {
                "kind": fault.kind,
                "reached": len(reached),
                "hits": hits,
                "certainty": None if origin is None else round(origin.certainty, 4),
            }
        )
    return outcomes


def _alarming(found: Diagnosis, incident: Incident | None) -> NDArray[np.intp]:
    if incident is None:
        return np.empty(0, dtype=np.intp)
    return incident.start + np.flatnonzero(found.alarm[incident.start : incident.end])


def _right(incident: Incident | None, fault: Fault, found: Diagnosis) -> float | None:
    if incident is None or incident.origin is None:
        return None
    return float(incident.origin.variable == found.variables[fault.origin])


def main(arguments: Sequence[str] | None = None) -> None:
    """Parse, run, write."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawTextHelpFormatter
    )
    parser.add_argument("--systems", type=int, default=6, help="systems of each family")
    parser.add_argument("--seeds", type=int, default=2, help="fits of each system")
    parser.add_argument("--first", type=int, default=0, help="seed of the first system")
    parser.add_argument("--out", default=str(_RESULTS / "origins.md"))
    args = parser.parse_args(arguments)
    torch.set_num_threads(1)
    command = f"python benchmarks/origins.py --systems {args.systems} --seeds {args.seeds}"
    outcomes = []
    for number in range(args.first, args.first + args.systems):
        for family in FAMILIES:
            data = record(family, number)
            for seed in range(args.seeds):
                began = time.perf_counter()
                for outcome in judge(data, seed):
                    where = {"family": family, "system": number, "seed": seed}
                    outcomes.append({**where, "signals": data.test.shape[1], **outcome})
                took = time.perf_counter() - began
                print(f"{family} {number}, seed {seed}: {took:.1f} s", file=sys.stderr, flush=True)
        tables = write_tables(outcomes, command=command)
        if args.out != "-":
            keep(outcomes, tables, Path(args.out))
    if args.out == "-":
        print(tables)


def keep(outcomes: list[dict[str, Any]], tables: str, target: Path) -> None:
    """Write the tables, and beside them what they were made from."""
    with write_atomically(target) as part:
        part.write_text(tables)
    with write_atomically(target.with_suffix(".jsonl")) as part:
        part.write_text(compact(outcomes))


def compact(outcomes: list[dict[str, Any]]) -> str:
    """One line for each fault; the forms are named once, in the order of the hits."""
    forms = list(outcomes[0]["hits"])
    lines = []
    for outcome in outcomes:
        hits = [
            [None if hit is None else round(hit, 3) for hit in outcome["hits"].get(form, [])]
            for form in forms
        ]
        lines.append(json.dumps({**outcome, "hits": hits}, separators=(",", ":")))
    return json.dumps({"forms": forms}) + "\n" + "\n".join(lines) + "\n"


if __name__ == "__main__":
    main()
