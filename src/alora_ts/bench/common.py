"""The entities on which every method has been run, for plans that are still running."""

from __future__ import annotations

from collections.abc import Iterable

from alora_ts.bench.record import Record
from alora_ts.errors import AloraError

__all__ = ["common_ground"]


def common_ground(records: Iterable[Record]) -> tuple[list[Record], list[str]]:
    """Keep the entities that all methods of their plan have been run on, with all seeds.

    A failed run counts: that a method fails somewhere is a result.

    Parameters
    ----------
    records : iterable of Record

    Returns
    -------
    kept : list of Record
    left : list of str
        The other places, as "SMD machine-1-2".

    Raises
    ------
    AloraError
        When no entity is left.
    """
    given = list(records)
    cases: dict[str, set[tuple[str, int]]] = {}
    there: dict[tuple[str, str], set[tuple[str, int]]] = {}
    for record in given:
        case = record.label, record.seed
        cases.setdefault(record.plan, set()).add(case)
        there.setdefault((record.plan, record.place), set()).add(case)
    whole = {key for key, found in there.items() if found == cases[key[0]]}
    if not whole:
        raise AloraError(
            "no entity has results of every method yet; finish the plan, or leave out --common"
        )
    kept = [record for record in given if (record.plan, record.place) in whole]
    return kept, sorted({place for _, place in there} - {place for _, place in whole})
