"""ALoRa against every other method over the same entities."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from alora_ts.bench.statistics import (
    Friedman,
    Interval,
    average_ranks,
    bootstrap_mean,
    critical_difference,
    friedman,
    wilcoxon_holm,
)
from alora_ts.bench.tables.contenders import OURS, Arena, Contender
from alora_ts.bench.tables.summary import Read, summarize

__all__ = ["Comparison", "Standing", "compare"]


@dataclass(frozen=True)
class Standing:
    """One method among the others.

    Attributes
    ----------
    name : str
    honest : bool
        Whether it is a yardstick.
    kin : bool
        Whether it is a variant of ALoRa.
    mean : float
        Over entities.
    interval : Interval or None
        Of the mean over entities; None with one entity.
    rank : float
        Average over entities; 1 is best.
    lead : Interval or None
        ALoRa minus this one, positive where ALoRa is better; None for ALoRa itself and with one
        entity.
    p : float or None
        Of the signed ranks against ALoRa, adjusted by Holm.
    """

    name: str
    honest: bool
    kin: bool
    mean: float
    interval: Interval | None
    rank: float
    lead: Interval | None
    p: float | None


@dataclass(frozen=True)
class Comparison:
    """All methods that have every entity.

    Attributes
    ----------
    places : tuple of str
        The entities.
    ours : Standing
    others : tuple of Standing
        Best rank first.
    friedman : Friedman or None
    difference : float
        The critical difference of average ranks.
    incomplete : tuple of str
        Methods that lack entities and are not compared.
    """

    places: tuple[str, ...]
    ours: Standing
    others: tuple[Standing, ...]
    friedman: Friedman | None
    difference: float
    incomplete: tuple[str, ...]

    @property
    def standings(self) -> tuple[Standing, ...]:
        """All, best rank first."""
        return tuple(sorted((self.ours, *self.others), key=lambda one: one.rank))


def compare(arenas: Iterable[Arena], read: Read, *, label: str | None = None) -> Comparison | None:
    """Compare by one metric, of which more is better, over the entities of all arenas.

    Parameters
    ----------
    arenas : iterable of Arena
        Of one plan.
    read : callable
        Gives a record's number.
    label : str, optional
        Which row of ALoRa is compared with the rest; by default the one that bears its name.

    Returns
    -------
    Comparison or None
        None where ALoRa lacks an entity or nothing is there to compare it with.
    """
    where, values, incomplete = _values(list(arenas), read)
    ours = _ours(list(values)) if label is None else label
    if ours not in values or len(values) < 2:
        return None
    table = np.column_stack([values[label][1] for label in values])
    reference = list(values).index(ours)
    ranks = average_ranks(table)
    p = wilcoxon_holm(table, reference)
    found = []
    for at, (contender, column) in enumerate(values.values()):
        lead = None if at == reference else bootstrap_mean(table[:, reference] - table[:, at])
        found.append(
            Standing(
                contender.name,
                contender.honest,
                contender.method == OURS,
                float(column.mean()),
                bootstrap_mean(column),
                float(ranks[at]),
                lead,
                p[at],
            )
        )
    own = found.pop(reference)
    return Comparison(
        tuple(where),
        own,
        tuple(sorted(found, key=lambda one: one.rank)),
        friedman(table),
        critical_difference(*table.shape),
        tuple(incomplete),
    )


def _values(
    arenas: Sequence[Arena], read: Read
) -> tuple[list[str], dict[str, tuple[Contender, NDArray[np.float64]]], list[str]]:
    """The places with any value, the columns of methods that have all, and who lacks some."""
    by_label: dict[str, Contender] = {}
    found: dict[str, dict[str, float]] = {}
    places: list[str] = []
    for arena in arenas:
        there: set[str] = set()
        for one in arena.contenders:
            by_label.setdefault(one.label, one)
            summary = summarize(one.records, read, arena.entities)
            named = {_place(arena, entity): value for entity, value in summary.entities.items()}
            found.setdefault(one.label, {}).update(named)
            there |= set(named)
        places += [
            _place(arena, entity) for entity in arena.entities if _place(arena, entity) in there
        ]
    complete = {
        label: (by_label[label], np.array([values[place] for place in places]))
        for label, values in found.items()
        if places and len(values) == len(places)
    }
    lacking = [
        by_label[label].name for label, values in found.items() if 0 < len(values) < len(places)
    ]
    return places, complete, lacking


def _place(arena: Arena, entity: str | None) -> str:
    return arena.dataset if entity is None else f"{arena.dataset} {entity}"


def _ours(labels: Sequence[str]) -> str | None:
    """The row that bears ALoRa's own name, or the first of its variants."""
    return next(
        (
            label
            for label in sorted(labels, key=len)
            if label == OURS or label.startswith(f"{OURS}-")
        ),
        None,
    )
