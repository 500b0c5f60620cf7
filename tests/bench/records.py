"""Records of runs that never happened, for tests only."""

from __future__ import annotations

import zlib
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

from alora_ts.bench.record import Measurement, Record, write_record

SHIFTS = {"random": -0.3, "always-alarm": -0.3, "norm": -0.1, "alora": 0.1}
MACHINES = ("machine-1-2", "machine-1-9", "machine-1-10")
HONEST = ("random", "always-alarm", "norm")


def invented(
    method: str = "knn",
    *,
    level: float | None = None,
    dataset: str = "SMD",
    entity: str | None = "machine-1-2",
    seed: int = 0,
    localizes: bool = True,
    **others: Any,
) -> Record:
    """A finished run whose every score is ``level``, or follows from its names."""
    if level is None:
        drawn = zlib.crc32(f"{method} {others.get('label')} {entity} {seed}".encode()) % 1000
        level = round(0.6 + SHIFTS.get(method, 0.0) + drawn / 10_000, 4)
    score = Measurement(level, precision=level - 0.01, recall=level + 0.01)
    plain = Measurement(level)
    detection = {
        **{f"{choice} / {name}": score for choice in _CHOICES for name in _F1},
        **{f"all thresholds / {name}": plain for name in ("AUC-PR", "VUS-ROC", "VUS-PR")},
    }
    for choice in _CHOICES:
        detection[f"{choice} / mean delay (rows)"] = Measurement(100 * (1 - level))
        detection[f"{choice} / events caught"] = plain
        detection[f"{choice} / normal rows alarmed"] = Measurement(0.02)
    located = {
        f"{name}@{percent}": Measurement(level, chance=0.4)
        for name in ("HR", "NDCG", "IPS")
        for percent in (100, 150)
    }
    content: dict[str, Any] = {
        "plan": "invented",
        "label": method,
        "preset": "cpu",
        "parameters": {},
        "digest": "0" * 16,
        "status": "done",
        "data": _DATA,
        "facts": {"learnable": 1234.0},
        "detection": detection,
        "localization": located if localizes else {},
        "measured": _MEASURED,
        **others,
    }
    if content["status"] != "done":
        content |= {"detection": {}, "localization": {}, "facts": {}}
    return Record(method=method, dataset=dataset, entity=entity, seed=seed, **content)


def tournament(
    methods: Iterable[str] = (*HONEST, "knn", "pca", "alora"),
    *,
    dataset: str = "SMD",
    entities: Sequence[str | None] = MACHINES,
    seeds: Sequence[int] = (0, 1),
    **others: Any,
) -> list[Record]:
    """Every method on every entity with every seed."""
    return [
        invented(method, dataset=dataset, entity=entity, seed=seed, **others)
        for entity in entities
        for method in methods
        for seed in seeds
    ]


def written(records: Iterable[Record], folder: Path) -> Path:
    """A results folder with these records."""
    for one in records:
        name = f"{one.label}-{one.seed}.json"
        write_record(one, folder / "runs" / one.dataset / (one.entity or "whole") / name)
    return folder


_CHOICES = ("best threshold", "given threshold")
_F1 = ("affiliation F1", "range F1", "event F1", "point F1")
_DATA = {
    "train_rows": 1000.0,
    "test_rows": 2000.0,
    "variables": 38.0,
    "events": 5.0,
    "anomalous": 0.1,
}
_MEASURED = {
    "fit_seconds": 3.0,
    "fit_processor_seconds": 2.0,
    "score_processor_seconds": 1.0,
    "run_seconds": 4.0,
    "peak_mib": 300.0,
    "threads": 1,
    "started": "2001-02-03T04:05:06+00:00",
    "machine": "an invented machine, 2 cores",
    "versions": {"alora-ts": "0.0.0"},
    "commit": "0123456789",
}
