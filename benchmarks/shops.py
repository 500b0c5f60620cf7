"""Simulated shops: whether the metric at fault is named, whatever units, lengths and sizes are.

    python -m benchmarks.shops          # results/shops.md, about 5 minutes

A shop has services that call each other; each has six metrics: processor time, memory (a walk, a
gauge of a few steps, or a saw tooth), latency, load, errors and a constant. A fault raises one
metric of one service, or two, at once or slowly; the service's latency and that of its callers
follow. Every metric has a unit of its own, from 1e-6 to 1e9, and some stand far from zero; 1 % of
the cells are missing. The rows to explain are told, as to the yardsticks of
`alora-ts bench rootcause`; beside that stands what the worst incident found alone names.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
from numpy.typing import NDArray

from alora_ts import ALoRa, Incident

Array = NDArray[np.float64]

OUT = Path("results/shops.md")
CASES, FIRST = 12, 100_000
VARIATIONS: dict[str, dict[str, Any]] = {
    "290 rows, 8 services": {},
    "150 rows, 60 under the fault": {"normal": 150, "under": 60},
    "1,000 rows, 100 under the fault": {"normal": 1000, "under": 100},
    "3 services, 40 rows under the fault": {"services": 3, "under": 40},
    "14 services": {"services": 14},
    "faults of memory only": {"metrics": ("mem",)},
    "coarse readings": {"step": 0.5},
    "faults of 3 to 6 deviations": {"sizes": (3.0, 6.0)},
}
METRICS = ("cpu", "mem", "lat", "load", "err", "max")


@dataclass(frozen=True)
class Shop:
    """Readings of a shop, healthy and then under a fault.

    ``faulty`` names the metric the fault is in, and the second where there is one.
    """

    names: tuple[str, ...]
    normal: Array
    under: Array
    faulty: tuple[str, ...]


@dataclass
class Tally:
    """What was named in the cases of one variation."""

    first: list[bool] = field(default_factory=list)
    among_three: list[bool] = field(default_factory=list)
    service: list[bool] = field(default_factory=list)
    innocents: int = 0
    found: int = 0

    def add(self, shop: Shop, incident: Incident | None) -> None:
        """Count one incident; none names nothing."""
        named = [] if incident is None else [one.variable for one in incident.culprits]
        self.first.append(named[:1] != [] and named[0] in shop.faulty)
        self.among_three.append(bool(set(named[:3]) & set(shop.faulty)))
        self.service.append(named[:1] != [] and _service(named[0]) == _service(shop.faulty[0]))
        self.innocents += len((set(named[:3]) & innocents(shop)) - set(shop.faulty))
        self.found += incident is not None


def innocents(shop: Shop) -> set[str]:
    """Metrics that stayed within two deviations of all that was normal."""
    above = np.nanmax(shop.under, 0) - np.nanmax(shop.normal, 0)
    below = np.nanmin(shop.normal, 0) - np.nanmin(shop.under, 0)
    stayed = np.maximum(above, below) <= 2 * np.nanstd(shop.normal, 0)
    return {name for name, still in zip(shop.names, stayed, strict=True) if still}


def draw(
    seed: int,
    *,
    services: int = 8,
    normal: int = 290,
    under: int = 280,
    metrics: tuple[str, ...] = METRICS[:3],
    sizes: tuple[float, float] = (6.0, 30.0),
    step: float = 0.0,
) -> Shop:
    """One shop and its fault; sizes are in deviations of the metric, steps in parts of one."""
    rng = np.random.default_rng([77, seed])
    rows = normal + under
    at = np.arange(rows)
    slow = np.convolve(rng.normal(size=rows + 19), np.ones(20) / 20, "valid")
    load = 1 + 0.3 * np.sin(2 * np.pi * at / rng.uniform(60, 500) + rng.uniform(0, 6)) + 0.1 * slow
    caller = [-1, *(int(rng.integers(0, one)) for one in range(1, services))]
    root, metric = int(rng.integers(1, services)), str(rng.choice(metrics))
    size, both = float(rng.uniform(*sizes)), metric != "lat" and rng.random() < 0.4
    course = np.minimum(np.maximum(at - normal + 1, 0) / (0.6 * under), 1.0)
    if rng.random() < 0.6:
        course = (at >= normal).astype(float)
    reached, above = set(), caller[root]
    while above >= 0:
        reached.add(above)
        above = caller[above]

    def raised(column: Array, by: float) -> Array:
        spread = max(column[:normal].std(), 1e-3 * abs(column[:normal].mean()))
        lifted: Array = column + course * by * spread
        return lifted

    columns: list[Array] = []
    for one in range(services):
        share = rng.uniform(0.3, 1)
        own = {
            "cpu": share * load * (1 + rng.uniform(0.05, 0.2) * rng.normal(size=rows)),
            "mem": _memory(rng, rows),
            "lat": np.exp(0.3 * load + 0.25 * rng.normal(size=rows)),
            "load": share * load * (1 + 0.03 * rng.normal(size=rows)),
            "err": (rng.random(rows) < (0.01 if rng.random() < 0.3 else 0)).astype(float),
            "max": np.full(rows, float(rng.integers(1, 9))),
        }
        if one == root:
            own[metric] = raised(own[metric], size)
            if metric != "lat":
                own["lat"] = raised(own["lat"], size / 2 if both else min(3.0, 0.3 * size))
        if one in reached:
            own["lat"] = raised(own["lat"], rng.uniform(0.5, min(3.0, 0.2 * size)))
        columns += own.values()
    readings = np.column_stack(columns) * 10 ** rng.uniform(-6, 9, len(columns))
    far = np.where(rng.random(len(columns)) < 0.3, 10 ** rng.uniform(0, 2, len(columns)), 0.0)
    readings += far * np.abs(readings[:normal]).mean(0)
    if step:
        unit = np.maximum(readings[:normal].std(0) * step, np.finfo(float).tiny)
        readings = np.where(unit > 1e-300, np.round(readings / unit) * unit, readings)
    missing = rng.random(readings.shape) < 0.01
    missing[0] = False
    readings[missing] = np.nan
    names = tuple(f"svc{one}_{name}" for one in range(services) for name in METRICS)
    faulty = (f"svc{root}_{metric}", *([f"svc{root}_lat"] if both else []))
    return Shop(names, readings[:normal], readings[normal:], faulty)


def _memory(rng: np.random.Generator, rows: int) -> Array:
    base, kind = rng.uniform(50, 500), int(rng.integers(3))
    at = np.arange(rows)
    if kind == 0:
        walk: Array = base + 0.05 * np.cumsum(rng.normal(size=rows))
        return walk
    if kind == 1:
        gauge = np.full(rows, base)
        for since in rng.integers(10, rows - 10, int(rng.integers(1, 4))):
            gauge[since:] += rng.choice([-1, 1]) * rng.uniform(0.5, 2) * base * 1e-4
        return gauge
    saw: Array = base + 0.02 * (at % rng.integers(20, 80)) + 0.05 * rng.normal(size=rows)
    return saw


def _service(name: str) -> str:
    return name.partition("_")[0]


def table(rows: Array, shop: Shop) -> pl.DataFrame:
    """Rows of a shop as a user would have them."""
    return pl.DataFrame(rows, schema=list(shop.names), orient="row").fill_nan(None)


def _line(name: str, given: Tally, alone: Tally) -> str:
    def part(hits: list[bool]) -> str:
        return f"{np.mean(hits):.2f}"

    cells = [
        *(part(one) for one in (given.first, given.among_three, given.service)),
        str(given.innocents + alone.innocents),
        f"{alone.found} of {len(alone.first)}",
        part(alone.first),
    ]
    return f"| {name} | {' | '.join(cells)} |"


def main() -> None:
    """Measure and write the page."""
    lines = [
        "| shops | AC@1 | AC@3 | service AC@1 | innocents | found alone "
        "| AC@1 of those found alone, of all |",
        f"|{'---|' * 7}",
    ]
    for number, (name, settings) in enumerate(VARIATIONS.items()):
        given, alone = Tally(), Tally()
        for case in range(CASES):
            shop = draw(FIRST + 1000 * number + case, **settings)
            model = ALoRa(threads=1).fit(table(shop.normal, shop), progress=False)
            rows = table(shop.under, shop)
            given.add(shop, model.explain(rows, 0, len(rows)))
            found = model.diagnose(rows, progress=False).incidents
            alone.add(shop, max(found, key=lambda one: one.score, default=None))
        lines.append(_line(name, given, alone))
        print(lines[-1], flush=True)
    page = [
        "# Simulated shops",
        f"{CASES} shops a line. Thirty other draws of the first line's kind were in view when the "
        "confidence of the scale was chosen; 12 of each other kind checked it. "
        "`python -m benchmarks.shops`",
        "\n".join(lines),
    ]
    OUT.write_text("\n\n".join(page) + "\n")


if __name__ == "__main__":
    main()
