"""The benchmark datasets and synthetic faults behind one interface."""

from __future__ import annotations

from alora_ts.datasets.checking import Finding, check
from alora_ts.datasets.dataset import Dataset, Segment
from alora_ts.datasets.fetching import fetch
from alora_ts.datasets.own import add
from alora_ts.datasets.registry import data_root, entities, family, load, names

__all__ = [
    "Dataset",
    "Finding",
    "Segment",
    "add",
    "check",
    "data_root",
    "entities",
    "family",
    "fetch",
    "load",
    "names",
]
