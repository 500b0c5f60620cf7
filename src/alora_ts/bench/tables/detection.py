"""Detection: incidents first; the best threshold beside one chosen without labels."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace

from alora_ts.bench.record import Record
from alora_ts.bench.tables.by_method import Metric, method_table, place_of
from alora_ts.bench.tables.contenders import Arena, Contender, arenas
from alora_ts.bench.tables.cost import SIZE
from alora_ts.bench.tables.summary import detected
from alora_ts.bench.tables.table import ResultTable
from alora_ts.metrics.incidents import GAP, WIDENING, said_of_incidents

__all__ = ["BEST_F1", "BEST_INCIDENTS", "GIVEN_F1", "GIVEN_INCIDENTS", "detection"]

BEST_F1 = "best threshold / affiliation F1"
GIVEN_F1 = "given threshold / affiliation F1"
BEST_INCIDENTS = "best threshold / incident F1"
GIVEN_INCIDENTS = "given threshold / incident F1"
_INCIDENTS = (
    Metric(title="incident F1 label-free", read=detected(GIVEN_INCIDENTS)),
    Metric(title="incident F1", read=detected(BEST_INCIDENTS)),
    Metric(title="precision label-free", read=detected(GIVEN_INCIDENTS, "precision"), better=None),
    Metric(title="events found label-free", read=detected(GIVEN_INCIDENTS, "recall"), better=None),
    Metric(
        title="false per 1,000 rows label-free",
        read=detected("given threshold / false incidents per 1,000 rows"),
        digits=2,
        better=None,
    ),
    Metric(
        title="events found at 1 false per 1,000 rows",
        read=detected("best threshold / events found at 1 false per 1,000 rows"),
    ),
)
_METRICS = (
    *_INCIDENTS,
    Metric(title="P", read=detected(BEST_F1, "precision"), better=None),
    Metric(title="R", read=detected(BEST_F1, "recall"), better=None),
    Metric(title="F1", read=detected(BEST_F1), key=BEST_F1),
    Metric(title="F1 label-free", read=detected(GIVEN_F1)),
    Metric(title="AUC-PR", read=detected("all thresholds / AUC-PR")),
    *(replace(metric, key="") for metric in SIZE),
)


def detection(records: Iterable[Record]) -> list[ResultTable]:
    """Incidents, affiliation and AUC-PR; a table for each plan and dataset.

    Runs that were made before incidents were judged have dashes there, or the table no such
    columns if all are.
    """
    found = [
        method_table(
            replace(arena, contenders=tuple(filter(_detects, arena.contenders))),
            _METRICS,
            name="detection",
            title=f"Detection on {place_of(arena)}",
            published_as="detection",
            notes=[
                *_said_of_incidents(arena),
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


def _said_of_incidents(arena: Arena) -> list[str]:
    """What the columns of incidents count, where there are any."""
    known = {key for one in arena.contenders for run in one.records for key in run.detection}
    if GIVEN_INCIDENTS not in known:
        return []
    return [
        f"Incidents: {said_of_incidents(GAP, WIDENING)} Incident F1: at the level that the test "
        "labels favour; label-free: at the one chosen without them, with the share of incidents "
        "that are true, of events that are found, and false incidents in 1,000 normal rows. An "
        "endless alarm is one false incident: it finds nothing."
    ]


def _detects(contender: Contender) -> bool:
    """Whether it scores rows, or was meant to."""
    return any(one.detection or one.status != "done" for one in contender.records)
