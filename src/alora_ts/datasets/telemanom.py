"""MSL and SMAP: telemetry of two NASA spacecraft, one file a channel.

In each channel the first column is the telemetry value and the others are flags of the commands
sent and received; they mean different things in different channels. The labels are about the
telemetry and name no other variable, so there is no interpretation.
"""

from __future__ import annotations

import ast
import csv
from functools import partial
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from alora_ts.datasets.dataset import Dataset
from alora_ts.datasets.family import Family, Official, Request
from alora_ts.datasets.reading import need_file, read_array
from alora_ts.errors import DataError

__all__ = ["MSL", "SMAP"]

_MSL = (
    "M-6 M-1 M-2 S-2 P-10 T-4 T-5 F-7 M-3 M-4 M-5 P-15 C-1 C-2 T-12 T-13 F-4 F-5 D-14 T-9 P-14 "
    "T-8 P-11 D-15 D-16 M-7 F-8"
)
_SMAP = (
    "P-1 S-1 E-1 E-2 E-3 E-4 E-5 E-6 E-7 E-8 E-9 E-10 E-11 E-12 E-13 A-1 D-1 P-2 P-3 D-2 D-3 D-4 "
    "A-2 A-3 A-4 G-1 G-2 D-5 D-6 D-7 F-1 P-4 G-3 T-1 T-2 D-8 D-9 F-2 G-4 T-3 D-11 D-12 B-1 G-6 "
    "G-7 P-7 R-1 A-5 A-6 A-7 D-13 A-8 A-9 F-3"
)
_ASK = (
    "The archive its authors published (s3-us-west-2.amazonaws.com/telemanom/data.zip) has "
    "answered 403 since November 2024. Its README now points to a copy on Kaggle, which needs an "
    "account: https://www.kaggle.com/datasets/patrickfleith/nasa-anomaly-detection-dataset-smap-msl"
    ". Unpack it so that the dataset's folder has train/, test/ and labeled_anomalies.csv."
)
# P-2 stands twice in the label file with different stretches. Alone, it gets both; the usual
# 135,183 / 427,617 rows of SMAP are those without it.
_LEFT_OUT_OF_WHOLE = {"MSL": frozenset[str](), "SMAP": frozenset({"P-2"})}


def _read(name: str, request: Request) -> Dataset:
    folder, entity = request.folder, request.entity
    labels = _sequences(folder / "labeled_anomalies.csv", name)
    channels = [c for c in labels if c not in _LEFT_OUT_OF_WHOLE[name]]
    if entity is not None:
        if entity not in labels:
            raise DataError(
                f"{folder / 'labeled_anomalies.csv'} has no row for the {name} channel {entity}; "
                "fetch or copy it again"
            )
        channels = [entity]
    trains = [read_array(folder / "train" / f"{channel}.npy") for channel in channels]
    tests = [read_array(folder / "test" / f"{channel}.npy") for channel in channels]
    for channel, train, test in zip(channels, trains, tests, strict=True):
        if not train.shape[1] == test.shape[1] == tests[0].shape[1]:
            raise DataError(
                f"{folder}: channel {channel} has {train.shape[1]} columns in train and "
                f"{test.shape[1]} in test, the others have {tests[0].shape[1]}; fetch it again"
            )
    label = [_label(folder, c, labels[c], len(t)) for c, t in zip(channels, tests, strict=True)]
    family = _FAMILIES[name]
    return Dataset(
        name=name,
        entity=entity,
        train=np.concatenate(trains),
        test=np.concatenate(tests),
        label=np.concatenate(label),
        interpretation=(),
        variables=("telemetry", *(f"command-{i}" for i in range(1, tests[0].shape[1]))),
        train_timestamps=None,
        test_timestamps=None,
        train_segments=_ids(trains),
        test_segments=_ids(tests),
        licence=family.licence,
        citation=family.citation,
    )


def _sequences(path: Path, spacecraft: str) -> dict[str, list[tuple[int, int]]]:
    """Return each channel's stretches (last row included), in the order of the file."""
    found: dict[str, list[tuple[int, int]]] = {}
    with need_file(path).open(newline="") as file:
        for number, row in enumerate(csv.DictReader(file), start=2):
            try:
                if row["spacecraft"] != spacecraft:
                    continue
                pairs = [(int(a), int(b)) for a, b in ast.literal_eval(row["anomaly_sequences"])]
            except (KeyError, TypeError, ValueError, SyntaxError):
                raise DataError(
                    f"{path}, line {number}: expected the columns chan_id, spacecraft and "
                    "anomaly_sequences with [[first, last], …]; fetch or copy the file again"
                ) from None
            found.setdefault(row["chan_id"], []).extend(pairs)
    if not found:
        raise DataError(f"{path} has no rows for {spacecraft}; fetch or copy it again")
    return found


def _label(
    folder: Path, channel: str, pairs: list[tuple[int, int]], rows: int
) -> NDArray[np.bool_]:
    label = np.zeros(rows, dtype=np.bool_)
    for first, last in pairs:
        if not 0 <= first <= last < rows:
            raise DataError(
                f"{folder}: channel {channel} is labelled from row {first} to {last} but its test "
                f"has {rows} rows; the files do not belong together, fetch or copy them again"
            )
        label[first : last + 1] = True
    return label


def _ids(parts: list[NDArray[np.float32]]) -> NDArray[np.int64]:
    return np.repeat(np.arange(len(parts), dtype=np.int64), [len(part) for part in parts])


def _family(name: str, title: str, channels: str, official: Official) -> Family:
    return Family(
        name=name,
        title=title,
        home="https://github.com/khundman/telemanom",
        licence="Caltech/JPL terms of telemanom (BSD style, see its LICENSE.txt)",
        citation=(
            "Hundman, Constantinou, Laporte, Colwell, Soderstrom: Detecting Spacecraft Anomalies "
            "Using LSTMs and Nonparametric Dynamic Thresholding, KDD 2018"
        ),
        folders=(name, "telemanom", "telemanom/data", "data"),
        marks=(f"test/{channels.split(maxsplit=1)[0]}.npy",),
        entities=tuple(channels.split()),
        whole=True,
        official=official,
        read=partial(_read, name),
        ask=_ASK,
    )


MSL = _family(
    "MSL",
    "Mars Science Laboratory rover telemetry",
    _MSL,
    Official(variables=55, train_rows=58_317, test_rows=73_729, anomalous=7_766),
)
SMAP = _family(
    "SMAP",
    "Soil Moisture Active Passive satellite telemetry",
    _SMAP,
    Official(variables=25, train_rows=135_183, test_rows=427_617, anomalous=54_696),
)
_FAMILIES = {"MSL": MSL, "SMAP": SMAP}
