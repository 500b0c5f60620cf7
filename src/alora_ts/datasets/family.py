"""What every dataset's file declares: how it is found, read, fetched and cited."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from alora_ts.datasets.dataset import Dataset
from alora_ts.datasets.remote import RemoteFile
from alora_ts.errors import DataError, nearest
from alora_ts.progress import Report, Step

__all__ = ["Family", "Official", "Request", "one_series"]


@dataclass(frozen=True)
class Request:
    """What a dataset's reader is asked for.

    Attributes
    ----------
    folder : Path
        The copy to read.
    entity : str or None
        The part wanted; None for the whole.
    raw : bool
        Whether rows and cells are wanted as the files have them.
    report : callable
        Receives a :class:`~alora_ts.progress.Step` for each file of a long reading.
    """

    folder: Path
    entity: str | None
    raw: bool
    report: Report

    def step(self, done: int, total: int) -> None:
        """Report that ``done`` of ``total`` files are read."""
        self.report(Step("reading", done, total))


@dataclass(frozen=True)
class Official:
    """Published figures of a whole set as its files have it; None where none is published.

    Attributes
    ----------
    variables : int or None
        Columns of the data; None where entities differ.
    train_rows, test_rows : int or None
        Rows of all entities together.
    anomalous : int or None
        Labelled test rows of all entities together.
    """

    variables: int | None = None
    train_rows: int | None = None
    test_rows: int | None = None
    anomalous: int | None = None


@dataclass(frozen=True)
class Family:
    """One dataset as the registry knows it.

    Attributes
    ----------
    name : str
        The name given to :func:`alora_ts.datasets.load`.
    title, home, licence, citation : str
        For people: the long name, where the data are published, the terms, what to cite.
    folders : tuple of str
        Names under which a copy may lie in the data root; the first is where `fetch` puts one.
    marks : tuple of str
        Glob patterns; a folder that matches one of them is a copy of this dataset.
    entities : tuple of str
        The machines, servers or channels; empty where the set is one series.
    whole : bool
        Whether the set loads without an entity.
    official : Official
        What `check` compares a copy with.
    read : callable
        Gives the :class:`Dataset` for a :class:`Request`.
    files : tuple of RemoteFile
        What `fetch` downloads; empty where the licence or the publisher does not allow it.
    ask : str
        How to get the data where `fetch` cannot, or what to do beside it.
    """

    name: str
    title: str
    home: str
    licence: str
    citation: str
    folders: tuple[str, ...]
    marks: tuple[str, ...]
    entities: tuple[str, ...]
    whole: bool
    official: Official
    read: Callable[[Request], Dataset]
    files: tuple[RemoteFile, ...] = ()
    ask: str = ""

    def folder(self, root: Path) -> Path:
        """Find this dataset's copy in ``root`` or one of its folders."""
        for candidate in (*(root / name for name in self.folders), root):
            if any(next(candidate.glob(mark), None) is not None for mark in self.marks):
                return candidate
        places = " or ".join(str(root / name) for name in self.folders)
        raise DataError(
            f"no copy of {self.name} in {root}: looked for {' or '.join(self.marks)} in {places}; "
            f"`alora-ts data info {self.name}` says how to get it"
        )

    def check_entity(self, entity: str | None) -> None:
        """Refuse an entity that the set does not have, or its absence where one is needed."""
        if entity is None:
            if not self.whole:
                raise DataError(
                    f"{self.name} is several series, name one as entity: {', '.join(self.entities)}"
                )
        elif not self.entities:
            raise DataError(f"{self.name} is one series; leave entity={entity!r} out")
        elif entity not in self.entities:
            raise DataError(f"{self.name} has no entity {entity!r}{nearest(entity, self.entities)}")


def one_series(rows: int) -> NDArray[np.int64]:
    """Segment ids of a series that windows may cross freely."""
    return np.zeros(rows, dtype=np.int64)
