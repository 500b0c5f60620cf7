"""Ten incidents of four kinds of data, explained by scores of single rows and as a whole.

ALORA_TS_DATA=… python -m benchmarks.incidents > results/incidents-before-after.md
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl

from alora_ts import ALoRa, Diagnosis, Incident
from alora_ts.datasets import load
from alora_ts.datasets.rootcause import load_cases
from alora_ts.datasets.synthetic import plant

FIRST = 3
LEAD = 100
HEAD = """# Ten incidents, explained before and after

```sh
ALORA_TS_DATA=… python -m benchmarks.incidents > results/incidents-before-after.md
```

*Before* is what 0.1 called culprits: the localization by row, summed over the incident. *After* is
what an incident says today. Default settings, seed 0. Taken by a rule and not by result: the first
three faults of the simulated water works, the first three cases of the Sock Shop, the first issue
of each traffic of PetShop, and the first two labelled stretches of the first server of SMD that is
there. A server's label names what was affected, not where it began.

| fault | culprits before | culprits after | origin after |
|---|---|---|---|"""


def worst(found: Diagnosis, start: int, end: int) -> Incident | None:
    """The incident with the highest score that touches some rows, if any does."""
    touched = [one for one in found.incidents if one.end > start and one.start < end]
    return max(touched, key=lambda one: one.score, default=None)


def diagnose(normal: Any, rows: Any, names: tuple[str, ...]) -> Diagnosis:
    """Fit on normal rows and diagnose others."""
    columns = list(names)
    model = ALoRa(localization="blend").fit(
        pl.DataFrame(normal, schema=columns, orient="row"), progress=False
    )
    return model.diagnose(pl.DataFrame(rows, schema=columns, orient="row"), progress=False)


def incidents() -> Iterator[tuple[str, Diagnosis, Incident | None]]:
    """What happened, and what was found."""
    root = Path(os.environ["ALORA_TS_DATA"])
    made = plant()
    found = diagnose(made.train, made.test, made.variables)
    for fault in made.faults[:FIRST]:
        said = f"water works: {fault.kind} in {fault.variable}"
        yield said, found, worst(found, fault.start, fault.end)
    issues = load_cases(root / "petshop")
    firsts = {case.name.partition("/")[0]: case for case in reversed(issues)}
    for case in (*load_cases(root / "sock-shop")[:FIRST], *reversed(firsts.values())):
        normal = pl.DataFrame(case.normal).fill_nan(None).fill_null(strategy="forward")
        whole = normal.fill_null(strategy="backward").to_numpy()
        rows = case.anomalous
        if len(rows) < LEAD:  # an issue follows the normal rows
            rows = np.concatenate([whole[-LEAD:], rows])
        found = diagnose(whole, rows, case.variables)
        under = len(rows) - len(case.anomalous)
        said = f"{case.system}: {case.name} ({case.cause or case.group})"
        yield said, found, worst(found, under, len(rows))
    machine = min(path.stem for path in (root / "SMD" / "train").glob("*.txt"))
    data = load("SMD", root, machine)
    found = diagnose(data.train, data.test, data.variables)
    for part in data.interpretation[:2]:
        affected = ", ".join(data.variables[at] for at in part.variables)
        said = f"server {machine}: affected are {affected}"
        yield said, found, worst(found, part.start, part.end)


def before(found: Diagnosis, incident: Incident) -> str:
    """The first three by the sum of scores by row."""
    summed = found.localization[incident.start : incident.end].sum(0)
    order = np.argsort(-summed, kind="stable")[:3]
    return ", ".join(f"{found.variables[at]} {summed[at] / summed.sum():.0%}" for at in order)


def after(incident: Incident) -> str:
    """The first three culprits."""
    listed = (f"{one.variable} {one.share:.0%} {one.direction}" for one in incident.culprits[:3])
    return ", ".join(listed)


def main() -> None:
    """Print the table."""
    print(HEAD)
    for said, found, incident in incidents():
        if incident is None or incident.origin is None:
            print(f"| {said} | – | no incident was found | – |")
            continue
        origin = f"{incident.origin.variable} {incident.origin.certainty:.0%}"
        print(f"| {said} | {before(found, incident)} | {after(incident)} | {origin} |")


if __name__ == "__main__":
    main()
