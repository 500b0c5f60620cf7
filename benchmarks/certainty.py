"""Certainty of origins with other factors, family by family, each left out in turn.

    python -m benchmarks.certainty          # results/certainty.md, 10 minutes

The certainty of an origin is the softmax of a factor times the weights of the culprits
(:mod:`alora_ts.diagnosis.explanation`). Were there a factor that is right for some families of
systems, would it be for the others? Simulated systems are judged twice: with all their normal rows,
of which relations between signals are learned, and with the last 250, of which for most they are
not; so are simulated shops (:mod:`benchmarks.shops`).
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import numpy as np
from benchmarks import shops
from benchmarks.origin_systems import FAMILIES, record

from alora_ts import ALoRa
from alora_ts.bench.rootcause import calibration_error, calibration_error_by_chance
from alora_ts.datasets.rootcause import SIMULATED, RootCauseCase, simulated_cases
from alora_ts.diagnosis import explanation

OUT = Path("results/certainty.md")
ROWS, LEAD = 250, 100
FACTORS = (1.0, 1.5, 2.0, 3.0)
NUMBERS = range(4000, 4006)
SYSTEMS = 12
SHOPS = range(200_000, 200_030)

Said = dict[str, dict[float, list[tuple[float, bool]]]]
"""By family and factor: certainties, and whether they were of the origin."""


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
    """Of all families, those of one system next to each other."""
    for family in FAMILIES:
        for number in NUMBERS:
            yield from recorded(family, number)
    for system in SIMULATED:
        yield from simulated_cases(system, count=SYSTEMS)


def few(case: RootCauseCase) -> RootCauseCase:
    """The same with few normal rows."""
    return replace(case, normal=case.normal[-ROWS:], system=f"{case.system}, {ROWS} rows")


def judge(model: ALoRa, case: RootCauseCase) -> Iterator[tuple[float, float, bool]]:
    """Factor, certainty of the origin of the worst incident, and whether it is right."""
    for factor in FACTORS:
        explanation._SHARPNESS = factor
        found = model.diagnose(case.anomalous, progress=False)
        touched = [one for one in found.incidents if one.end > case.start and one.start < case.end]
        worst = max(touched, key=lambda one: one.score, default=None)
        if worst is not None and worst.origin is not None:
            named = case.variables[found.variables.index(worst.origin.variable)]
            yield factor, worst.origin.certainty, named == case.cause


def judge_shops() -> Iterator[tuple[float, float, bool]]:
    """The same of simulated shops, whose models know no relations."""
    for number in SHOPS:
        shop = shops.draw(number)
        model = ALoRa(threads=1).fit(shops.table(shop.normal, shop), progress=False)
        rows = shops.table(shop.under, shop)
        for factor in FACTORS:
            explanation._SHARPNESS = factor
            found = model.diagnose(rows, progress=False).incidents
            worst = max(found, key=lambda one: one.score, default=None)
            if worst is not None and worst.origin is not None:
                yield factor, worst.origin.certainty, worst.origin.variable in shop.faulty


def collect(relations: bool) -> Said:
    """Of the models that know relations, or of those that do not."""
    found: Said = {}
    key, model = b"", ALoRa()
    for each in cases():
        case = each if relations else few(each)
        if (now := case.normal.tobytes()) != key:
            key, model = now, ALoRa(threads=1).fit(case.normal, progress=False)
            print(case.system, case.name, flush=True)
        if model.model_.judge.usual.relations == relations:
            for factor, *said in judge(model, case):
                found.setdefault(case.system, {}).setdefault(factor, []).append((said[0], said[1]))
    if not relations:
        for factor, *said in judge_shops():
            found.setdefault("shops", {}).setdefault(factor, []).append((said[0], said[1]))
    return found


def error(said: list[tuple[float, bool]]) -> float:
    """Calibration error in ten bins."""
    return calibration_error(np.array([one for one, _ in said]), np.array([one for _, one in said]))


def measured(found: Said) -> str:
    """A line for each family, a column for each factor."""
    head = " | ".join(f"factor {factor:g}" for factor in FACTORS)
    lines = [f"| family | origins | right | {head} |", f"|{'---|' * (3 + len(FACTORS))}"]
    for system, by in found.items():
        cells = []
        for factor in FACTORS:
            certainty = np.array([one for one, _ in by[factor]])
            chance, _ = calibration_error_by_chance(certainty)
            cells.append(f"{certainty.mean():.2f} / {error(by[factor]):.2f} ({chance:.2f})")
        truth = [one for _, one in by[FACTORS[0]]]
        lines.append(f"| {system} | {len(truth)} | {np.mean(truth):.2f} | {' | '.join(cells)} |")
    return "\n".join(lines)


def left_out(found: Said) -> str:
    """For each family the factor that is best in the mean of the others, and its error there."""
    lines = ["| left out | factor of the others | error |", "|---|---|---|"]
    for system, own in found.items():
        others = [by for name, by in found.items() if name != system]
        means = {factor: np.mean([error(by[factor]) for by in others]) for factor in FACTORS}
        best = min(FACTORS, key=means.__getitem__)
        lines.append(f"| {system} | {best:g} | {error(own[best]):.2f} |")
    return "\n".join(lines)


def main() -> None:
    """Measure and write the page."""
    known, unknown = collect(True), collect(False)
    page = [
        "# Certainty of origins with other factors",
        "Mean certainty / calibration error in 10 bins (of exact certainties, in the mean), of the "
        "worst incident that touches each fault. `python -m benchmarks.certainty`",
        "## Where relations between signals are known",
        measured(known),
        left_out(known),
        "## Where they are not",
        measured(unknown),
        left_out(unknown),
    ]
    OUT.write_text("\n\n".join(page) + "\n")
    print(OUT.read_text())


if __name__ == "__main__":
    main()
