"""Which entities an input holds, and the files of each."""

from __future__ import annotations

import os
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from alora_ts.data.opening import FOLDER_SUFFIXES
from alora_ts.errors import AloraError, DataError
from alora_ts.fleet.storage import absolute, open_place

__all__ = ["Entity", "list_files", "list_partitions"]

_DEEPEST = 8


@dataclass(frozen=True)
class Entity:
    """A machine, host or site.

    Attributes
    ----------
    name : str
    files : tuple of str
        Paths or URLs of its rows, in the order of time.
    """

    name: str
    files: tuple[str, ...]

    def sizes(self) -> Iterator[tuple[str, int]]:
        """Each file and its size in bytes; a file that is gone counts nothing."""
        for url in self.files:
            files, inside = open_place(url)
            try:
                yield url, int(files.size(inside) or 0)
            except OSError:
                yield url, 0


def list_files(source: str | os.PathLike[str]) -> list[Entity]:
    """One entity for each CSV or Parquet file of a folder or glob, named by the file.

    Raises
    ------
    DataError
        When there is none, or when two files give the same name.
    """
    files, inside = open_place(source)
    if "*" in inside:
        found = files.glob(inside)
    elif files.isdir(inside):
        found = files.ls(inside, detail=False)
    else:
        raise DataError(
            f"{source}: no such folder; give a folder with one file per entity, a glob, or a table "
            "with group="
        )
    entities: dict[str, Entity] = {}
    for path in sorted(found):
        base = path.rpartition("/")[2]
        suffix = next((each for each in FOLDER_SUFFIXES if base.endswith(each)), None)
        # A leading dot or underscore is how writers mark files that are not data.
        if suffix is None or base.startswith((".", "_")):
            continue
        name = base.removesuffix(suffix)
        if name in entities:
            raise DataError(
                f"{source}: two files are named {name!r} but for their suffix; entities are named "
                "by their files, so rename one"
            )
        entities[name] = Entity(name, (absolute(files.unstrip_protocol(path)),))
    if not entities:
        raise DataError(f"{source}: holds no {', '.join(FOLDER_SUFFIXES)} file")
    return list(entities.values())


def list_partitions(source: str | os.PathLike[str], *, group: str) -> list[Entity] | None:
    """The entities of a Parquet dataset with folders ``group=name``; None if it is none.

    Other partition columns (``date=2026-01-01``) order an entity's files; windows do not cross
    from one file into the next.
    """
    files, inside = open_place(source)
    if not files.isdir(inside) or not _has_partition(files, inside, group):
        return None
    try:
        import pyarrow
        import pyarrow.dataset
    except ImportError as error:
        raise AloraError(
            "a partitioned Parquet dataset needs pyarrow; install alora-ts[fleet]"
        ) from error
    # Read as text: numbers would lose their leading zeros.
    keys = pyarrow.dataset.partitioning(pyarrow.schema([(group, pyarrow.string())]), flavor="hive")
    dataset = pyarrow.dataset.dataset(inside, filesystem=files, format="parquet", partitioning=keys)
    found: dict[str, list[str]] = {}
    for fragment in dataset.get_fragments():
        known = pyarrow.dataset.get_partition_keys(fragment.partition_expression)
        name = known.get(group)
        if name is None:
            raise DataError(f"{fragment.path}: lies in no folder {group}=…; move it into one")
        found.setdefault(name, []).append(absolute(files.unstrip_protocol(fragment.path)))
    return [Entity(name, tuple(sorted(found[name]))) for name in sorted(found)]


def _has_partition(files: Any, folder: str, group: str) -> bool:
    """Whether going down the first folders meets one called ``group=…``."""
    for _ in range(_DEEPEST):
        inside = [
            each["name"] for each in files.ls(folder, detail=True) if each["type"] == "directory"
        ]
        names = [path.rstrip("/").rpartition("/")[2] for path in inside]
        if any(name.startswith(f"{group}=") for name in names):
            return True
        deeper = [path for path, name in zip(inside, names, strict=True) if "=" in name]
        if not deeper:
            return False
        folder = sorted(deeper)[0]
    return False
