"""One table of many entities, split into a Parquet file for each."""

from __future__ import annotations

import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import narwhals as nw
import polars as pl

from alora_ts.data.form import FileForm
from alora_ts.data.sources import as_paths, find_files, read_frames, read_group_column
from alora_ts.data.write import as_polars
from alora_ts.errors import DataError, nearest
from alora_ts.fleet.entities import Entity
from alora_ts.fleet.names import folder_name
from alora_ts.fleet.storage import Store, absolute, fetched

__all__ = ["stage_groups"]

_SPILL_CELLS = 20_000_000
"""Cells held before they are written to disk, 160 MB of numbers."""


def stage_groups(
    source: Any, *, group: str, store: Store, folder: str, form: FileForm | None = None
) -> list[Entity]:
    """Split a table by a column into ``folder`` of a store.

    Parameters
    ----------
    source : frame or path
        A frame, or CSV or Parquet files with all entities' rows; files are read in blocks and
        never held as a whole.
    group : str
        The column that names the entity of each row.
    store : Store
        Where workers can read.
    folder : str
        Below the store's root; replaced as a whole.
    form : FileForm, optional
        How files are read; by default that is found out.

    Returns
    -------
    list of Entity
        In the order of names; rows keep their order.

    Raises
    ------
    DataError
        When the column does not exist or has empty cells.
    """
    store.remove(folder)
    with tempfile.TemporaryDirectory() as scratch:
        spill = _Spill(Path(scratch), group)
        for frame, names in _blocks(source, group, form):
            empty = names.is_null()
            if empty.any():
                row = spill.rows + int(empty.arg_true()[0])
                raise DataError(
                    f"column {group!r}, row {row}: the group is missing; fill it in or remove "
                    "such rows"
                )
            spill.add(frame.with_columns(names.alias(group)))
        entities = []
        for name, parts in spill.finish():
            target = f"{folder}/{folder_name(name)}.parquet"
            with store.writing(target) as path:
                # A column in which some block holds a word is text there and numbers elsewhere.
                pieces = [pl.read_parquet(part) for part in parts]
                whole = pl.concat(pieces, how="vertical_relaxed")
                whole.drop(group).write_parquet(path)
            entities.append(Entity(name, (absolute(f"{store.url}/{target}"),)))
    return entities


class _Spill:
    """Rows by entity, written to disk whenever many are held."""

    def __init__(self, scratch: Path, group: str) -> None:
        self._scratch, self._group = scratch, group
        self._held: list[pl.DataFrame] = []
        self._cells = self._count = self.rows = 0
        self._parts: dict[str, list[Path]] = {}

    def add(self, frame: pl.DataFrame) -> None:
        self._held.append(frame)
        self.rows += len(frame)
        self._cells += frame.width * len(frame)
        if self._cells >= _SPILL_CELLS:
            self._write()

    def finish(self) -> Iterator[tuple[str, list[Path]]]:
        self._write()
        for name in sorted(self._parts):
            yield name, self._parts[name]

    def _write(self) -> None:
        if not self._held:
            return
        together = pl.concat(self._held, how="vertical_relaxed")
        self._held, self._cells = [], 0
        parts = together.partition_by(self._group, as_dict=True, maintain_order=True)
        for (name,), frame in parts.items():
            path = self._scratch / f"{self._count:09}.parquet"
            frame.write_parquet(path)
            self._parts.setdefault(str(name), []).append(path)
            self._count += 1


def _blocks(
    source: Any, group: str, form: FileForm | None
) -> Iterator[tuple[pl.DataFrame, pl.Series]]:
    """Blocks of rows, each with the names of its entities as text."""
    paths = as_paths(source)
    if paths is None:
        frame = _as_frame(source, group)
        yield frame, frame[group].cast(pl.String)
        return
    with fetched([absolute(str(path)) for path in paths]) as local:
        for file in find_files(local):
            names = read_group_column([file], group, form)
            before = 0
            for frame, _ in read_frames(file, form):
                yield frame, names.slice(before, len(frame))
                before += len(frame)


def _as_frame(source: Any, group: str) -> pl.DataFrame:
    frame = nw.from_native(source, pass_through=True)
    if isinstance(frame, nw.LazyFrame):
        frame = frame.collect()
    if not isinstance(frame, nw.DataFrame):
        raise DataError(
            f"group={group!r} needs a table with named columns; give a frame, a file or a folder"
        )
    if group not in frame.columns:
        raise DataError(f"group= names {group!r}, no such column{nearest(group, frame.columns)}")
    return as_polars(frame.to_native())
