"""MSDS, the multi-source distributed system: CPU and memory of five OpenStack nodes.

The published label matrix has one row for every fifth row of the second half of the metrics, as
prepared by the steps in :func:`_join`; it fits no other preparation.
"""

from __future__ import annotations

from pathlib import Path

import numpy as np
import polars as pl
from numpy.typing import NDArray

from alora_ts.datasets.dataset import Dataset, matrix_segments
from alora_ts.datasets.family import Family, Official, Request, one_series
from alora_ts.datasets.reading import need_file, read_array
from alora_ts.datasets.remote import RemoteFile
from alora_ts.datasets.tables import CsvTable, hold_last, parse_times, read_table
from alora_ts.errors import DataError

__all__ = ["FAMILY"]

# The order of the label matrix's columns; each node has cpu.user, then mem.used.
_NODES = ("wally122", "wally113", "wally123", "wally117", "wally124")
_METRICS = ("cpu.user", "mem.used")
_VARIABLES = tuple(f"{node} {metric}" for node in _NODES for metric in _METRICS)
_METRIC_FOLDERS = ("metrics", "concurrent data/metrics", "concurrent_data/metrics", ".")
_ROW_NAMES = ("", "Unnamed: 0", "now")
_EVERY = 5


def _read(request: Request) -> Dataset:
    folder = request.folder
    if (folder / "train.npy").is_file():
        train, test = read_array(folder / "train.npy"), read_array(folder / "test.npy")
        truth = _truth(read_array(folder / "labels.npy"), folder / "labels.npy")
        clock = None
    else:
        train, test, clock = _halves(request)
        truth = _truth(_numbers(folder / "labels.csv").values, folder / "labels.csv")
    if len(truth) != len(test):
        if len(truth) != -(-len(test) // _EVERY):
            raise DataError(
                f"{folder}: the label matrix has {len(truth)} rows, and neither the {len(test)} "
                f"test rows nor every {_EVERY}th of them are as many; the files do not belong "
                "together, fetch or copy them again"
            )
        if request.raw:
            truth = np.repeat(truth, _EVERY, axis=0)[: len(test)]
        else:
            train, test = train[::_EVERY], test[::_EVERY]
            clock = None if clock is None else (clock[0][::_EVERY], clock[1][::_EVERY])
    return Dataset(
        name="MSDS",
        entity=request.entity,
        train=np.ascontiguousarray(train),
        test=np.ascontiguousarray(test),
        label=np.logical_or.reduce(truth, axis=1),
        interpretation=matrix_segments(truth),
        variables=_VARIABLES,
        train_timestamps=None if clock is None else clock[0],
        test_timestamps=None if clock is None else clock[1],
        train_segments=one_series(len(train)),
        test_segments=one_series(len(test)),
        licence=FAMILY.licence,
        citation=FAMILY.citation,
    )


def _numbers(path: Path) -> CsvTable:
    """Read a CSV as pandas wrote it: perhaps with row names, perhaps with repeated headings."""
    try:
        frame = pl.read_csv(need_file(path), infer_schema_length=None)
        frame = frame.select(name for name in frame.columns if name not in _ROW_NAMES)
        values = frame.cast(pl.Float32).to_numpy()
    except pl.exceptions.PolarsError as error:
        raise DataError(
            f"{path} is not a table of numbers ({error}); fetch or copy it again"
        ) from None
    return CsvTable(path, tuple(frame.columns), np.ascontiguousarray(values), {}, 2)


def _truth(values: NDArray[np.float32], path: Path) -> NDArray[np.bool_]:
    if values.shape[1] != len(_VARIABLES):
        raise DataError(
            f"{path} has {values.shape[1]} columns, expected one for each of {len(_VARIABLES)} "
            "variables; fetch or copy it again"
        )
    odd = np.argwhere((values != 0) & (values != 1))
    if len(odd):
        row, column = odd[0]
        raise DataError(
            f"{path}, row {row}, column {column}: the label is {values[row, column]}, expected 0 "
            "or 1; fetch or copy it again"
        )
    return values.astype(np.bool_)


_Halves = tuple[
    NDArray[np.float32],
    NDArray[np.float32],
    tuple[NDArray[np.datetime64], NDArray[np.datetime64]] | None,
]


def _halves(request: Request) -> _Halves:
    folder = request.folder
    if (folder / "train.csv").is_file():
        train, test = (_numbers(folder / f"{part}.csv") for part in ("train", "test"))
        return hold_last(train), hold_last(test), None
    for name in _METRIC_FOLDERS:
        files = [folder / name / f"{node}_metrics_concurrent.csv" for node in _NODES]
        if any(file.is_file() for file in files):
            break
    nodes = []
    for done, file in enumerate(files):
        request.step(done, len(files))
        nodes.append(read_table(file, is_text="now".__eq__))
    joined = _join(nodes)
    request.step(len(files), len(files))
    start = round(0.1 * len(joined.values))
    half = start + round(0.5 * (len(joined.values) - start))
    times = parse_times(joined, ("now",), ("%Y-%m-%d %H:%M:%S",))
    return joined.values[start:half], joined.values[half:], (times[start:half], times[half:])


def _join(tables: list[CsvTable]) -> CsvTable:
    """Join the nodes on the clock, with the mean of the rows that share a second.

    The preparation behind the label matrix cuts each node at the common end by positions counted
    from the common start, so it drops rows a little before the end instead of those after it.
    The labels were counted on that result; the same rows are dropped here.
    """
    starts = max(table.text["now"].min() for table in tables)  # type: ignore[type-var]
    ends = min(table.text["now"].max() for table in tables)  # type: ignore[type-var]
    joined: pl.DataFrame | None = None
    for node, table in zip(_NODES, tables, strict=True):
        missing = [metric for metric in _METRICS if metric not in table.variables]
        if missing:
            raise DataError(f"{table.path} has no column {missing[0]}; fetch or copy it again")
        if table.text["now"].has_nulls():
            row = int(table.text["now"].is_null().arg_max() or 0)
            raise DataError(
                f"{table.path}, line {table.first_line + row}: the time is empty; fetch or copy "
                "the file again"
            )
        now = table.text["now"].to_numpy()
        rows = np.flatnonzero(now >= starts)
        beyond = np.flatnonzero(now[rows] > ends)
        rows = rows[~np.isin(rows, beyond)]
        frame = pl.DataFrame(
            {
                "now": table.text["now"].gather(rows),
                **{
                    f"{node} {metric}": table.values[rows, table.variables.index(metric)]
                    for metric in _METRICS
                },
            }
        ).fill_nan(None)
        frame = frame.group_by("now").mean()
        joined = frame if joined is None else joined.join(frame, on="now", how="inner")
    assert joined is not None
    joined = joined.drop_nulls().sort("now")
    if len(joined) < 10:
        raise DataError(
            f"the nodes' files beside {tables[0].path} share {len(joined)} seconds; they do not "
            "belong together, fetch or copy them again"
        )
    return CsvTable(
        path=tables[0].path.parent,
        variables=_VARIABLES,
        values=joined.select(_VARIABLES).to_numpy().astype(np.float32),
        text={"now": joined["now"]},
        first_line=1,
    )


FAMILY = Family(
    name="MSDS",
    title="Multi-Source Distributed System data (concurrent run, metrics)",
    home="https://zenodo.org/records/3549604",
    licence="the terms of its Zenodo record; the label matrix MIT (AERCA)",
    citation=(
        "Nedelkoski, Bogatinovski, Mandapati, Becker, Cardoso, Kao: Multi-source Distributed "
        "System Data for AI-Powered Analytics, ESOCC 2020"
    ),
    folders=("MSDS", "msds"),
    marks=(
        "labels.npy",
        "labels.csv",
        *(f"{f}/wally*_metrics_concurrent.csv" for f in _METRIC_FOLDERS),
    ),
    entities=(),
    whole=True,
    official=Official(variables=10),
    read=_read,
    files=(
        RemoteFile(
            "metrics",
            "https://zenodo.org/api/records/3549604/files/concurrent%20data.zip/content",
            "md5:be2ba2f17f774e7f3f045dcf5f406ff0",
            unpack="*_metrics_concurrent.csv",
        ),
        RemoteFile(
            "labels.csv",
            "https://raw.githubusercontent.com/hanxiao0607/AERCA/HEAD/datasets/msds/labels.csv",
        ),
    ),
)
