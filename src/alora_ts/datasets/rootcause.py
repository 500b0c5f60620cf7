"""Faults whose cause is known: normal rows, rows under the fault, and the variable it began in.

Three layouts are read by :func:`load_cases`:

* *cases*: folders that hold ``normal.csv`` and ``anomalous.csv`` (or ``.parquet``), as the faults
  of the Sock Shop do (``FAULT/RUN/…``). The cause is the variable that the folder's or its
  parent's name spells (``carts-cpu`` means ``carts_cpu``), or stands in ``cause.json`` beside the
  tables: ``{"variable": "carts_cpu"}`` or ``{"group": "carts"}``.
* *PetShop*: ``{low,high}_traffic/`` with ``noissue/metrics.csv`` and ``train/issue_*/``.
* simulated systems, by :func:`simulated_cases`.
"""

from __future__ import annotations

import json
import os
import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from alora_ts.data import as_table
from alora_ts.data.structure import Edges, group_names
from alora_ts.datasets import petshop
from alora_ts.datasets.synthetic_dataset import simulate
from alora_ts.datasets.synthetic_plant import plant_system
from alora_ts.datasets.synthetic_random import random_system
from alora_ts.datasets.synthetic_stream import random_faults
from alora_ts.datasets.synthetic_system import System
from alora_ts.errors import DataError

__all__ = ["RootCauseCase", "load_cases", "simulated_cases"]

_KINDS = ("csv", "parquet")
_GROUPS = "prefix before _"
SIMULATED = ("random systems", "sister plants")


@dataclass(frozen=True, eq=False)
class RootCauseCase:
    """One fault.

    Attributes
    ----------
    system, name : str
        Where it happened, and which it is.
    variables, groups : tuple of str
        Names, and the group of each.
    normal, anomalous : ndarray of shape (N, d) and (M, d), float64
        NaN where a cell is missing.
    cause : str or None
        The variable it began in; None where only the group is known.
    group : str
        The group it began in.
    start, end : int
        The rows of ``anomalous`` under the fault; what stands before them is normal.
    symptom : str or None
        The group at which it was noticed, which is not asked for.
    edges : tuple of (str, str)
        Known influences between groups, from cause to effect.
    """

    system: str
    name: str
    variables: tuple[str, ...]
    groups: tuple[str, ...]
    normal: NDArray[np.float64]
    anomalous: NDArray[np.float64]
    cause: str | None
    group: str
    start: int
    end: int
    symptom: str | None = None
    edges: Edges = ()


def load_cases(folder: str | os.PathLike[str], *, system: str | None = None) -> list[RootCauseCase]:
    """Read every case below a folder.

    Parameters
    ----------
    folder : path-like
        See the module's description.
    system : str, optional
        What to call the system; the folder's name by default.

    Returns
    -------
    list of RootCauseCase
        In the order of their names.

    Raises
    ------
    DataError
        When there is none, or a case does not say what its cause is.
    """
    root = Path(folder)
    named = system or root.name
    if petshop.is_here(root):
        return [_pet_case(issue, named) for issue in petshop.read_issues(root)]
    found = [_case(path, named, root) for path in _case_folders(root)]
    if not found:
        raise DataError(
            f"{root} holds no case: expected folders with normal.csv and anomalous.csv, such as "
            "carts-cpu/1/, or the PetShop's low_traffic/ and high_traffic/"
        )
    return found


def simulated_cases(
    system: str, *, count: int = 4, faults: int = 10, seed: int = 7000
) -> Iterator[RootCauseCase]:
    """Faults of simulated systems that no constant of this package was chosen on.

    Parameters
    ----------
    system : {"random systems", "sister plants"}
        Random causal systems of 8 to 20 signals, or water works that differ in operating points,
        gains and noise by 30 %.
    count, faults : int
        How many systems, and faults of each.
    seed : int

    Yields
    ------
    RootCauseCase
        Faults that moved at least one signal beside their origin; all those of one system share
        its normal rows.
    """
    if system not in SIMULATED:
        raise DataError(f"there are no simulated {system!r}; known: {', '.join(SIMULATED)}")
    for number in range(count):
        draw = seed + number
        one: System = (
            plant_system(variation=0.3, seed=draw)
            if system == SIMULATED[1]
            else random_system(8 + 4 * (number % 4), seed=draw)
        )
        rows = 400 * faults
        disturbances = random_faults(one, rows=rows, count=faults, seed=draw)
        data = simulate(one, disturbances, train_rows=4000, test_rows=rows, seed=draw)
        normal, test = data.train.astype(np.float64), data.test.astype(np.float64)
        for place, fault in enumerate(data.faults):
            if len(fault.affected) < 2:
                continue
            first = max(fault.start - 100, 0)
            yield RootCauseCase(
                system=system,
                name=f"{number + 1}.{place + 1} {fault.kind}",
                variables=one.variables,
                groups=one.variables,
                normal=normal,
                anomalous=test[first : fault.end],
                cause=fault.variable,
                group=fault.variable,
                start=fault.start - first,
                end=fault.end - first,
            )


def _case_folders(root: Path) -> list[Path]:
    kinds = [path.parent for kind in _KINDS for path in root.rglob(f"normal.{kind}")]
    return sorted(set(kinds))


def _case(folder: Path, system: str, root: Path) -> RootCauseCase:
    normal, anomalous = (as_table(_table(folder, part)) for part in ("normal", "anomalous"))
    variables = normal.variables
    if anomalous.variables != variables:
        raise DataError(f"{folder}: normal and anomalous rows have different columns")
    cause, group = _cause(folder, variables)
    groups = variables
    if any("_" in name for name in variables):
        groups = group_names(variables, _GROUPS)
    if cause is not None:
        group = groups[variables.index(cause)]
    if group not in groups:
        raise DataError(f"{folder}: the cause's group {group!r} has no variable")
    return RootCauseCase(
        system=system,
        name=str(folder.relative_to(root)),
        variables=variables,
        groups=groups,
        normal=np.asarray(normal.values, dtype=np.float64),
        anomalous=np.asarray(anomalous.values, dtype=np.float64),
        cause=cause,
        group=group,
        start=0,
        end=len(anomalous),
    )


def _table(folder: Path, part: str) -> Path:
    for kind in _KINDS:
        if (path := folder / f"{part}.{kind}").is_file():
            return path
    raise DataError(f"{folder}: there is no {part}.csv beside the other table")


def _cause(folder: Path, variables: tuple[str, ...]) -> tuple[str | None, str]:
    told = folder / "cause.json"
    if told.is_file():
        said = json.loads(told.read_text(encoding="utf-8"))
        if said.get("variable") in variables:
            return said["variable"], ""
        if "group" in said:
            return None, str(said["group"])
        raise DataError(f"{told}: expected a known 'variable' or a 'group', got {said}")
    by_plain = {_plain(name): name for name in variables}
    for name in (folder.name, folder.parent.name):
        if _plain(name) in by_plain:
            return by_plain[_plain(name)], ""
    raise DataError(
        f"{folder}: neither its name nor its parent's is a variable; write the cause into "
        'cause.json: {"variable": "…"}'
    )


def _plain(name: str) -> str:
    return re.sub(r"[^a-z0-9]+", "_", name.lower())


def _pet_case(issue: petshop.Issue, system: str) -> RootCauseCase:
    return RootCauseCase(
        system=system,
        name=issue.name,
        variables=tuple("/".join(column) for column in issue.columns),
        groups=tuple(node for node, *_ in issue.columns),
        normal=issue.normal,
        anomalous=issue.rows,
        cause=None,
        group=issue.cause,
        start=0,
        end=len(issue.rows),
        symptom=issue.symptom,
        edges=issue.edges,
    )
