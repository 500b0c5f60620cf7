"""From a plan to its runs: one for each method, entity and seed."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterator
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Literal

from alora_ts.bench.contestant import check_method
from alora_ts.bench.entities import open_entity, planned_entities
from alora_ts.bench.plan import Plan, PlannedMethod
from alora_ts.bench.record import FORMAT, Case
from alora_ts.errors import AloraError, DataError
from alora_ts.progress import Progress, Step, reporting

__all__ = ["Expansion", "Run", "expand"]


@dataclass(frozen=True, kw_only=True)
class Run(Case):
    """A case to be run, and how.

    Attributes
    ----------
    needs_pairs : int or None
        See :class:`~alora_ts.bench.plan.PlannedMethod`.
    range_window : int or "period"
        See :class:`~alora_ts.bench.plan.Plan`.
    covering : int
        See :class:`~alora_ts.bench.plan.PlannedMethod`.
    threads : int
        Threads it may use.
    """

    needs_pairs: int | None = None
    covering: int = 1
    range_window: int | Literal["period"] = 100
    threads: int = 1

    @property
    def key(self) -> str:
        """Where its files lie below ``runs/`` and ``scores/``, without the suffix."""
        return f"{self.dataset}/{self.entity or 'whole'}/{self.label}-{self.seed}"

    @property
    def digest(self) -> str:
        """Of all that decides the result; threads and names do not."""
        deciding = asdict(self)
        for name in ("plan", "label", "studies", "threads"):
            del deciding[name]
        if self.covering == 1:  # as it was before there was a choice
            del deciding["covering"]
        # Where a choice lives does not decide: results made before it was in a group stay valid.
        deciding["parameters"] = {
            name.rpartition("__")[2]: value for name, value in self.parameters.items()
        }
        text = json.dumps({"format": FORMAT, **deciding}, sort_keys=True)
        return hashlib.sha256(text.encode()).hexdigest()[:16]


@dataclass(frozen=True)
class Expansion:
    """The runs of a plan on this machine.

    Attributes
    ----------
    runs : tuple of Run
        Cheap orders first are not sought: data by data, so that tables fill evenly.
    missing : dict of str to str
        What the plan names and the machine does not have, and why.
    rows : dict of str to int
        Training and test rows of each place, for estimates.
    """

    runs: tuple[Run, ...]
    missing: dict[str, str]
    rows: dict[str, int]


def expand(plan: Plan, root: Path, *, progress: Progress = None) -> Expansion:
    """List the runs of a plan for which the data are there.

    Parameters
    ----------
    plan : Plan
    root : Path
        The folder that holds the datasets' folders.
    progress : bool, callable or None
        Every entity is opened once, to see that it can be.

    Raises
    ------
    AloraError
        When a method, preset, parameter, dataset or entity does not exist.
    """
    for method in plan.methods:
        check_method(
            method.name,
            method.preset,
            [*method.parameters, *(name for one in method.per_dataset.values() for name in one)],
        )
        named = [dataset.name for dataset in plan.datasets]
        for dataset in (*(method.datasets or ()), *method.per_dataset):
            if dataset not in named:
                raise AloraError(
                    f"the method {method.row!r} speaks of the dataset {dataset!r}, which the plan "
                    f"{plan.name!r} does not have; it has {', '.join(named)}"
                )
    wanted = [
        (planned.name, entity)
        for planned in plan.datasets
        for entity in planned_entities(planned.name, planned.entities, root)
    ]
    present, missing, rows = [], {}, {}
    with reporting(progress) as report:
        for number, (dataset, entity) in enumerate(wanted, start=1):
            place = dataset if entity is None else f"{dataset} {entity}"
            try:
                data = open_entity(dataset, entity, root)
                present.append((dataset, entity))
                rows[place] = len(data.train) + len(data.test)
            except DataError as error:
                missing[place] = str(error)
            report(Step("reading data", number, len(wanted)))
    runs = [
        run
        for dataset, entity in present
        for method in plan.methods
        for run in _runs_of(plan, method, dataset, entity)
    ]
    return Expansion(tuple(runs), missing, rows)


def _runs_of(plan: Plan, method: PlannedMethod, dataset: str, entity: str | None) -> Iterator[Run]:
    if method.datasets is not None and dataset not in method.datasets:
        return
    here = next(one.seeds for one in plan.datasets if one.name == dataset)
    for seed in method.seeds or here or plan.seeds:
        yield Run(
            plan=plan.name,
            label=method.row,
            method=method.name,
            preset=method.preset,
            parameters={**method.parameters, **method.per_dataset.get(dataset, {})},
            dataset=dataset,
            entity=entity,
            seed=seed,
            studies=method.studies,
            needs_pairs=method.needs_pairs,
            covering=method.covering,
            range_window=plan.range_window,
            threads=plan.threads,
        )
