"""Whether budgets are kept: false incidents on normal rows that no fit has seen.

Of every entity the first 60 % of the training rows are fitted on, and incidents are counted on the
rest; a simulated plant is fitted on 20,000 rows and watched for as many as are asked for. Another
budget moves the level of the same fit. Makes a table of docs/quality-alarms.md.

    ALORA_TS_DATA=… python benchmarks/alarm_rates.py --simulated 200000
"""

from __future__ import annotations

import argparse
from collections import Counter
from collections.abc import Mapping
from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from alarms import FAMILIES
from alora_ts import ALoRa
from alora_ts.datasets import load
from alora_ts.datasets.synthetic import plant
from alora_ts.scoring.level import level_of

_FITTED = 0.6


def incidents(model: ALoRa, rows: NDArray[np.floating], budget: float) -> int:
    """How many incidents the rows have with another budget."""
    fitted = model.model_
    threshold = fitted.calibration.threshold
    assert threshold.tail is not None
    level = replace(threshold, each=budget, value=level_of(threshold.tail, budget))
    model.model_ = replace(fitted, calibration=replace(fitted.calibration, threshold=level))
    found = len(model.diagnose(rows, progress=False).incidents)
    model.model_ = fitted
    return found


def main() -> None:
    """Print counts beside what was allowed."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--simulated", type=int, default=200_000)
    given = parser.parse_args()
    print("| rows | budget | incidents | allowed | ratio | most of them |\n" + "|---" * 6 + "|")
    for family, (name, entities) in FAMILIES.items():
        if family == "MSL":
            continue
        counts: dict[int, Counter[str]] = {1000: Counter(), 5000: Counter()}
        seen = 0
        for entity in entities:
            train = load(name, entity=entity).train
            cut = round(_FITTED * len(train))
            model = ALoRa().fit(train[:cut], progress=False)
            seen += len(train) - cut
            for budget, count in counts.items():
                count[str(entity)] = incidents(model, train[cut:], budget)
        show(f"{family}, last 40 % of train", seen, counts)
    quiet = plant(train_rows=20_000, test_rows=given.simulated, faults=())
    model = ALoRa().fit(quiet.train, progress=False)
    budgets = (1000, 5000, 20_000)
    counts = {each: Counter(plant=incidents(model, quiet.test, each)) for each in budgets}
    show("simulated plant", len(quiet.test), counts)


def show(what: str, rows: int, counts: Mapping[int, Counter[str]]) -> None:
    """One line for each budget, with the entity that has most."""
    for each, found in counts.items():
        allowed = rows / each
        (most, own), *_ = found.most_common()
        print(
            f"| {what} | 1 per {each:,} | {found.total()} | {allowed:.1f} | "
            f"{found.total() / allowed:.2f} | {own} of {most} |",
            flush=True,
        )


if __name__ == "__main__":
    main()
