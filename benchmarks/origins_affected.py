"""The origin scores on data whose labels say what was affected, not where it began.

    ALORA_TS_DATA=… python benchmarks/origins_affected.py

Prints HR@100 of `origin` and of the mean squared surprise it is made from, and the seconds that
learning them adds to a fit. The network plays no part in either, so none is trained; its forms on
the same rows are in docs/quality.md.
"""

from __future__ import annotations

import os
import time
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from alora_ts.data import Preparation, as_table, plan_windows
from alora_ts.datasets import load
from alora_ts.diagnosis.origins import learn_mechanisms
from alora_ts.metrics import hit_rate

WINDOW, LIMIT, HELD_BACK = 20, 10.0, 0.1  # the defaults of ALoRa
ENTITIES = {
    "SMD": [f"machine-1-{number}" for number in range(2, 9)],
    "ASD": [f"omi-{number}" for number in range(1, 7)],
}


def measure(dataset: str, entity: str, root: Path) -> tuple[float, float, float]:
    """HR@100 of the origin scores and of the squared surprise; seconds to learn."""
    data = load(dataset, root, entity)
    preparation = Preparation().fit(as_table(data.train))
    train, test = (
        np.clip(preparation.apply(as_table(part)).values, -LIMIT, LIMIT)
        for part in (data.train, data.test)
    )
    began = time.perf_counter()
    border = round(len(train) * (1 - HELD_BACK))
    learned = learn_mechanisms(
        train, None, window=WINDOW, held_back=np.arange(len(train)) >= border
    )
    took = time.perf_counter() - began
    truth = data.truth()
    rows = np.flatnonzero(truth.any(1))
    plan = plan_windows(len(test), WINDOW, None)
    scores = np.empty((2, len(rows), test.shape[1]))
    for at in range(0, len(rows), 256):
        part: NDArray[np.float32] = plan.gather(test, plan.of_row[rows[at : at + 256]])
        scores[0, at : at + 256] = learned.scores(part)
        scores[1, at : at + 256] = np.square(learned.residuals(part)).mean(1)
    return hit_rate(truth[rows], scores[0]), hit_rate(truth[rows], scores[1]), took


def main() -> None:
    """Print a table."""
    root = Path(os.environ["ALORA_TS_DATA"])
    print("| data | origin | squared surprise | seconds to learn |\n|---|---|---|---|")
    for dataset, entities in ENTITIES.items():
        found = np.mean([measure(dataset, entity, root) for entity in entities], axis=0)
        print(f"| {dataset} | {found[0]:.3f} | {found[1]:.3f} | {found[2]:.2f} |")


if __name__ == "__main__":
    main()
