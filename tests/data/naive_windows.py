"""Windows, one row at a time."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray


def naive_ends(segments: list[int], window: int) -> list[int]:
    ends = []
    for row in range(len(segments)):
        inside = segments[max(row - window + 1, 0) : row + 1]
        if len(inside) == window and len(set(inside)) == 1:
            ends.append(row)
    return ends


def naive_window_of_row(
    values: NDArray[Any], segments: list[int], window: int, row: int
) -> tuple[NDArray[Any], int, bool]:
    """The window that scores a row, the row's place in it, and whether it is warm-up."""
    first = row
    while first > 0 and segments[first - 1] == segments[row]:
        first -= 1
    last = row
    while last + 1 < len(segments) and segments[last + 1] == segments[row]:
        last += 1
    end = max(row, min(first + window - 1, last))
    rows = [max(at, first) for at in range(end - window + 1, end + 1)]
    return values[rows], window - 1 - (end - row), row < first + window - 1


def naive_segments(lengths: list[int]) -> list[int]:
    return [number for number, length in enumerate(lengths) for _ in range(length)]


def as_array(segments: list[int]) -> NDArray[np.int32]:
    return np.array(segments, np.int32)
