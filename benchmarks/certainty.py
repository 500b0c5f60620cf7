"""Certainty of origins where relations between signals are not known, with other factors.

    python -m benchmarks.certainty          # results/certainty.md

A model of few rows judges each signal by its own range, and the certainty of an origin is the
softmax of the weights times a factor that was chosen on the Sock Shop
(:mod:`alora_ts.diagnosis.explanation`). Simulated systems of five families, of which only the last
250 normal rows are learned, are judged with other factors: were there one that is right for some
families, would it be for the others?
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import numpy as np
from benchmarks.origin_systems import record

from alora_ts import ALoRa
from alora_ts.bench.rootcause import calibration_error, calibration_error_by_chance
from alora_ts.datasets.rootcause import SIMULATED, RootCauseCase, simulated_cases
from alora_ts.diagnosis import explanation

OUT = Path("results/certainty.md")
ROWS, LEAD = 250, 100
FACTORS = (1.5, 2.0, 3.0, 4.0, 5.0)
NUMBERS = range(1000, 1005)
SYSTEMS = 8


def recorded(family: str, number: int) -> Iterator[RootCauseCase]:
    """The faults of a system that moved more than their origin."""
    made = record(family, number)
    names = tuple(f"x{at}" for at in range(made.train.shape[1]))
    for fault, reached in zip(made.faults, made.reached, strict=True):
        if reached:
            first = max(fault.start - LEAD, 0)
            yield RootCauseCase(
                system=family,
                name=f"{number} {fault.kind}",
                variables=names,
                groups=names,
                normal=made.train,
                anomalous=made.test[first : fault.end],
                cause=names[fault.origin],
                group=names[fault.origin],
                start=fault.start - first,
                end=fault.end - first,
            )


def cases() -> Iterator[RootCauseCase]:
    """Of all families, with few normal rows."""
    for family in ("linear", "nonlinear", "instant"):
        for number in NUMBERS:
            yield from (replace(one, normal=one.normal[-ROWS:]) for one in recorded(family, number))
    for system in SIMULATED:
        for one in simulated_cases(system, count=SYSTEMS):
            yield replace(one, normal=one.normal[-ROWS:])


def judge(model: ALoRa, case: RootCauseCase) -> Iterator[tuple[float, float, bool]]:
    """Factor, certainty of the origin of the worst incident, and whether it is right."""
    for factor in FACTORS:
        explanation._SHARPNESS_ALONE = factor
        found = model.diagnose(case.anomalous, progress=False)
        touched = [one for one in found.incidents if one.end > case.start and one.start < case.end]
        worst = max(touched, key=lambda one: one.score, default=None)
        if worst is not None and worst.origin is not None:
            named = case.variables[found.variables.index(worst.origin.variable)]
            yield factor, worst.origin.certainty, named == case.cause


def main() -> None:
    """Measure and write the page."""
    found: dict[str, dict[float, list[tuple[float, bool]]]] = {}
    key, model = b"", ALoRa()
    for case in cases():
        if (now := case.normal.tobytes()) != key:
            key, model = now, ALoRa(threads=1).fit(case.normal, progress=False)
            print(case.system, case.name, flush=True)
        if model.model_.judge.usual.relations:
            continue
        for factor, certainty, right in judge(model, case):
            found.setdefault(case.system, {}).setdefault(factor, []).append((certainty, right))
    head = " | ".join(f"factor {factor:g}" for factor in FACTORS)
    lines = [f"| family | origins | right | {head} |", f"|{'---|' * (3 + len(FACTORS))}"]
    for system, by in found.items():
        truth = np.array([one for _, one in by[FACTORS[0]]])
        cells = []
        for factor in FACTORS:
            said = np.array([one for one, _ in by[factor]])
            error = calibration_error(said, truth)
            chance, _ = calibration_error_by_chance(said)
            cells.append(f"{said.mean():.2f} / {error:.2f} ({chance:.2f})")
        lines.append(f"| {system} | {len(truth)} | {truth.mean():.2f} | {' | '.join(cells)} |")
    page = [
        "# Certainty of origins where relations between signals are not known",
        "Mean certainty / calibration error in 10 bins (of exact certainties, in the mean). "
        f"Systems of which {ROWS} normal rows were learned. `python -m benchmarks.certainty`",
        "\n".join(lines),
    ]
    OUT.write_text("\n\n".join(page) + "\n")
    print(OUT.read_text())


if __name__ == "__main__":
    main()
