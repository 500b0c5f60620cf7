"""The data of a run: registered datasets, a user's own, and the simulated ones."""

from __future__ import annotations

from pathlib import Path
from typing import Literal

import numpy as np

from alora_ts import datasets
from alora_ts.datasets import Dataset
from alora_ts.datasets.dataset import matrix_segments
from alora_ts.datasets.family import one_series
from alora_ts.errors import DataError, nearest

__all__ = ["SYNTHETIC", "WHOLE", "open_entity", "planned_entities"]

SYNTHETIC = "synthetic"
"""The dataset whose entities are simulated, so that a plan can run where no data are."""

WHOLE = "whole"
"""In a plan: all entities of a set as one series."""

# `fleet` and `bivariate` serve other ends, `plant` was made with ALoRa's answers in view.
_SIMULATED = ("clear-faults", "types")


def planned_entities(
    dataset: str, entities: list[str] | Literal["all"], root: Path
) -> tuple[str | None, ...]:
    """The entities a plan means; None for a set that is one series.

    Parameters
    ----------
    dataset : str
    entities : list of str, or "all"
    root : Path
        The folder that holds the datasets' folders.

    Raises
    ------
    DataError
        When the set or an entity does not exist; the message suggests one.

    Examples
    --------
    >>> planned_entities("synthetic", "all", Path("data"))
    ('clear-faults', 'types')
    >>> planned_entities("MSL", ["whole"], Path("data"))
    (None,)
    """
    if dataset == SYNTHETIC:
        known: tuple[str, ...] = _SIMULATED
        chosen = known if entities == "all" else tuple(entities)
        for entity in chosen:
            if entity not in known:
                raise DataError(f"{dataset} has no entity {entity!r}{nearest(entity, known)}")
        return chosen
    family = datasets.family(dataset, root)
    if entities == "all":
        return family.entities or (None,)
    wanted = tuple(None if entity == WHOLE else entity for entity in entities)
    for named in wanted:
        family.check_entity(named)
    return wanted


def open_entity(dataset: str, entity: str | None, root: Path) -> Dataset:
    """Read one entity.

    Raises
    ------
    DataError
        When it is not there or damaged.

    Examples
    --------
    >>> open_entity("synthetic", "clear-faults", Path("data")).train.shape
    (4000, 10)
    """
    if dataset == SYNTHETIC:
        return _simulated(str(entity))
    return datasets.load(dataset, root, entity, progress=False)


def _simulated(preset: str) -> Dataset:
    from alora_ts.datasets.synthetic import make

    made = make(preset)
    return Dataset(
        name=SYNTHETIC,
        entity=preset,
        train=made.train,
        test=made.test,
        label=made.label,
        interpretation=matrix_segments(np.asarray(made.affected_truth())),
        variables=made.variables,
        train_timestamps=made.train_timestamps,
        test_timestamps=made.test_timestamps,
        train_segments=one_series(len(made.train)),
        test_segments=one_series(len(made.test)),
        licence="Apache-2.0",
        citation="simulated by alora-ts",
    )
