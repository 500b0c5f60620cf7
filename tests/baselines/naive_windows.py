"""Slow twins of the windows' plan: lists of row numbers, one window at a time."""

from __future__ import annotations


def strided(segments: list[int], window: int, stride: int) -> tuple[list[list[int]], list[int]]:
    """All windows as lists of T rows (a short segment's first row repeated), and each row's."""
    windows: list[list[int]] = []
    of_row: list[int] = []
    for rows in _runs(segments):
        ends = [rows[0] + at for at in range(window - 1, len(rows), stride)]
        if not ends or ends[-1] != rows[-1]:
            ends.append(rows[-1])
        before = len(windows)
        windows += [[max(row, rows[0]) for row in range(end - window + 1, end + 1)] for end in ends]
        of_row += [before + next(at for at, end in enumerate(ends) if end >= row) for row in rows]
    return windows, of_row


def padded(segments: list[int], window: int) -> list[list[int]]:
    """One window per row, its segment's first row repeated where rows are missing."""
    return [
        [max(row, rows[0]) for row in range(end - window + 1, end + 1)]
        for rows in _runs(segments)
        for end in rows
    ]


def _runs(segments: list[int]) -> list[list[int]]:
    runs: list[list[int]] = []
    for row, number in enumerate(segments):
        if row == 0 or segments[row - 1] != number:
            runs.append([])
        runs[-1].append(row)
    return runs
