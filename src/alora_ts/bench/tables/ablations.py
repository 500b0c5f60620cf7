"""Ablations: one part changed, all else equal."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace

from alora_ts.bench.published import published_tables
from alora_ts.bench.record import Record
from alora_ts.bench.tables.by_method import Metric, method_table, place_of
from alora_ts.bench.tables.contenders import Arena, Contender, cases, natural
from alora_ts.bench.tables.cost import COSTS
from alora_ts.bench.tables.detection import BEST_F1, GIVEN_F1
from alora_ts.bench.tables.summary import cost_of, detected, located
from alora_ts.bench.tables.table import ResultTable

__all__ = ["ablations"]

_TITLES = {
    "core": "Core cases",
    "loss and score": "ALoRa loss and ALoRa score",
    "pairs": "All pairs against the K best",
    "correlation": "Spearman against Pearson",
    "K": "Number of pairs K",
    "feed-forward": "Feed-forward layers",
    "placement": "Placement of the ALoRa loss",
    "embedding": "Standard against light embedding",
    "window": "Window size T",
    "h1": "Choice of h₁",
    "padding": "Padding of windows",
    "variant": "The authors' program",
}
_METRICS = (
    Metric(title="F1", read=detected(BEST_F1), key=BEST_F1),
    Metric(title="F1 label-free", read=detected(GIVEN_F1)),
    Metric(title="AUC-PR", read=detected("all thresholds / AUC-PR")),
    Metric(title="HR@100", read=located("HR@100"), key="HR@100"),
    *(one for one in COSTS if one.title in {"weights", "fit s", "score ms/row"}),
)
_EMBEDDING = Metric(title="embedding weights", read=cost_of("embedding"), digits=0, better=None)


def ablations(records: Iterable[Record]) -> list[ResultTable]:
    """A row for each case; a table for each plan, study and dataset."""
    found = []
    for (_, study, _), arena in _in_order(cases(records)).items():
        known = f"study {study}"
        metrics = [*_METRICS, _EMBEDDING] if study == "embedding" else _METRICS
        table = method_table(
            replace(arena, contenders=_ordered(arena)),
            metrics,
            name="ablations",
            title=f"{_TITLES.get(study, study)} on {place_of(arena)}",
            published_as=known if known in published_tables() else None,
            heading=study,
            notes=["F1: affiliation, at the threshold that the test labels favour (an oracle's)."],
            needs_yardsticks=False,
        )
        if table is not None:
            found.append(table)
    return found


def _in_order(
    arenas: dict[tuple[str, str, str], Arena],
) -> dict[tuple[str, str, str], Arena]:
    places = {study: place for place, study in enumerate(_TITLES)}
    order = sorted(arenas, key=lambda key: (key[0], places.get(key[1], len(places)), key))
    return {key: arenas[key] for key in order}


def _ordered(arena: Arena) -> tuple[Contender, ...]:
    """Yardsticks first; then numbers by size, or else the base case, the one of most studies."""
    return tuple(
        sorted(
            arena.contenders,
            key=lambda one: (
                not one.honest,
                natural(one.label) if one.label[:1].isdigit() else [],
                -max(len(record.studies) for record in one.records),
            ),
        )
    )
