"""Who competes where: the rows of a plan's tables on each of its datasets."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass

from alora_ts.baselines.registry import names
from alora_ts.bench.record import Record

__all__ = ["HONEST", "OURS", "Arena", "Contender", "arenas", "cases", "natural", "shown"]

HONEST = ("random", "always-alarm", "norm")
OURS = "alora"
_SHOWN = {
    "random": "random",
    "always-alarm": "always alarm",
    "norm": "‖x‖",
    "knn": "KNN",
    "pca": "PCA",
    "lof": "LOF",
    "oc-svm": "OC-SVM",
    "isolation-forest": "Isolation Forest",
    "kmeans-ad": "KMeansAD",
    "cnn": "CNN",
    "omnianomaly": "OmniAnomaly",
    "daemon": "DAEMON",
    "interfusion": "InterFusion",
    "anomaly-transformer": "Anomaly Transformer",
    "dcdetector": "DCdetector",
    "memto": "MEMTO",
    "npsr": "NPSR",
    "d3r": "D³R",
    "sarad": "SARAD",
    "aerca": "AERCA",
    "alora": "ALoRa",
}


@dataclass(frozen=True)
class Contender:
    """One row: a label and all its runs on one dataset, whatever became of them."""

    label: str
    method: str
    records: tuple[Record, ...]

    @property
    def name(self) -> str:
        """The label for people.

        Examples
        --------
        >>> Contender("alora-paper", "alora", ()).name, Contender("knn", "knn", ()).name
        ('ALoRa (paper)', 'KNN')
        """
        if self.label == self.method:
            return shown(self.method)
        if self.label.startswith(f"{self.method}-"):
            return f"{shown(self.method)} ({self.label.removeprefix(f'{self.method}-')})"
        return self.label

    @property
    def honest(self) -> bool:
        """Whether it is a yardstick."""
        return self.method in HONEST


@dataclass(frozen=True)
class Arena:
    """One plan on one dataset.

    Attributes
    ----------
    plan, dataset : str
    entities : tuple of str or None
        All that any method was run on.
    contenders : tuple of Contender
        Yardsticks first, then the compared methods, ALoRa last.
    """

    plan: str
    dataset: str
    entities: tuple[str | None, ...]
    contenders: tuple[Contender, ...]


def shown(method: str) -> str:
    """A method's name for people.

    Examples
    --------
    >>> shown("norm"), shown("my-method")
    ('‖x‖', 'my-method')
    """
    return _SHOWN.get(method, method)


def arenas(records: Iterable[Record]) -> list[Arena]:
    """Find who competes where.

    Cases of ablations do not compete: only the one that bears its method's own name does, and
    not in a plan that compares with no other method.

    Examples
    --------
    >>> arenas([])
    []
    """
    plans = _grouped(records, lambda record: record.plan)
    found = []
    for plan, ours in plans.items():
        if _only_ablates(ours):
            continue
        competing = [one for one in ours if not one.studies or one.label == one.method]
        for dataset, here in _grouped(competing, lambda record: record.dataset).items():
            found.append(Arena(plan, dataset, _entities(here), _contenders(here)))
    return found


def cases(records: Iterable[Record]) -> dict[tuple[str, str, str], Arena]:
    """The ablations, by plan, study and dataset; contenders are labelled by their case.

    Yardsticks of the same plan stand first.
    """
    found = {}
    for plan, ours in _grouped(records, lambda record: record.plan).items():
        studies = dict.fromkeys(study for record in ours for study in record.studies)
        for study in studies:
            inside = [one for one in ours if study in one.studies or one.method in HONEST]
            for dataset, here in _grouped(inside, lambda record: record.dataset).items():
                rows: dict[str, list[Record]] = {}
                for one in here:
                    if study in one.studies:
                        rows.setdefault(one.studies[study], []).append(one)
                if rows:
                    contenders = (
                        *(one for one in _contenders(here) if one.honest),
                        *(
                            Contender(case, runs[0].method, tuple(runs))
                            for case, runs in rows.items()
                        ),
                    )
                    found[plan, study, dataset] = Arena(plan, dataset, _entities(here), contenders)
    return found


def natural(text: str) -> list[tuple[int, float, str]]:
    """A key that sorts numbers in names by size.

    Examples
    --------
    >>> sorted(["machine-1-10", "machine-1-9"], key=natural)
    ['machine-1-9', 'machine-1-10']
    """
    parts = re.split(r"(\d+)", text)
    return [(1, float(part), "") if part.isdigit() else (0, 0.0, part.lower()) for part in parts]


def _only_ablates(records: Sequence[Record]) -> bool:
    compared = any(one.method not in {*HONEST, OURS} for one in records)
    return any(one.studies for one in records) and not compared


def _entities(records: Iterable[Record]) -> tuple[str | None, ...]:
    return tuple(sorted({one.entity for one in records}, key=lambda name: natural(name or "")))


def _contenders(records: Iterable[Record]) -> tuple[Contender, ...]:
    order = {name: place for place, name in enumerate(names())}
    grouped = _grouped(records, lambda record: record.label)
    found = [Contender(label, runs[0].method, tuple(runs)) for label, runs in grouped.items()]
    found.sort(
        key=lambda one: (
            one.method == OURS,
            order.get(one.method, len(order)),
            one.label != one.method,
            natural(one.label),
        )
    )
    return tuple(found)


def _grouped(records: Iterable[Record], by: Callable[[Record], str]) -> dict[str, list[Record]]:
    groups: dict[str, list[Record]] = {}
    for record in records:
        groups.setdefault(by(record), []).append(record)
    return groups
