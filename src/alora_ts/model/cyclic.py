"""Tables less what repeats, and what to add to it again where people look."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from alora_ts.data import Preparation, Prepared, Table
from alora_ts.data.cycle import Cycle, Tracker, less
from alora_ts.data.ticks import as_ticks, time_kind

__all__ = ["Acyclic", "AcyclicChunks", "prepared_moments"]


class Acyclic:
    """Takes a cycle off tables that continue one another.

    Parameters
    ----------
    cycle : Cycle
        Of the tables' variables, in their order.
    """

    def __init__(self, cycle: Cycle) -> None:
        self._cycle = cycle
        self._tracker = Tracker(cycle)

    def take(
        self, table: Table, segments: NDArray[np.integer] | None = None
    ) -> tuple[Table, NDArray[np.intp]]:
        """The table less its cycle, and the moment of each row."""
        anew = np.zeros(len(table), dtype=bool)
        anew[
            [part.start for part in table.parts if part.offset == 0 and part.start < len(table)]
        ] = True
        if segments is not None:
            anew[1:] |= np.diff(segments) != 0
        ticks = as_ticks(table) if time_kind(table) == "datetime" else None
        moments = self._tracker.place_all(table.values, ticks, anew)
        return replace(table, values=less(table.values, self._cycle.course, moments)), moments


def prepared_moments(
    cycle: Cycle, prepared: Prepared, moments: NDArray[np.intp]
) -> NDArray[np.intp]:
    """The moments of prepared rows, (M,), from those of the rows they answer.

    A grid has rows that nobody gave; their times tell.
    """
    stamps = prepared.timestamps
    if cycle.ticks and stamps is not None and stamps.dtype.kind == "M":
        return cycle.at(stamps.view(np.int64))
    found = np.zeros(len(prepared), dtype=np.intp)
    found[prepared.rows] = moments
    return found


class AcyclicChunks:
    """Takes a cycle off chunks of files, and says at which moments their prepared rows are.

    Parameters
    ----------
    cycle : Cycle
    preparation : Preparation
        Brings the variables into the cycle's order.
    """

    def __init__(self, cycle: Cycle, preparation: Preparation) -> None:
        self._cycle = cycle
        self._preparation = preparation
        self._acyclic = Acyclic(cycle)
        # Of rows that were read and not answered yet, and of the prepared rows of the last chunk.
        self._waiting = np.empty(0, dtype=np.intp)
        self._last = np.empty(0, dtype=np.intp)

    def take(self, table: Table) -> Table:
        """The next rows less their cycle."""
        rest, moments = self._acyclic.take(self._preparation.match(table))
        self._waiting = np.concatenate([self._waiting, moments])
        return rest

    def moments(self, prepared: Prepared, overlap: int) -> NDArray[np.intp]:
        """The moments of a chunk's prepared rows, of which the first were in the last one."""
        answered = len(prepared.rows)
        found = prepared_moments(self._cycle, prepared, self._waiting[:answered])
        self._waiting = self._waiting[answered:]
        if overlap:
            found[:overlap] = self._last[len(self._last) - overlap :]
        self._last = found
        return found
