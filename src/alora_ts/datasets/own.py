"""A user's own labelled data beside the benchmark datasets.

:func:`add` checks a folder of CSV or Parquet files and keeps a copy as Parquet below the data root;
from then on the set loads by its name like any other.
"""

from __future__ import annotations

import json
import os
import re
import shutil
import tempfile
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import polars as pl
from numpy.typing import NDArray

from alora_ts.data import Table, as_table
from alora_ts.datasets.dataset import Dataset, Segment
from alora_ts.datasets.family import Family, Official, Request, one_series
from alora_ts.datasets.reading import need_file
from alora_ts.errors import DataError, nearest

__all__ = ["add", "own_families"]

FOLDER = "own"
_ABOUT = "about.json"
_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]*")
_KINDS = (".csv", ".parquet", ".csv.gz")
_SINGLE = "series"
"""The name of the files of a set that has no entities."""


@dataclass(frozen=True)
class _Files:
    """The files of one entity."""

    train: Path
    test: Path
    affected: Path | None


def add(
    source: str | os.PathLike[str],
    *,
    name: str | None = None,
    label: str = "label",
    time: str | None = None,
    root: str | os.PathLike[str],
) -> Family:
    """Add a folder of labelled series to the datasets.

    Parameters
    ----------
    source : path-like
        A folder with ``train`` and ``test`` tables (CSV or Parquet): ``train.csv`` and
        ``test.csv``, or one pair for each entity, as ``<entity>_train.csv`` and
        ``<entity>_test.csv`` or in a subfolder named after it. A table
        ``<entity>_affected.csv`` with the columns ``start``, ``end`` (row numbers of the test
        table, from 0, the end not included) and ``variables`` (names with ``;`` between them) may
        say which variables an anomaly concerns.
    name : str, optional
        What to call the set; by default the folder's name.
    label : str
        The column of the test tables that is 1 on anomalous rows and 0 elsewhere.
    time : str, optional
        The time column; found by itself if not given.
    root : path-like
        The data root.

    Returns
    -------
    Family

    Raises
    ------
    DataError
        When files or columns are missing or disagree; nothing is added then.

    Examples
    --------
    >>> folder, root = Path(tempfile.mkdtemp()), tempfile.mkdtemp()
    >>> rows = {"a": range(50), "b": range(50)}
    >>> pl.DataFrame(rows).write_csv(folder / "train.csv")
    >>> pl.DataFrame(rows | {"label": [0] * 40 + [1] * 10}).write_csv(folder / "test.csv")
    >>> add(folder, name="mine", root=root).name
    'mine'
    """
    folder = Path(source)
    if not folder.is_dir():
        raise DataError(f"{folder} is not a folder; give one that holds train and test tables")
    called = name or folder.resolve().name
    if not _NAME.fullmatch(called):
        raise DataError(f"{called!r} cannot name a dataset; use letters, digits, '.', '_' and '-'")
    found = dict(_entity_files(folder))
    if not found:
        raise DataError(
            f"{folder} holds no pair of tables; it needs train.csv and test.csv (or .parquet), or "
            "<entity>_train.csv and <entity>_test.csv for each entity"
        )
    home = Path(root) / FOLDER
    home.mkdir(parents=True, exist_ok=True)
    target = home / called
    if target.exists():
        raise DataError(
            f"{target} is there already; choose another name, or delete that folder first"
        )
    part = Path(tempfile.mkdtemp(dir=home, prefix=f".{called}."))
    try:
        rows = [
            _take(files, part / entity, label=label, time=time) for entity, files in found.items()
        ]
        about = {
            "name": called,
            "entities": [entity for entity in found if entity != _SINGLE],
            "variables": rows[0][2],
            "train_rows": sum(one[0] for one in rows),
            "test_rows": sum(one[1] for one in rows),
        }
        (part / _ABOUT).write_text(json.dumps(about, indent=1) + "\n")
        part.chmod(0o755)
        part.rename(target)
    finally:
        shutil.rmtree(part, ignore_errors=True)
    return own_families(Path(root))[called]


def own_families(root: Path) -> dict[str, Family]:
    """The sets that were added to a data root, by name."""
    return {family.name: family for family in _families(root)}


def _families(root: Path) -> Iterator[Family]:
    for path in sorted((root / FOLDER).glob(f"[!.]*/{_ABOUT}")):
        try:
            about = json.loads(path.read_text())
            yield Family(
                name=about["name"],
                title="added from files of your own",
                home=str(path.parent),
                licence="your own",
                citation="your own",
                folders=(f"{FOLDER}/{about['name']}",),
                marks=(_ABOUT,),
                entities=tuple(about["entities"]),
                whole=not about["entities"],
                official=Official(about["variables"], about["train_rows"], about["test_rows"]),
                read=_read,
            )
        except (ValueError, KeyError, TypeError) as error:
            raise DataError(
                f"{path} is damaged ({error}); delete its folder and add the data again"
            ) from None


def _entity_files(folder: Path) -> Iterator[tuple[str, _Files]]:
    """All pairs of tables: beside each other, or each in a folder of its own."""
    for path in sorted(folder.iterdir()):
        if path.is_dir() and not path.name.startswith("."):
            pair = _pair(path, "")
            if pair is not None:
                yield path.name, pair
    alone = _pair(folder, "")
    if alone is not None:
        yield _SINGLE, alone
    beginnings = {
        path.name.rpartition("_train.")[0] for path in folder.iterdir() if "_train." in path.name
    }
    for beginning in sorted(beginnings):
        pair = _pair(folder, f"{beginning}_")
        if pair is not None:
            yield beginning, pair


def _pair(folder: Path, beginning: str) -> _Files | None:
    parts = {part: _table(folder, f"{beginning}{part}") for part in ("train", "test", "affected")}
    train, test = parts["train"], parts["test"]
    if train is None and test is None:
        return None
    if train is None or test is None:
        here, gone = ("train", "test") if test is None else ("test", "train")
        raise DataError(
            f"{parts[here]} has no {beginning}{gone} table beside it; add it or take it away"
        )
    return _Files(train, test, parts["affected"])


def _table(folder: Path, stem: str) -> Path | None:
    for kind in _KINDS:
        path = folder / f"{stem}{kind}"
        if path.is_file():
            return path
    return None


def _take(files: _Files, target: Path, *, label: str, time: str | None) -> tuple[int, int, int]:
    """Check one entity and keep it; give train rows, test rows and variables."""
    test = as_table(files.test, time=time)
    if label not in test.variables:
        raise DataError(
            f"{files.test} has no column {label!r} of 0 and 1; --label names another"
            f"{nearest(label, test.variables)}"
        )
    marks = test.values[:, test.variables.index(label)]
    if not np.isin(marks, (0, 1)).all():
        row = int(np.flatnonzero(~np.isin(marks, (0, 1)))[0])
        raise DataError(f"{files.test}: {label} in row {row} is {marks[row]:g}; it must be 0 or 1")
    if marks.min() == marks.max():
        raise DataError(
            f"{files.test}: {label} is {marks[0]:g} in every row; a comparison needs both normal "
            "and anomalous rows"
        )
    names = [variable for variable in test.variables if variable != label]
    train = as_table(files.train, time=time)
    missing = [variable for variable in names if variable not in train.variables]
    if missing:
        raise DataError(
            f"{files.train} has no column {missing[0]!r}, which {files.test} has; both need the "
            "same variables"
        )
    for part, table in (("train", train), ("test", test)):
        _keep(table, names, Path(f"{target}.{part}.parquet"))
    pl.DataFrame({"label": marks.astype(np.bool_)}).write_parquet(f"{target}.label.parquet")
    segments = [] if files.affected is None else list(_segments(files.affected, names, len(test)))
    Path(f"{target}.affected.json").write_text(json.dumps(segments) + "\n")
    return len(train), len(test), len(names)


def _keep(table: Table, names: list[str], path: Path) -> None:
    columns: dict[str, NDArray[np.generic]] = {}
    if table.timestamps is not None:
        columns["time"] = table.timestamps
    at = [table.variables.index(name) for name in names]
    # A prefix keeps a variable called "time" apart from the clock.
    columns |= {
        f"x:{name}": table.values[:, column] for name, column in zip(names, at, strict=True)
    }
    pl.DataFrame(columns).write_parquet(path)


def _segments(path: Path, names: list[str], rows: int) -> Iterator[tuple[int, int, list[int]]]:
    listed = pl.read_csv(path) if path.suffix != ".parquet" else pl.read_parquet(path)
    for column in ("start", "end", "variables"):
        if column not in listed.columns:
            raise DataError(f"{path} has no column {column!r}; it needs start, end and variables")
    for number, (start, end, which) in enumerate(
        listed.select("start", "end", "variables").iter_rows()
    ):
        chosen = [one.strip() for one in str(which).split(";")]
        for one in chosen:
            if one not in names:
                raise DataError(f"{path}, row {number}: no variable {one!r}{nearest(one, names)}")
        if not (isinstance(start, int) and isinstance(end, int) and 0 <= start < end <= rows):
            raise DataError(
                f"{path}, row {number}: {start} to {end} is not a stretch of the {rows} test rows"
            )
        yield start, end, sorted(names.index(one) for one in chosen)


def _read(request: Request) -> Dataset:
    entity = request.entity or _SINGLE
    tables = {
        part: pl.read_parquet(need_file(request.folder / f"{entity}.{part}.parquet"))
        for part in ("train", "test", "label")
    }
    listed = json.loads(need_file(request.folder / f"{entity}.affected.json").read_text())
    columns = [name for name in tables["train"].columns if name.startswith("x:")]
    values = {part: tables[part].select(columns).to_numpy() for part in ("train", "test")}
    stamps = {
        part: tables[part]["time"].to_numpy() if "time" in tables[part].columns else None
        for part in ("train", "test")
    }
    return Dataset(
        name=request.folder.name,
        entity=request.entity,
        train=values["train"].astype(np.float32),
        test=values["test"].astype(np.float32),
        label=tables["label"]["label"].to_numpy(),
        interpretation=tuple(Segment(start, end, tuple(which)) for start, end, which in listed),
        variables=tuple(name.removeprefix("x:") for name in columns),
        train_timestamps=stamps["train"],
        test_timestamps=stamps["test"],
        train_segments=one_series(len(tables["train"])),
        test_segments=one_series(len(tables["test"])),
        licence="your own",
        citation="your own",
    )
