"""Detection: the best threshold beside one chosen without labels."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace

from alora_ts.bench.record import Record
from alora_ts.bench.tables.by_method import Metric, method_table, place_of
from alora_ts.bench.tables.contenders import Contender, arenas
from alora_ts.bench.tables.cost import SIZE
from alora_ts.bench.tables.summary import detected
from alora_ts.bench.tables.table import ResultTable

__all__ = ["BEST_F1", "GIVEN_F1", "detection"]

BEST_F1 = "best threshold / affiliation F1"
GIVEN_F1 = "given threshold / affiliation F1"
_METRICS = (
    Metric(title="P", read=detected(BEST_F1, "precision"), better=None),
    Metric(title="R", read=detected(BEST_F1, "recall"), better=None),
    Metric(title="F1", read=detected(BEST_F1), key=BEST_F1),
    Metric(title="F1 label-free", read=detected(GIVEN_F1)),
    Metric(title="AUC-PR", read=detected("all thresholds / AUC-PR")),
    *(replace(metric, key="") for metric in SIZE),
)


def detection(records: Iterable[Record]) -> list[ResultTable]:
    """Affiliation precision, recall and F1, and AUC-PR; a table for each plan and dataset."""
    found = [
        method_table(
            replace(arena, contenders=tuple(filter(_detects, arena.contenders))),
            _METRICS,
            name="detection",
            title=f"Detection on {place_of(arena)}",
            published_as="detection",
            notes=[
                "P, R, F1: affiliation, at the threshold that the test labels favour (an "
                "oracle's). F1 label-free: at the threshold chosen without labels. AUC-PR: over "
                "all thresholds.",
                "Weights, windows seen in training (repetitions included) and CPU seconds of the "
                "fit say what a number took; they differ widely between methods.",
            ],
        )
        for arena in arenas(records)
    ]
    return [table for table in found if table is not None]


def _detects(contender: Contender) -> bool:
    """Whether it scores rows, or was meant to."""
    return any(one.detection or one.status != "done" for one in contender.records)
