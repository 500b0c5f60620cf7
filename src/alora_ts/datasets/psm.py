"""PSM, the Pooled Server Metrics of eBay: 25 anonymous metrics, one row a minute."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from alora_ts.datasets.dataset import Dataset
from alora_ts.datasets.family import Family, Official, Request
from alora_ts.datasets.reading import as_labels
from alora_ts.datasets.remote import RemoteFile
from alora_ts.datasets.tables import CsvTable, hold_last, read_table
from alora_ts.errors import DataError

__all__ = ["FAMILY"]

_MINUTES = "timestamp_(min)"
_FILES = ("train.csv", "test.csv", "test_label.csv")


def _read(request: Request) -> Dataset:
    train, test, label = (read_table(request.folder / f, is_text=_MINUTES.__eq__) for f in _FILES)
    if train.variables != test.variables:
        raise DataError(
            f"{train.path} and {test.path} have different columns; fetch or copy both again"
        )
    truth = as_labels(label.values, str(label.path))
    minutes = _minutes(test)
    if not np.array_equal(minutes, _minutes(label)):
        raise DataError(
            f"{label.path} has {len(truth)} rows that do not have the same {_MINUTES} as the "
            f"{len(minutes)} rows of {test.path}; fetch or copy both again"
        )
    return Dataset(
        name="PSM",
        entity=request.entity,
        train=train.values if request.raw else hold_last(train),
        test=test.values if request.raw else hold_last(test),
        label=truth,
        interpretation=(),
        variables=train.variables,
        # The files count minutes from an unnamed moment: enough to see gaps, not to tell dates.
        train_timestamps=None,
        test_timestamps=None,
        train_segments=_segments(_minutes(train)),
        test_segments=_segments(minutes),
        licence=FAMILY.licence,
        citation=FAMILY.citation,
    )


def _minutes(table: CsvTable) -> NDArray[np.float64]:
    minutes = table.text[_MINUTES].cast(float, strict=False)
    odd = minutes.is_null() | (minutes.diff().fill_null(1.0) <= 0)
    if odd.any():
        row = int(odd.arg_max() or 0)
        raise DataError(
            f"{table.path}, line {table.first_line + row}, column {_MINUTES}: "
            f"{table.text[_MINUTES][row]!r} is not a number above the one before; fetch the file "
            "again"
        )
    return minutes.to_numpy()


def _segments(minutes: NDArray[np.float64]) -> NDArray[np.int64]:
    return np.concatenate(([0], np.cumsum(np.diff(minutes) > 1))).astype(np.int64)


FAMILY = Family(
    name="PSM",
    title="Pooled Server Metrics",
    home="https://github.com/eBay/RANSynCoders",
    licence="CC BY 4.0",
    citation=(
        "Abdulaal, Liu, Lancewicki: Practical Approach to Asynchronous Multivariate Time Series "
        "Anomaly Detection and Localization, KDD 2021"
    ),
    folders=("PSM", "RANSynCoders/data"),
    marks=("test_label.csv",),
    entities=(),
    whole=True,
    official=Official(variables=25, train_rows=132_481, test_rows=87_841),
    read=_read,
    files=tuple(
        RemoteFile(name, f"https://raw.githubusercontent.com/eBay/RANSynCoders/main/data/{name}")
        for name in _FILES
    ),
)
