"""What a method costs: weights, seconds and memory."""

from __future__ import annotations

from collections.abc import Iterable

from alora_ts.bench.record import Record
from alora_ts.bench.tables.by_method import Metric, method_table, place_of
from alora_ts.bench.tables.contenders import arenas
from alora_ts.bench.tables.summary import cost_of
from alora_ts.bench.tables.table import ResultTable

__all__ = ["COSTS", "cost"]


def _cost(title: str, name: str, digits: int, key: str = "") -> Metric:
    return Metric(
        title=title, read=cost_of(name), key=key, digits=digits, better=None, spread=False
    )


COSTS = (
    _cost("weights", "learnable", 0, "learnable"),
    _cost("fit s", "fit_processor_seconds", 1, "fit_seconds"),
    _cost("score ms/row", "score_ms", 3, "score_ms"),
    _cost("peak MiB", "peak_mib", 0),
)


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
                "No weights stand beside methods that learn none or keep their training rows.",
            ],
            needs_yardsticks=False,
        )
        for arena in arenas(records)
    ]
    return [table for table in found if table is not None]
