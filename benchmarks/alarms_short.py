"""Incidents where the training period is short: a table of docs/quality-alarms.md.

Fitted on the last 400 training rows of each entity of SMD, ASD, D2 and D3, judged on 3,000 test
rows around its first event; and on the Sock Shop, on the first two thirds of a fault's 290 normal
rows, judged on the other third and the rows under the fault.

    ALORA_TS_DATA=… python benchmarks/alarms_short.py
"""

from __future__ import annotations

import argparse
import os
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import numpy as np

from alarms import FAMILIES, judge
from alora_ts.datasets import Dataset, load
from alora_ts.datasets.rootcause import RootCauseCase, load_cases

_TRAIN, _BEFORE, _TEST = 400, 1500, 3000


def cut(data: Dataset) -> Dataset:
    """The last training rows, and test rows around the first event."""
    begin = max(int(np.argmax(data.label)) - _BEFORE, 0)
    some = slice(begin, begin + _TEST)
    return replace(
        data,
        train=data.train[-_TRAIN:],
        train_segments=data.train_segments[-_TRAIN:],
        test=data.test[some],
        test_segments=data.test_segments[some],
        label=data.label[some],
        interpretation=(),
    )


def of_case(case: RootCauseCase, like: Dataset) -> Dataset:
    """A fault of the Sock Shop as a data set; the other fields are those of ``like``."""
    rows = len(case.normal) * 2 // 3
    test = np.concatenate([case.normal[rows:], case.anomalous])
    return replace(
        like,
        name="sock-shop",
        entity=case.name,
        variables=case.variables,
        train=np.nan_to_num(case.normal[:rows]).astype(np.float32),
        train_segments=np.zeros(rows, dtype=np.int64),
        test=np.nan_to_num(test).astype(np.float32),
        test_segments=np.zeros(len(test), dtype=np.int64),
        label=np.arange(len(test)) >= len(case.normal) - rows,
        interpretation=(),
    )


def data_sets() -> Iterator[tuple[str, list[Dataset]]]:
    """Each family with its entities."""
    for family in ("SMD", "ASD", "D2", "D3"):
        name, entities = FAMILIES[family]
        loaded = [cut(load(name, entity=entity)) for entity in entities]
        yield f"{family}, 400 rows", loaded
    cases = load_cases(Path(os.environ["ALORA_TS_DATA"]) / "sock-shop")
    yield "Sock Shop, 190 rows", [of_case(case, loaded[0]) for case in cases]


def main() -> None:
    """Print a line for each family and method."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--methods", nargs="+", default=["default", "norm", "pca", "knn", "random"])
    given = parser.parse_args()
    print("| | method | P / R / F1 | false per 1,000 normal rows | normal rows in incidents |")
    print("|---|---|---|---|---|")
    for family, entities in data_sets():
        for method in given.methods:
            found = [judge(method, data, seed=0) for data in entities]
            rows = sum(one["normal_rows"] for one in found)
            false = 1000 * sum(one["false"] for one in found) / rows
            share = sum(one["alarmed_rows"] for one in found) / rows
            means = [np.mean([one[key] for one in found]) for key in ("precision", "recall", "f1")]
            said = " / ".join(f"{mean:.2f}" for mean in means)
            print(f"| {family} | {method} | {said} | {false:.1f} | {share:.0%} |", flush=True)


if __name__ == "__main__":
    main()
