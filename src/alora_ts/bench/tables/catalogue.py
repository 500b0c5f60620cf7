"""All tables by name."""

from __future__ import annotations

from collections.abc import Callable, Iterable

from alora_ts.bench.record import Record
from alora_ts.bench.tables.ablations import ablations
from alora_ts.bench.tables.cost import cost
from alora_ts.bench.tables.datasets import datasets
from alora_ts.bench.tables.detection import detection
from alora_ts.bench.tables.deviations import deviations
from alora_ts.bench.tables.embedding import embedding
from alora_ts.bench.tables.entities import entities
from alora_ts.bench.tables.localization import localization
from alora_ts.bench.tables.paired import paired
from alora_ts.bench.tables.range_aware import range_aware
from alora_ts.bench.tables.significance import significance
from alora_ts.bench.tables.table import ResultTable
from alora_ts.bench.tables.tsb_ad import tsb_ad
from alora_ts.bench.tables.waiting import waiting
from alora_ts.errors import AloraError, nearest

__all__ = ["TABLES", "build_tables"]

TABLES: dict[str, Callable[[list[Record]], list[ResultTable]]] = {
    "detection": detection,
    "range": range_aware,
    "tsb-ad": tsb_ad,
    "localization": localization,
    "waiting": waiting,
    "significance": significance,
    "deviations": deviations,
    "entities": entities,
    "datasets": datasets,
    "cost": cost,
    "paired": paired,
    "ablations": ablations,
    "embedding": lambda _: embedding(),
}


def build_tables(records: Iterable[Record], name: str | None = None) -> list[ResultTable]:
    """Build the tables of one name, or all of them.

    Parameters
    ----------
    records : iterable of Record
        Of one or several plans.
    name : str, optional
        One of ``TABLES``.

    Returns
    -------
    list of ResultTable
        Without those for which there are no numbers.

    Raises
    ------
    AloraError
        When there is no such table; the message suggests one.

    Examples
    --------
    >>> [table.name for table in build_tables([], "embedding")]
    ['embedding']
    >>> build_tables([], "detektion")
    Traceback (most recent call last):
    ...
    alora_ts.errors.AloraError: there is no table 'detektion'; did you mean 'detection'? ...
    """
    if name is not None and name not in TABLES:
        raise AloraError(f"there is no table {name!r}{nearest(name, TABLES)}")
    read = list(records)
    wanted = TABLES if name is None else {name: TABLES[name]}
    return [table for build in wanted.values() for table in build(read)]
