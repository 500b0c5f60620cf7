"""What a method costs: weights, seconds and memory."""

from __future__ import annotations

from collections.abc import Iterable

from alora_ts.bench.record import Record
from alora_ts.bench.tables.by_method import Metric, method_table, place_of
from alora_ts.bench.tables.contenders import OURS, Arena, arenas
from alora_ts.bench.tables.summary import cost_of
from alora_ts.bench.tables.table import ResultTable

__all__ = ["COSTS", "SIZE", "cost", "timed_together"]


def _cost(title: str, name: str, digits: int, key: str = "") -> Metric:
    return Metric(
        title=title, read=cost_of(name), key=key, digits=digits, better=None, spread=False
    )


COSTS = (
    _cost("weights", "learnable", 0, "learnable"),
    _cost("windows seen", "windows", 0),
    _cost("fit s", "fit_processor_seconds", 1, "fit_seconds"),
    _cost("score ms/row", "score_ms", 3, "score_ms"),
    _cost("locate ms/row", "locate_ms", 3),
    _cost("peak MiB", "peak_mib", 0),
)


SIZE = tuple(one for one in COSTS if one.title in {"weights", "windows seen", "fit s"})
"""What stands beside results: no number means much without what it took."""


def timed_together(arena: Arena) -> list[str]:
    """A warning where ALoRa's records are older than the parts timed apart."""
    older = any(
        record.method == OURS and record.status == "done" and "windows" not in record.facts
        for one in arena.contenders
        for record in one.records
    )
    if not older:
        return []
    return [
        "ALoRa's scoring time is of runs that were timed with localization and incidents, the "
        "others' without; runs made since then time them apart."
    ]


def cost(records: Iterable[Record]) -> list[ResultTable]:
    """Learned weights, seconds to fit, milliseconds to score a row, memory; by plan and dataset."""
    found = [
        method_table(
            arena,
            COSTS,
            name="cost",
            title=f"Computational cost on {place_of(arena)}",
            published_as="cost",
            notes=[
                "Ours are CPU seconds, which other work on the machine does not "
                "stretch. Published times are of a machine that the paper does not name, and "
                "the presets of this plan may have smaller networks.",
                "No weights stand beside methods that learn none or keep their training rows. "
                "Score: a score for each row, no more; locate: scores of the variables.",
                *timed_together(arena),
            ],
            needs_yardsticks=False,
        )
        for arena in arenas(records)
    ]
    return [table for table in found if table is not None]
