"""The numbers of the ALoRa paper's tables, to stand beside ours."""

from __future__ import annotations

import math
import tomllib
from dataclasses import dataclass
from functools import cache
from importlib.resources import files
from typing import Any

from alora_ts.errors import AloraError, nearest

__all__ = ["PublishedValue", "published", "published_tables", "remarks"]

_NOT_TABLES = ("corrections", "swaps", "remarks")


@dataclass(frozen=True)
class PublishedValue:
    """One printed number.

    Attributes
    ----------
    value : float
        As printed.
    meant : float
        What is meant, where the print is known to be wrong; else the same.
    why : str or None
        How that is known.
    deviation : float or None
        The printed standard deviation over five runs, where there is one.
    """

    value: float
    meant: float
    why: str | None = None
    deviation: float | None = None


def published(table: str, dataset: str, row: str, column: str) -> PublishedValue | None:
    """Look up a printed number.

    Parameters
    ----------
    table : str
        One of :func:`published_tables`.
    dataset : str
        Such as "SMD".
    row : str
        A method's registered name, or the case of a study.
    column : str
        A metric by the name records have for it; the precision and recall behind an F1 as
        "…: precision" and "…: recall".

    Returns
    -------
    PublishedValue or None
        None where the paper has no such number.

    Raises
    ------
    AloraError
        When there is no such table.

    Examples
    --------
    >>> published("detection", "SMD", "alora", "best threshold / affiliation F1")
    PublishedValue(value=0.97, meant=0.97, why=None, deviation=0.012)
    >>> published("study placement", "HAI", "mean of heads", "fit_seconds").meant
    36.0
    >>> published("detection", "ASD", "alora", "best threshold / affiliation F1") is None
    True
    """
    printed = _printed(table, dataset, row, column)
    if printed is None:
        return None
    meant, why = printed, None
    for one in _content()["corrections"]:
        if (one["table"], one["dataset"], one["row"], one["column"]) == (
            table,
            dataset,
            row,
            column,
        ):
            meant, why = float(one["meant"]), str(one["why"])
    for one in _content()["swaps"]:
        if table in one["tables"] and column in one["columns"]:
            other = next(name for name in one["columns"] if name != column)
            swapped = _printed(table, dataset, row, other)
            if swapped is not None:
                meant, why = swapped, str(one["why"])
    spread = f"{table}-deviation"
    deviation = _printed(spread, dataset, row, column) if spread in _tables() else None
    return PublishedValue(printed, meant, why, deviation)


def published_tables() -> dict[str, str]:
    """The tables by name, and their titles.

    Examples
    --------
    >>> published_tables()["cost"]
    'Computational efficiency'
    """
    return {name: str(table["title"]) for name, table in _tables().items()}


def remarks(table: str, dataset: str) -> list[str]:
    """What must be known to compare with the printed numbers of a table on a dataset.

    Examples
    --------
    >>> remarks("cost", "SMD")
    ["Published on SMD: the authors' data are machine-1-1 alone, one of the 28 machines."]
    >>> remarks("cost", "HAI")
    []
    """
    kind = table.split(maxsplit=1)[0]  # "study" for every study
    if dataset not in {name for one in _tables().values() for name in one["datasets"]}:
        return []
    return [
        str(one["text"])
        for one in _content()["remarks"]
        if kind in one["tables"] and one.get("dataset", dataset) == dataset
    ]


@cache
def _content() -> dict[str, Any]:
    source = files("alora_ts.bench") / "published.toml"
    return tomllib.loads(source.read_text(encoding="utf-8"))


def _tables() -> dict[str, Any]:
    return {name: part for name, part in _content().items() if name not in _NOT_TABLES}


def _printed(table: str, dataset: str, row: str, column: str) -> float | None:
    tables = _tables()
    if table not in tables:
        raise AloraError(f"the paper has no table {table!r}{nearest(table, tables)}")
    part = tables[table]
    if dataset not in part["datasets"] or row not in part["rows"] or column not in part["columns"]:
        return None
    cell = part["rows"][row][part["datasets"].index(dataset)][part["columns"].index(column)]
    return None if math.isnan(cell) else float(cell)
