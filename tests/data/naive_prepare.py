"""Preparation the slow, obvious way: Python lists and one row at a time."""

from __future__ import annotations

import math
from dataclasses import dataclass
from itertools import groupby

Row = list[float]


@dataclass
class NaivePrepared:
    values: list[Row]
    missing: list[list[bool]]
    segments: list[int]
    times: list[float]
    rows: list[int]
    gaps: list[tuple[float, float]]


@dataclass
class _Bin:
    time: float
    rows: list[int]  # all input rows
    kept: list[int]  # those whose cells count


def _mean(cells: list[float]) -> float:
    present = [cell for cell in cells if not math.isnan(cell)]
    return math.fsum(present) / len(present) if present else math.nan


def _bins(times: list[float], rows: list[int], duplicates: str, step: float | None) -> list[_Bin]:
    ordered = sorted(rows, key=lambda row: times[row])
    moments = [list(group) for _, group in groupby(ordered, key=lambda row: times[row])]
    bins: list[_Bin] = []
    for moment in moments:
        kept = moment[-1:] if duplicates == "last" else moment
        time = times[moment[0]] if step is None else times[moment[0]] // step * step
        if step is not None and bins and bins[-1].time == time:
            bins[-1].rows += moment
            bins[-1].kept += kept
        else:
            bins.append(_Bin(time, list(moment), list(kept)))
    return bins


def naive_prepare(  # noqa: PLR0912 - one walk over the rows, with every rule in sight
    values: list[Row],
    times: list[float],
    parts: list[int],
    *,
    center: list[float],
    scale: list[float],
    gap: float | None,
    step: float | None = None,
    block: int = 1,
    duplicates: str = "last",
    missing: str = "hold",
    limit: int | None = None,
) -> NaivePrepared:
    width = len(center)
    prepared: list[tuple[float, int, list[int], list[int]]] = []  # time, segment, rows, kept
    gaps: list[tuple[float, float]] = []
    segment = -1
    for start, stop in zip(parts, [*parts[1:], len(values)], strict=True):
        last: float | None = None
        seen = 0.0
        in_block = 0
        for item in _bins(times, list(range(start, stop)), duplicates, step):
            has_data = any(not math.isnan(cell) for row in item.kept for cell in values[row])
            new = last is None
            if last is None:
                seen = item.time
            elif gap is not None:
                if has_data and item.time - seen > gap:
                    gaps.append((seen, item.time))
                    new = True
                new = new or item.time - last > gap
            if new:
                segment += 1
                in_block = 0
            elif step is not None and last is not None:
                empty = last + step
                while empty < item.time:
                    prepared.append((empty, segment, [], []))
                    empty += step
            if in_block % block == 0:
                prepared.append((item.time, segment, [], []))
            prepared[-1][2].extend(item.rows)
            prepared[-1][3].extend(item.kept)
            in_block += 1
            last = item.time
            if has_data:
                seen = item.time
        if gap is not None and last is not None and last - seen > gap:
            gaps.append((seen, last))
    rows = [0] * len(values)
    table: list[Row] = []
    for at, (_, _, members, kept) in enumerate(prepared):
        for row in members:
            rows[row] = at
        means = [_mean([values[row][column] for row in kept]) for column in range(width)]
        scaled = [(means[c] - center[c]) / scale[c] for c in range(width)]
        table.append([x if math.isnan(x) else max(-1e6, min(1e6, x)) for x in scaled])
    segments = [entry[1] for entry in prepared]
    stamps = [entry[0] for entry in prepared]
    gone = [[math.isnan(cell) for cell in row] for row in table]
    for column in range(width):
        for at, row in enumerate(table):
            if gone[at][column]:
                row[column] = _fill(
                    table,
                    gone,
                    segments,
                    stamps,
                    at=at,
                    column=column,
                    missing=missing,
                    limit=limit,
                )
    return NaivePrepared(table, gone, segments, stamps, rows, sorted(gaps))


def _fill(
    table: list[Row],
    gone: list[list[bool]],
    segments: list[int],
    times: list[float],
    *,
    at: int,
    column: int,
    missing: str,
    limit: int | None,
) -> float:
    if missing == "mark":
        return 0.0
    before = after = at
    while before >= 0 and segments[before] == segments[at] and gone[before][column]:
        before -= 1
    while after < len(table) and segments[after] == segments[at] and gone[after][column]:
        after += 1
    left = before >= 0 and segments[before] == segments[at]
    right = after < len(table) and segments[after] == segments[at]
    if missing == "hold":
        far = limit is not None and at - before > limit
        return table[before][column] if left and not far else 0.0
    if limit is not None and after - before - 1 > limit:
        return 0.0
    if left and right:
        share = (times[at] - times[before]) / (times[after] - times[before])
        return table[before][column] + share * (table[after][column] - table[before][column])
    if left or right:
        return table[before][column] if left else table[after][column]
    return 0.0
