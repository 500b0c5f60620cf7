"""Which signals a fault affects, on data whose labels name them: the other question.

SMD and ASD say for each stretch what was affected, not where it began, so they stand apart from
root causes. Measured is HR@100 of ALoRa's default localization by row, beside the input alone.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from alora_ts.baselines import get
from alora_ts.datasets import entities, load
from alora_ts.errors import DataError
from alora_ts.estimator import ALoRa
from alora_ts.metrics import hit_rate
from alora_ts.progress import Report, Step

__all__ = ["AFFECTED", "Affected", "affected_table", "judge_affected"]

AFFECTED = ("SMD", "ASD")


@dataclass(frozen=True)
class Affected:
    """HR@100 on one entity.

    Attributes
    ----------
    dataset, entity : str
    found, by_input : float
        Of ALoRa's localization, and of the scaled input's square.
    """

    dataset: str
    entity: str
    found: float
    by_input: float


def judge_affected(
    root: Path,
    *,
    report: Report,
    datasets: Sequence[str] = AFFECTED,
    parameters: Mapping[str, Any] | None = None,
) -> list[Affected]:
    """Measure every entity that is there.

    Parameters
    ----------
    root : Path
        The folder that holds the datasets' folders.
    report : callable
        Receives the progress.
    datasets : sequence of str
    parameters : mapping, optional
        Other settings of ALoRa.
    """
    places = [(name, entity) for name in datasets for entity in entities(name)]
    judged = []
    for number, (name, entity) in enumerate(places):
        report(Step("affected sets", number, len(places)))
        try:
            data = load(name, root, entity, progress=False)
        except DataError:  # not on this machine
            continue
        truth = data.truth()
        rows = np.flatnonzero(truth.any(1))
        if not len(rows):
            continue
        model = ALoRa(**(parameters or {})).fit(data.train, progress=False)
        found = model.diagnose(data.test, progress=False).localization[rows]
        norm = get("norm").fit(data.train, progress=False)
        by_input = norm.score_variables(data.test, progress=False)[rows]
        judged.append(
            Affected(name, entity, hit_rate(truth[rows], found), hit_rate(truth[rows], by_input))
        )
    report(Step("affected sets", len(places), len(places)))
    return judged


def affected_table(judged: Sequence[Affected]) -> str:
    """HR@100 of each dataset, mean over its entities.

    Examples
    --------
    >>> print(affected_table([Affected("SMD", "a", 0.5, 0.4), Affected("SMD", "b", 0.7, 0.4)]))
    | data | entities | ALoRa, localization | input alone |
    |---|---|---|---|
    | SMD | 2 | 0.600 | 0.400 |
    """
    lines = ["| data | entities | ALoRa, localization | input alone |", f"|{'---|' * 4}"]
    for name in dict.fromkeys(one.dataset for one in judged):
        own = [one for one in judged if one.dataset == name]
        found = np.mean([one.found for one in own])
        plain = np.mean([one.by_input for one in own])
        lines.append(f"| {name} | {len(own)} | {found:.3f} | {plain:.3f} |")
    return "\n".join(lines)
