"""Means over entities and seeds that never hide what is missing."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from statistics import fmean, stdev

from alora_ts.bench.record import Record

__all__ = ["Read", "Summary", "cost_of", "detected", "located", "summarize"]

Read = Callable[[Record], float | None]

_PER_ROW = {"score_ms": ("score", "detection"), "locate_ms": ("locate", "localization")}
"""The part of a run that takes this time, and what it gives."""


@dataclass(frozen=True)
class Summary:
    """The summary of a row's runs.

    Attributes
    ----------
    entities : dict
        The mean over seeds of every entity that has a value.
    of : int
        How many entities there should be.
    deviation : float or None
        Standard deviation (n − 1) of the seeds' means over all entities; None with one seed.
    """

    entities: dict[str | None, float]
    of: int
    deviation: float | None

    @property
    def value(self) -> float | None:
        """The mean over the entities that have a value."""
        return fmean(self.entities.values()) if self.entities else None

    @property
    def complete(self) -> bool:
        """Whether every entity has a value."""
        return len(self.entities) == self.of

    @property
    def part(self) -> str | None:
        """What is covered, where that is not everything."""
        if self.complete or not self.entities:
            return None
        return f"{len(self.entities)}/{self.of} entities"


def summarize(records: Sequence[Record], read: Read, entities: Sequence[str | None]) -> Summary:
    """Summarize one row's runs on one dataset.

    Parameters
    ----------
    records : sequence of Record
        Of one label and dataset; only those that are done count.
    read : callable
        Gives a record's number, or None where it has none.
    entities : sequence of str or None
        All that the plan has results for.

    Returns
    -------
    Summary
    """
    found: dict[str | None, dict[int, float]] = {}
    for record in records:
        value = read(record) if record.status == "done" else None
        if value is not None:
            found.setdefault(record.entity, {})[record.seed] = value
    means = {entity: fmean(found[entity].values()) for entity in entities if entity in found}
    seeds = {seed for values in found.values() for seed in values}
    # A seed that lacks an entity would differ from the others by that alone.
    whole = [
        fmean(found[entity][seed] for entity in entities)
        for seed in sorted(seeds)
        if all(seed in found.get(entity, {}) for entity in entities)
    ]
    return Summary(means, len(entities), stdev(whole) if len(whole) > 1 else None)


def detected(key: str, part: str | None = None) -> Read:
    """A detection metric by its record's key, or the precision or recall behind it."""

    def read(record: Record) -> float | None:
        found = record.detection.get(key)
        if found is None:
            return None
        if part is None:
            return found.value
        return found.precision if part == "precision" else found.recall

    return read


def located(key: str) -> Read:
    """A localization metric by its record's key."""

    def read(record: Record) -> float | None:
        found = record.localization.get(key)
        return None if found is None else found.value

    return read


def cost_of(name: str) -> Read:
    """A fact or measurement of the run; "score_ms", "locate_ms": milliseconds of CPU for a row."""

    def read(record: Record) -> float | None:
        if name in _PER_ROW:
            part, given = _PER_ROW[name]
            if not getattr(record, given):
                return None  # nothing was scored, so that no time was taken
            seconds, rows = (
                record.measured.get(f"{part}_processor_seconds"),
                record.data.get("test_rows"),
            )
            return None if seconds is None or not rows else 1000 * float(seconds) / rows
        found = record.facts.get(name, record.measured.get(name))
        return None if found is None else float(found)

    return read
