"""TSB-AD-M: the 180 multivariate evaluation series of TSB-AD, with its split of each series.

A series is *one* stretch: its first rows are the training part, and a method scores the whole
series, training part included. The number after ``tr`` in a name is how many rows are the training
part, the one after ``1st`` the first anomalous row. Many series are the test part of a set that
exists on its own; those are rebuilt from a copy of it where TSB-AD's own files are not there.
"""

from __future__ import annotations

import csv
import re
from dataclasses import dataclass
from functools import cache
from importlib.resources import files
from pathlib import Path

import numpy as np
import polars as pl
from numpy.typing import NDArray

from alora_ts.datasets import smd, telemanom
from alora_ts.datasets.dataset import Dataset, Segment
from alora_ts.datasets.family import Family, Official, Request, one_series
from alora_ts.datasets.reading import as_labels
from alora_ts.errors import DataError

__all__ = ["FAMILY", "Series", "series"]

_FOLDER = "TSB-AD-M"
_LABEL = "Label"
_HOME = "https://www.thedatum.org/datasets/TSB-AD-M.zip"
_NAME = re.compile(r"\d+_(?P<set>.+)_id_\d+_\w+_tr_(?P<train>\d+)_1st_(?P<first>\d+)")
_SOURCES = {one.name: one for one in (smd.FAMILY, telemanom.MSL, telemanom.SMAP)}


@dataclass(frozen=True)
class Series:
    """What is published about a series.

    Attributes
    ----------
    name : str
        As TSB-AD's file, without ".csv".
    set : str
        The set it comes from, such as "MSL".
    train_rows, rows, anomalous, first : int
        Rows of the training part and of the whole, anomalous rows, and the first of them.
    source, entity : str
        The registered dataset and entity whose test part it is; empty where that is not known.
    """

    name: str
    set: str
    train_rows: int
    rows: int
    anomalous: int
    first: int
    source: str
    entity: str


@cache
def series() -> dict[str, Series]:
    """All evaluation series by name.

    Examples
    --------
    >>> len(series()), series()["057_SMD_id_1_Facility_tr_4529_1st_4629"].entity
    (180, 'machine-1-2')
    """
    text = (files("alora_ts.datasets") / "tsb_ad.csv").read_text(encoding="utf-8")
    found = {}
    for row in csv.DictReader(text.splitlines()):
        name = row["series"]
        said = _NAME.fullmatch(name)
        assert said is not None, name
        found[name] = Series(
            name=name,
            set=said["set"],
            train_rows=int(said["train"]),
            rows=int(row["rows"]),
            anomalous=int(row["anomalous"]),
            first=int(said["first"]),
            source=row["source"],
            entity=row["entity"],
        )
    return found


def _read(request: Request) -> Dataset:
    wanted = series()[str(request.entity)]
    path = request.folder / _FOLDER / f"{wanted.name}.csv"
    if path.is_file():
        return _dataset(wanted, *_own_file(path), place=path)
    if wanted.source:
        family = _SOURCES[wanted.source]
        try:
            folder = family.folder(request.folder)
            made = family.read(Request(folder, wanted.entity, True, request.report))
        except DataError as error:
            raise DataError(
                f"{wanted.name} is not here: {path} does not exist ({_where()}), and it cannot be "
                f"rebuilt from {wanted.source} {wanted.entity}: {error}"
            ) from None
        return _dataset(
            wanted, made.test, made.label, made.variables, made.interpretation, place=folder
        )
    raise DataError(f"{wanted.name} is not here: {path} does not exist; {_where()}")


def _where() -> str:
    return f"unpack {_HOME} so that the data root has {_FOLDER}/*.csv"


def _own_file(
    path: Path,
) -> tuple[NDArray[np.float32], NDArray[np.bool_], tuple[str, ...], tuple[Segment, ...]]:
    try:
        table = pl.read_csv(path, infer_schema_length=None)
        if table.columns[-1] != _LABEL:
            raise DataError(
                f"{path}: the last column is {table.columns[-1]!r}, but TSB-AD's is {_LABEL!r}; "
                f"{_where()}"
            )
        # TSB-AD leaves rows with an empty cell out.
        whole = table.cast(pl.Float64).drop_nulls().drop_nans()
    except pl.exceptions.PolarsError as error:
        raise DataError(f"{path} is not a series of TSB-AD ({error}); {_where()}") from None
    label = as_labels(whole[_LABEL].to_numpy(), str(path))
    values = whole.drop(_LABEL).to_numpy().astype(np.float32)
    return values, label, tuple(whole.columns[:-1]), ()


def _dataset(
    wanted: Series,
    values: NDArray[np.float32],
    label: NDArray[np.bool_],
    variables: tuple[str, ...],
    interpretation: tuple[Segment, ...],
    *,
    place: Path,
) -> Dataset:
    """The series with its split, or an error where it is not the published one."""
    found = (len(values), int(label.sum()), int(label.argmax()))
    published = (wanted.rows, wanted.anomalous, wanted.first)
    if found != published:
        words = "{} rows, {} of them anomalous, the first at row {}"
        raise DataError(
            f"{place}: {wanted.name} has {words.format(*found)}, but {words.format(*published)} "
            f"are published; fetch or copy it again"
        )
    return Dataset(
        name=FAMILY.name,
        entity=wanted.name,
        train=values[: wanted.train_rows],
        test=values,
        label=label,
        interpretation=interpretation,
        variables=variables,
        train_timestamps=None,
        test_timestamps=None,
        train_segments=one_series(wanted.train_rows),
        test_segments=one_series(len(values)),
        licence=FAMILY.licence,
        citation=FAMILY.citation,
    )


FAMILY = Family(
    name="TSB-AD-M",
    title="Multivariate evaluation series of TSB-AD",
    home="https://github.com/TheDatumOrg/TSB-AD",
    licence="Apache-2.0 for the curation; each set has its own licence, listed at the home page",
    citation=(
        "Liu, Paparrizos: The Elephant in the Room: Towards A Reliable Time-Series Anomaly "
        "Detection Benchmark, NeurIPS 2024"
    ),
    # Its series may be rebuilt from other sets, so the whole data root is its folder.
    folders=(".",),
    marks=(
        f"{_FOLDER}/*_tr_*.csv",
        *(
            f"{folder}/{mark}"
            for source in _SOURCES.values()
            for folder in source.folders
            for mark in source.marks
        ),
    ),
    entities=tuple(series()),
    whole=False,
    official=Official(),
    read=_read,
    ask=(
        f"Download {_HOME} and unpack it so that the data root has {_FOLDER}/*.csv. Without it, "
        "the series that are the test part of SMD, MSL or SMAP are rebuilt from copies of those."
    ),
)
