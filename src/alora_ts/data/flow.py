"""Rows through a fitted preparation, all at once or piece by piece with the same result."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from alora_ts.data.align import Alignment, Clock, Rules, align
from alora_ts.data.fill import Memory, hold, interpolate, settled_rows
from alora_ts.data.record import Table
from alora_ts.data.report import Gap
from alora_ts.data.scaling import CLIP, Standardiser
from alora_ts.errors import DataError
from alora_ts.progress import Report, Step

__all__ = ["Flow", "FlowRules", "Piece", "aligned_rows", "with_values"]

_CHUNK = 8192


@dataclass(frozen=True)
class FlowRules:
    """What a flow does to missing cells, and on which rows."""

    rules: Rules
    standardiser: Standardiser
    missing: str
    limit: int | None
    chunked: bool


@dataclass(frozen=True)
class Piece:
    """Prepared rows that will not change any more, and the input rows they belong to.

    Attributes
    ----------
    values : ndarray of float32, shape (M, d)
    mask : ndarray of uint8, shape (M, ceil(d / 8)), or None
        Which cells were missing, packed eight to a byte; None when none was.
    segments : ndarray of int32, shape (M,)
    ticks : ndarray, shape (M,)
    rows : ndarray of intp, shape (n,)
        For each input row that the piece answers, its row in ``values``.
    used : int
        How many of the rows pushed last need not be pushed again.
    gaps : tuple of Gap
        In ticks.
    late, duplicates : int
    filled, clipped : ndarray of int64, shape (d,)
    """

    values: NDArray[np.float32]
    mask: NDArray[np.uint8] | None
    segments: NDArray[np.int32]
    ticks: NDArray[Any]
    rows: NDArray[np.intp]
    used: int
    gaps: tuple[Gap, ...]
    late: int
    duplicates: int
    filled: NDArray[np.int64]
    clipped: NDArray[np.int64]


class Flow:
    """The state between pieces: what waits, what each variable last was, where time stands."""

    def __init__(self, rules: FlowRules) -> None:
        width = len(rules.standardiser.center)
        self._rules = rules
        self._clock = Clock()
        self._memory = Memory.empty(width)
        self._segment = -1
        # Scaled rows that interpolation still waits on, with their marks.
        self._waiting = _Waiting.empty(width)

    def push(
        self,
        table: Table,
        ticks: NDArray[Any],
        *,
        final: bool,
        overwrite: bool = False,
        report: Report | None = None,
    ) -> Piece:
        """Pass the next rows (with those the last piece did not use up before them).

        Parameters
        ----------
        table : Table
            The rows, with the variables of the standardiser in order.
        ticks : ndarray of shape (N,)
            Their times.
        final : bool
            Whether the rows are complete, so that nothing may wait for more.
        overwrite : bool
            Whether the table's memory may be used for the result.
        report : callable, optional
            Receives how many prepared rows are done.
        """
        rules = self._rules
        borders = np.array([part.start for part in table.parts if part.offset == 0], np.intp)
        plan = align(
            ticks,
            None if rules.rules.gap is None else _has_data(table.values),
            borders,
            rules.rules,
            self._clock,
            final=final,
            may_sort=not rules.chunked,
            place=table.place,
            time_name=table.time_name or "time",
        )
        self._clock = plan.clock
        values = _room(table.values, plan, overwrite=overwrite)
        breaks = np.empty(len(values), bool)
        breaks[1:] = plan.segments[1:] != plan.segments[:-1]
        breaks[:1] = plan.segments[:1] != self._segment
        if len(plan.segments):
            self._segment = int(plan.segments[-1])
        mask, filled, clipped = self._scale(table, plan, values, breaks, report=report)
        waiting = _Waiting(values, mask, plan.segments, plan.ticks, breaks, plan.rows)
        if rules.missing == "interpolate":
            waiting, filled = self._interpolate(waiting, final=final)
        return Piece(
            waiting.values,
            waiting.mask if filled.any() else None,
            waiting.segments,
            waiting.ticks,
            waiting.rows,
            len(plan.rows),
            plan.gaps,
            plan.late,
            plan.duplicates,
            filled,
            clipped,
        )

    def _scale(
        self,
        table: Table,
        plan: Alignment,
        values: NDArray[np.float32],
        breaks: NDArray[np.bool_],
        *,
        report: Report | None,
    ) -> tuple[NDArray[np.uint8], NDArray[np.int64], NDArray[np.int64]]:
        """Scale a chunk of rows at a time into ``values``, and fill what needs no later rows."""
        width = values.shape[1]
        mask = np.zeros((len(values), (width + 7) // 8), np.uint8)
        filled, clipped = np.zeros(width, np.int64), np.zeros(width, np.int64)
        for start, stop, chunk in aligned_rows(table.values, plan):
            rows = self._rules.standardiser.apply(chunk)
            missing = np.isnan(rows)
            clipped += (np.abs(rows) >= CLIP).sum(axis=0)
            if missing.any():
                if self._rules.missing == "error":
                    _refuse_missing(table, plan, start, missing)
                filled += missing.sum(axis=0)
                mask[start:stop] = np.packbits(missing, axis=1)
            if self._rules.missing == "hold":
                begins = breaks[start:stop]
                hold(rows, missing, begins, self._memory, limit=self._rules.limit)
                self._memory.pass_rows(rows, missing, plan.ticks[start:stop], begins)
            elif self._rules.missing == "mark":
                rows[missing] = 0.0
            values[start:stop] = rows
            if report is not None:
                report(Step("preparing", stop, len(values)))
        return mask, filled, clipped

    def _interpolate(self, fresh: _Waiting, *, final: bool) -> tuple[_Waiting, NDArray[np.int64]]:
        whole = self._waiting.followed_by(fresh)
        width = whole.values.shape[1]
        missing = np.isnan(whole.values)
        limit = self._rules.limit
        settled = len(whole.values)
        if not final:
            assert limit is not None, "chunked interpolation is refused without a limit"
            settled = settled_rows(missing, whole.breaks, self._memory, limit=limit)
        held_back = whole.after(settled)
        interpolate(whole.values, missing, whole.ticks, whole.breaks, self._memory, limit=limit)
        done = whole.until(settled)
        self._memory.pass_rows(done.values, missing[:settled], done.ticks, whole.breaks[:settled])
        self._waiting = held_back if settled < len(whole.values) else _Waiting.empty(width)
        return done, missing[:settled].sum(axis=0)


@dataclass(frozen=True)
class _Waiting:
    values: NDArray[np.float32]
    mask: NDArray[np.uint8]
    segments: NDArray[np.int32]
    ticks: NDArray[Any]
    breaks: NDArray[np.bool_]
    rows: NDArray[np.intp]

    @classmethod
    def empty(cls, width: int) -> _Waiting:
        return cls(
            np.empty((0, width), np.float32),
            np.empty((0, (width + 7) // 8), np.uint8),
            np.empty(0, np.int32),
            np.empty(0, np.int64),
            np.empty(0, bool),
            np.empty(0, np.intp),
        )

    def followed_by(self, other: _Waiting) -> _Waiting:
        if not len(self.values):
            return other
        return _Waiting(
            np.concatenate([self.values, other.values]),
            np.concatenate([self.mask, other.mask]),
            np.concatenate([self.segments, other.segments]),
            np.concatenate([self.ticks, other.ticks]),
            np.concatenate([self.breaks, other.breaks]),
            np.concatenate([self.rows, other.rows + len(self.values)]),
        )

    def until(self, stop: int) -> _Waiting:
        rows = self.rows[self.rows < stop]
        return replace(self._cut(slice(0, stop)), rows=rows)

    def after(self, start: int) -> _Waiting:
        """A copy, for what comes before is about to change hands."""
        rows = self.rows[self.rows >= start] - start
        cut = self._cut(slice(start, None))
        return replace(cut, values=cut.values.copy(), rows=rows)

    def _cut(self, part: slice) -> _Waiting:
        return _Waiting(
            self.values[part],
            self.mask[part],
            self.segments[part],
            self.ticks[part],
            self.breaks[part],
            self.rows,
        )


def aligned_rows(
    values: NDArray[Any], plan: Alignment
) -> Iterator[tuple[int, int, NDArray[np.float64]]]:
    """Yield the prepared rows before scaling, some thousand at a time, as (start, stop, rows)."""
    total = len(plan.ticks)
    if plan.kept is None or plan.starts is None:
        for start in range(0, total, _CHUNK):
            stop = min(start + _CHUNK, total)
            yield start, stop, values[start:stop].astype(np.float64, order="C")
        return
    start = 0
    while start < total:
        enough = int(np.searchsorted(plan.starts, plan.starts[start] + _CHUNK, side="right")) - 1
        stop = min(max(enough, start + 1), start + _CHUNK, total)
        bounds = plan.starts[start : stop + 1]
        rows = values[plan.kept[bounds[0] : bounds[-1]]].astype(np.float64, order="C")
        yield start, stop, _means(rows, bounds - bounds[0])
        start = stop


def _means(rows: NDArray[np.float64], bounds: NDArray[np.intp]) -> NDArray[np.float64]:
    """Mean over each range of rows, missing cells left out."""
    sizes = np.diff(bounds)
    if np.all(sizes == 1):
        return rows
    means = np.full((len(sizes), rows.shape[1]), np.nan)
    some = np.flatnonzero(sizes)
    if not len(some):
        return means
    present = ~np.isnan(rows)
    counts = np.add.reduceat(present, bounds[some], axis=0, dtype=np.int64)
    # Dividing before adding keeps the sum of huge values finite.
    each = np.repeat(np.maximum(counts, 1), sizes[some], axis=0)
    sums = np.add.reduceat(np.where(present, rows / each, 0.0), bounds[some], axis=0)
    means[some] = np.where(counts > 0, sums, np.nan)
    return means


def _has_data(values: NDArray[Any]) -> NDArray[np.bool_] | None:
    """Which rows hold a value; None when all do, as is usual."""
    found = np.empty(len(values), bool)
    for start in range(0, len(values), _CHUNK):
        found[start : start + _CHUNK] = ~np.isnan(values[start : start + _CHUNK]).all(axis=1)
    return None if found.all() else found


def with_values(values: NDArray[Any], table: Table) -> NDArray[np.bool_]:
    """Say which columns of aligned rows hold a value; raise a DataError where none does.

    Examples
    --------
    >>> with_values(np.array([[1.0, np.nan]]), Table(np.ones((1, 2)), ("flow", "speed")))
    array([ True, False])
    """
    empty = np.ones(values.shape[1], bool)
    for start in range(0, len(values), _CHUNK):
        empty &= np.isnan(values[start : start + _CHUNK]).all(axis=0)
        if not empty.any():
            break
    if empty.all():
        lost = "" if len(values) == len(table) else " once rows at the same time are made one"
        raise DataError(
            f"{table.source}: no column holds any value{lost}; give a table with numbers"
        )
    return ~empty


def _room(values: NDArray[Any], plan: Alignment, *, overwrite: bool) -> NDArray[np.float32]:
    """Memory for the result: the table's own where that is allowed and fits."""
    fits = values.dtype == np.float32 and values.flags.c_contiguous and values.flags.writeable
    if overwrite and fits and plan.kept is None:
        return values[: len(plan.ticks)]
    return np.empty((len(plan.ticks), values.shape[1]), np.float32)


def _refuse_missing(table: Table, plan: Alignment, start: int, missing: NDArray[np.bool_]) -> None:
    at, column = (int(i) for i in np.argwhere(missing)[0])
    name = table.variables[column]
    rows = np.flatnonzero(plan.rows == start + at)
    if len(rows):
        where = f"column {name!r}, {table.place(int(rows[0]))}: the cell is missing"
    else:
        where = f"column {name!r}: there is no reading for a step of the time grid"
    raise DataError(f'{where}; fill it in, or fit with missing="hold", "interpolate" or "mark"')
