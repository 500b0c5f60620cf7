"""ASD, the Application Server Dataset: 12 servers, 19 metrics, labels for when and which."""

from __future__ import annotations

import json
import zipfile
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from alora_ts.datasets.array_pickles import read_array_pickle
from alora_ts.datasets.dataset import Dataset, Segment
from alora_ts.datasets.family import Family, Official, Request, one_series
from alora_ts.datasets.interpretation import read_interpretation
from alora_ts.datasets.reading import as_labels, need_file
from alora_ts.datasets.remote import RemoteFile
from alora_ts.errors import DataError

__all__ = ["FAMILY"]


_SERVERS = tuple(f"omi-{number}" for number in range(1, 13))
# The commit that holds the data, so that a later change upstream cannot reach a result.
_RAW = (
    "https://raw.githubusercontent.com/zhhlee/InterFusion/"
    "4d6e3fc6d6354a0e9a2d7e8f6e1ffd0812424352/data"
)
_PARTS = ("train", "test", "test_label")


def _read(request: Request) -> Dataset:
    folder, entity = request.folder, request.entity
    archive = folder / f"{entity}.npz"
    # The official repository keeps the arrays in processed/; some copies are flat.
    arrays = folder / "processed" if (folder / "processed").is_dir() else folder
    if archive.is_file() or not (arrays / f"{entity}_train.pkl").is_file():
        return _read_npz(archive, str(entity))
    train, test, label = (read_array_pickle(arrays / f"{entity}_{part}.pkl") for part in _PARTS)
    segments = read_interpretation(
        folder / "interpretation_label" / f"{entity}.txt", last_included=True
    )
    return _dataset(
        str(entity), arrays, train=train, test=test, label=label, interpretation=segments
    )


def _read_npz(path: Path, entity: str) -> Dataset:
    """Read the arrays train, test, test_label and a JSON interpretation from one archive."""
    need_file(path)
    try:
        with np.load(path, allow_pickle=False) as arrays:
            train, test, label = (arrays[part] for part in _PARTS)
            listed = json.loads(str(arrays["interpretation"]))
    except (ValueError, KeyError, EOFError, OSError, zipfile.BadZipFile) as error:
        raise DataError(
            f"{path} is not an ASD archive ({error}); it needs the arrays train, test, test_label "
            "and interpretation (JSON), copy it again"
        ) from None
    segments = _segments(listed, path)
    return _dataset(entity, path, train=train, test=test, label=label, interpretation=segments)


def _dataset(
    entity: str,
    place: Path,
    *,
    train: NDArray[Any],
    test: NDArray[Any],
    label: NDArray[Any],
    interpretation: tuple[Segment, ...],
) -> Dataset:
    for part, values in (("train", train), ("test", test)):
        if values.ndim != 2 or values.dtype.kind not in "fiub":
            raise DataError(
                f"{place}: {part} of {entity} has shape {values.shape} and type {values.dtype}, "
                "expected a table of numbers; fetch or copy it again"
            )
    return Dataset(
        name="ASD",
        entity=entity,
        train=np.ascontiguousarray(train, dtype=np.float32),
        test=np.ascontiguousarray(test, dtype=np.float32),
        label=as_labels(label, f"{place}, test_label of {entity}"),
        interpretation=interpretation,
        variables=tuple(f"metric-{number}" for number in range(1, test.shape[1] + 1)),
        train_timestamps=None,
        test_timestamps=None,
        train_segments=one_series(len(train)),
        test_segments=one_series(len(test)),
        licence=FAMILY.licence,
        citation=FAMILY.citation,
    )


def _segments(listed: Any, path: Path) -> tuple[Segment, ...]:
    """Turn [first, last included, dims from 1] into segments that end exclusively, dims from 0."""
    try:
        return tuple(
            sorted(
                Segment(int(first), int(last) + 1, tuple(sorted({int(dim) - 1 for dim in dims})))
                for first, last, dims in listed
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
    entities=_SERVERS,
    whole=False,
    official=Official(variables=19),
    read=_read,
    files=tuple(
        RemoteFile(path, f"{_RAW}/{path}")
        for path in (
            path
            for server in _SERVERS
            for path in (
                *(f"processed/{server}_{part}.pkl" for part in _PARTS),
                f"interpretation_label/{server}.txt",
            )
        )
    ),
)
