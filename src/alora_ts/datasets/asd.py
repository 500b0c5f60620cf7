"""ASD, the Application Server Dataset: 12 servers, 19 metrics, labels for when and which."""

from __future__ import annotations

import json
import zipfile
from pathlib import Path

import numpy as np

from alora_ts.datasets.dataset import Dataset, Segment
from alora_ts.datasets.family import Family, one_series
from alora_ts.datasets.reading import as_labels, need_file
from alora_ts.errors import DataError

__all__ = ["FAMILY"]


def _read(folder: Path, entity: str | None, raw: bool) -> Dataset:  # noqa: ARG001
    # `raw` asks for what the files hold, which is what ASD always gives.
    return _read_npz(folder / f"{entity}.npz", str(entity))


def _read_npz(path: Path, entity: str) -> Dataset:
    need_file(path)
    try:
        with np.load(path, allow_pickle=False) as arrays:
            train, test, label = arrays["train"], arrays["test"], arrays["test_label"]
            listed = json.loads(str(arrays["interpretation"]))
    except (ValueError, KeyError, EOFError, OSError, zipfile.BadZipFile) as error:
        raise DataError(
            f"{path} is not an ASD archive ({error}); it needs the arrays train, test, test_label "
            "and interpretation (JSON), copy it again"
        ) from None
    return Dataset(
        name="ASD",
        entity=entity,
        train=np.ascontiguousarray(train, dtype=np.float32),
        test=np.ascontiguousarray(test, dtype=np.float32),
        label=as_labels(label, f"{path}, test_label"),
        interpretation=_segments(listed, path),
        variables=tuple(f"metric-{number}" for number in range(1, test.shape[1] + 1)),
        train_timestamps=None,
        test_timestamps=None,
        train_segments=one_series(len(train)),
        test_segments=one_series(len(test)),
        licence=FAMILY.licence,
        citation=FAMILY.citation,
    )


def _segments(listed: object, path: Path) -> tuple[Segment, ...]:
    """Turn [first, last included, dims from 1] into segments that end exclusively, dims from 0."""
    try:
        return tuple(
            sorted(
                Segment(int(first), int(last) + 1, tuple(sorted({int(dim) - 1 for dim in dims})))
                for first, last, dims in listed  # type: ignore[attr-defined]
            )
        )
    except (TypeError, ValueError):
        raise DataError(
            f"{path}: the interpretation is not a list of [first, last, [dims]]; copy it again"
        ) from None


FAMILY = Family(
    name="ASD",
    title="Application Server Dataset",
    home="https://github.com/zhhlee/InterFusion",
    licence="MIT",
    citation=(
        "Li, Zhao, Han, Su, Jiao, Wen, Pei: Multivariate Time Series Anomaly Detection and "
        "Interpretation using Hierarchical Inter-Metric and Temporal Embedding, KDD 2021"
    ),
    folders=("ASD", "InterFusion/data", "data"),
    marks=("omi-*.npz", "processed/omi-*_train.pkl", "omi-*_train.pkl"),
    entities=tuple(f"omi-{number}" for number in range(1, 13)),
    whole=False,
    read=_read,
)
