"""From rows as given to rows in time: order, duplicates, grid, blocks, gaps, segments.

Everything here needs only the times and which rows hold any value, so it costs a few numbers a
row, however many variables there are.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from alora_ts.data.report import Gap
from alora_ts.errors import DataError

__all__ = ["Alignment", "Clock", "Duplicates", "OutOfOrder", "Rules", "align"]

Duplicates = Literal["last", "mean", "error"]
OutOfOrder = Literal["late", "sort", "error"]
_LATE_SHARE = 0.1


@dataclass(frozen=True)
class Rules:
    """How rows are aligned, in the unit of the ticks (microseconds, or the times' own numbers).

    Attributes
    ----------
    gap : float or None
        The longest time without data that does not split the series; None never splits.
    step : float or None
        The grid; None keeps the rows' own times.
    block : int
        How many rows are averaged into one.
    duplicates, out_of_order : str
        See ``Preparation``.
    """

    gap: float | None = None
    step: float | None = None
    block: int = 1
    duplicates: Duplicates = "last"
    out_of_order: OutOfOrder = "late"


@dataclass(frozen=True)
class Clock:
    """Where the rows before these ended.

    Attributes
    ----------
    last, seen : number or None
        The tick of the last row, and of the last row that held a value (the first row of a file
        counts as one, so that a file which begins without data has a beginning).
    segment : int
        The segment they were in.
    """

    last: Any = None
    seen: Any = None
    segment: int = -1


@dataclass(frozen=True)
class Alignment:
    """Which rows make which prepared row.

    Attributes
    ----------
    kept : ndarray of intp, shape (K,), or None
        The rows used, in the order of time; None means all as they are, one to one.
    starts : ndarray of intp, shape (M + 1,), or None
        Prepared row i is the mean of ``kept[starts[i]:starts[i + 1]]``, missing when empty.
    rows : ndarray of intp, shape (n,)
        The prepared row of each input row that was used up; later input rows wait for more.
    ticks : ndarray, shape (M,)
        Times of the prepared rows.
    segments : ndarray of int32, shape (M,)
    gaps : tuple of (tick, tick)
    late, duplicates : int
        Counts of rows.
    clock : Clock
        To continue from.
    """

    kept: NDArray[np.intp] | None
    starts: NDArray[np.intp] | None
    rows: NDArray[np.intp]
    ticks: NDArray[Any]
    segments: NDArray[np.int32]
    gaps: tuple[Gap, ...]
    late: int
    duplicates: int
    clock: Clock


def align(
    ticks: NDArray[Any],
    has_data: NDArray[np.bool_] | None,
    borders: NDArray[np.intp],
    rules: Rules,
    clock: Clock,
    *,
    final: bool,
    may_sort: bool,
    place: Callable[[int], str],
    time_name: str,
) -> Alignment:
    """Align rows that continue those the clock knows of.

    Parameters
    ----------
    ticks : ndarray of shape (N,)
        The rows' times.
    has_data : ndarray of bool, shape (N,), or None
        Which rows hold at least one value; None means all.
    borders : ndarray of intp
        Rows at which a file begins.
    rules, clock : Rules, Clock
        How, and from where.
    final : bool
        Whether these rows are complete; otherwise the last prepared row, which the next rows
        might still belong to, waits.
    may_sort : bool
        Whether rows can still be brought into order.
    place, time_name : callable, str
        Name rows and the time column in messages.

    Raises
    ------
    DataError
        When times run backwards or occur twice against the rules, or the grid is far too fine.
    """
    border = np.zeros(len(ticks), bool)
    border[borders] = True
    if clock.last is None:
        border[0] = True
    order, late = _order(
        ticks, border, rules, clock, may_sort=may_sort, place=place, time_name=time_name
    )
    if order is not None:
        ticks = ticks[order]
        has_data = None if has_data is None else has_data[order]
    changes = np.ones(len(ticks), bool)
    changes[1:] = (ticks[1:] != ticks[:-1]) | border[1:]
    kept_mask = _judge_duplicates(ticks, changes, order, rules, place=place, time_name=time_name)
    if rules.step is not None:
        keys = np.floor_divide(ticks, rules.step)
        opens = border.copy()
        opens[0] = True
        opens[1:] |= keys[1:] != keys[:-1]
        ticks = keys * rules.step
    else:
        opens = changes
    firsts = np.flatnonzero(opens)
    if has_data is not None:
        has_data = np.logical_or.reduceat(
            has_data if kept_mask is None else has_data & kept_mask, firsts
        )
    split = _split(ticks[firsts], has_data, border[firsts], rules, clock)
    layout = _lay_out(split, firsts, len(ticks), rules, final=final)
    used = layout.used_rows
    rows, starts, kept = layout.row_of_bin, None, None
    as_given = order is None and kept_mask is None and rules.step is None
    if not as_given or len(layout.ticks) != used:
        sizes = np.diff(np.append(firsts, len(ticks)))[: layout.used_bins]
        rows, starts = np.repeat(rows, sizes), layout.starts
        kept = np.arange(used)
        if kept_mask is not None:
            kept = np.flatnonzero(kept_mask[:used])
            starts = np.append(0, np.cumsum(kept_mask[:used]))[starts]
        kept = kept if order is None else order[kept]
    if order is not None:
        back = np.empty(len(order), np.intp)
        back[order] = rows
        rows = back
    duplicates = used - int(changes[:used].sum())
    state, gaps = _advance(split, layout.used_bins, clock, rules, final=final)
    return Alignment(
        kept, starts, rows, layout.ticks, layout.segments, gaps, late, duplicates, state
    )


def _order(
    ticks: NDArray[Any],
    border: NDArray[np.bool_],
    rules: Rules,
    clock: Clock,
    *,
    may_sort: bool,
    place: Callable[[int], str],
    time_name: str,
) -> tuple[NDArray[np.intp] | None, int]:
    """Sort within each file, if needed and allowed."""
    falls = np.zeros(len(ticks), bool)
    falls[1:] = (ticks[1:] < ticks[:-1]) & ~border[1:]
    falls[0] = not border[0] and ticks[0] < clock.last
    if not falls.any():
        return None, 0
    part = np.cumsum(border)
    late, first = 0, int(np.flatnonzero(falls)[0])
    for number in np.unique(part[falls]):
        inside = ticks[part == number]
        late += int((inside < np.maximum.accumulate(inside)).sum())
    if rules.out_of_order == "sort" and may_sort:
        return np.lexsort((ticks, part)), late
    said = f"column {time_name!r}, {place(first)}: the time is earlier than that of the row before"
    if not may_sort:
        raise DataError(
            f"{said}; rows read in chunks must be in the order of time: sort them first"
        )
    if rules.out_of_order == "error":
        raise DataError(f'{said}; sort the rows, or allow out_of_order="late"')
    if late > _LATE_SHARE * len(ticks):
        raise DataError(
            f"{said}, and {late:,} of {len(ticks):,} rows come after a later one: the table runs "
            "backwards, or holds several series one after the other; sort the rows, fit one model "
            'for each series (alora-ts fleet fit, or GroupedALoRa), or choose out_of_order="sort" '
            "(--set out_of_order=sort)"
        )
    return np.lexsort((ticks, part)), late


def _judge_duplicates(
    ticks: NDArray[Any],
    changes: NDArray[np.bool_],
    order: NDArray[np.intp] | None,
    rules: Rules,
    *,
    place: Callable[[int], str],
    time_name: str,
) -> NDArray[np.bool_] | None:
    """Which rows stay; None for all."""
    duplicates = int(len(changes) - changes.sum())
    if not duplicates:
        return None
    if rules.duplicates == "error":
        at = int(np.flatnonzero(~changes)[0])
        row = at if order is None else int(order[at])
        raise DataError(
            f"column {time_name!r}, {place(row)}: the time {ticks[at]} occurs twice "
            f'({duplicates:,} in all); remove them, or choose duplicates="last" or "mean"'
        )
    return None if rules.duplicates == "mean" else np.r_[changes[1:], True]


@dataclass(frozen=True)
class _Split:
    """Moments in time (bins), and where the series breaks between them."""

    ticks: NDArray[Any]
    breaks: NDArray[np.bool_]
    border: NDArray[np.bool_]
    segments: NDArray[np.int32]
    # Before each bin, the tick of the last one with data; then the same after the last bin.
    seen: NDArray[Any]
    gaps_at: NDArray[np.intp]
    before: Any


def _split(
    ticks: NDArray[Any],
    has_data: NDArray[np.bool_] | None,
    border: NDArray[np.bool_],
    rules: Rules,
    clock: Clock,
) -> _Split:
    count = len(ticks)
    before = np.empty(count, ticks.dtype)
    before[1:] = ticks[:-1]
    before[0] = ticks[0] if clock.last is None else clock.last
    seen = np.empty(count + 1, ticks.dtype)
    seen[0] = ticks[0] if clock.seen is None else clock.seen
    seen[1:] = ticks
    if has_data is not None:
        # The first bin of a file counts as data: an outage at its start begins there.
        at = np.maximum.accumulate(np.where(has_data | border, np.arange(1, count + 1), 0))
        seen[1:] = seen[at]
    breaks = border.copy()
    gaps_at = np.empty(0, np.intp)
    if rules.gap is not None:
        silent = (ticks - seen[:-1] > rules.gap) & ~border
        if has_data is not None:
            silent &= has_data
        gaps_at = np.flatnonzero(silent)
        breaks |= silent | ((ticks - before > rules.gap) & ~border)
    segments = (clock.segment + np.cumsum(breaks)).astype(np.int32)
    return _Split(ticks, breaks, border, segments, seen, gaps_at, before)


@dataclass(frozen=True)
class _Layout:
    ticks: NDArray[Any]
    segments: NDArray[np.int32]
    starts: NDArray[np.intp]
    row_of_bin: NDArray[np.intp]
    used_bins: int
    used_rows: int


def _lay_out(
    split: _Split, firsts: NDArray[np.intp], n_rows: int, rules: Rules, *, final: bool
) -> _Layout:
    """Number the prepared rows: one a bin, with empty ones between on a grid, or one a block."""
    count = len(firsts)
    if rules.step is None and rules.block == 1:
        used = count if final else count - 1
        used_rows = n_rows if used == count else int(firsts[used])
        starts = np.append(firsts[:used], used_rows)
        rows = np.arange(used)
        return _Layout(split.ticks[:used], split.segments[:used], starts, rows, used, used_rows)
    skipped = np.zeros(count, np.intp)
    if rules.step is not None:
        steps = np.rint((split.ticks - split.before) / rules.step).astype(np.intp)
        skipped = np.where(split.breaks, 0, steps - 1)
        skipped[0] = max(skipped[0], 0)
        if skipped.sum() > 20 * n_rows + 1_000_000:
            raise DataError(
                f"the grid would have {skipped.sum() + count:,} rows for {n_rows:,} given ones; "
                "choose a coarser resample= or a smaller gap="
            )
    opens = np.ones(count, bool)
    if rules.block > 1:
        first_of = np.maximum.accumulate(np.where(split.breaks, np.arange(count), 0))
        opens = (np.arange(count) - first_of) % rules.block == 0
    row_of_bin = np.cumsum(opens) - 1 + np.cumsum(skipped)
    settled = opens
    if not final and rules.block > 1 and count > 1 and count - 1 in split.gaps_at[-1:]:
        # The last bin's data end a silence, but a later row of the same moment may take them back;
        # then the bin belongs to the block before it, which has to wait too.
        settled = opens.copy()
        settled[-1] = (count - 1 - first_of[-2]) % rules.block == 0
    used_bins = count if final else int(np.flatnonzero(settled)[-1])
    used_rows = n_rows if used_bins == count else int(firsts[used_bins])
    heads = np.flatnonzero(opens[:used_bins])  # the bin that opens each prepared row
    total = int(row_of_bin[used_bins - 1]) + 1 if used_bins else 0
    owner = np.full(total, -1, np.intp)
    owner[row_of_bin[heads]] = heads
    # An empty row starts where the next bin does, so that its range of rows is empty.
    following = np.minimum.accumulate(np.where(owner < 0, count, owner)[::-1])[::-1]
    starts = np.r_[firsts[following], used_rows].astype(np.intp)
    ticks = split.ticks[following]
    empty = np.flatnonzero(owner < 0)
    if rules.step is not None and len(empty):
        distance = row_of_bin[following[empty]] - empty
        ticks[empty] = ticks[empty] - (distance * rules.step).astype(ticks.dtype)
    return _Layout(
        ticks, split.segments[following], starts, row_of_bin[:used_bins], used_bins, used_rows
    )


def _advance(
    split: _Split, used: int, clock: Clock, rules: Rules, *, final: bool
) -> tuple[Clock, tuple[Gap, ...]]:
    """The clock after the used bins, and the gaps that ended among them."""
    gaps = [Gap(split.seen[at], split.ticks[at]) for at in split.gaps_at if at < used]
    if rules.gap is not None:
        # Data that stop before their file does: the outage ends with the file.
        ends = np.flatnonzero(split.border[:used])
        if clock.last is None:
            ends = ends[1:]
        pairs = [(split.seen[at], split.before[at]) for at in ends]
        if final and used:
            pairs.append((split.seen[used], split.ticks[used - 1]))
        gaps += [Gap(seen, last) for seen, last in pairs if last - seen > rules.gap]
    if not used:
        return clock, tuple(gaps)
    last = split.ticks[used - 1]
    state = replace(clock, last=last, seen=split.seen[used], segment=int(split.segments[used - 1]))
    return state, tuple(sorted(gaps, key=lambda gap: (gap.start, gap.end)))
