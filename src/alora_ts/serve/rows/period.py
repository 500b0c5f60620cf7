"""What a stretch of rows looks like before anyone learns from it: its signals and its gaps."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from alora_ts.serve.times import from_micros

__all__ = ["describe_gaps", "describe_signals", "longest_without"]

_GAP_STEPS = 10  # as many steps as a model takes for a gap
_LISTED = 20
_POINTS = 80


def longest_without(start: int, end: int, others: Iterable[tuple[int, int]]) -> tuple[int, int]:
    """The longest stretch of [start, end) that touches none of the others.

    Examples
    --------
    >>> longest_without(0, 100, [(70, 80), (10, 20), (15, 30)])
    (31, 70)
    >>> longest_without(0, 100, [])
    (0, 100)
    """
    at, best = start, (start, start)
    for low, high in [*sorted(others), (end, end)]:
        if min(low, end) - at > best[1] - best[0]:
            best = (at, min(low, end))
        at = max(at, high + 1)
    return best


def describe_gaps(times: NDArray[np.int64]) -> dict[str, Any]:
    """The usual distance of rows in seconds, and where they are more than ten times as far apart.

    Examples
    --------
    >>> found = describe_gaps(np.array([0, 1, 2, 3, 60, 61]) * 1_000_000)
    >>> found["step"], found["gap_count"], found["gaps"][0]["seconds"]
    (1.0, 1, 57.0)
    """
    steps = np.diff(times)
    if len(steps) == 0:
        return {"step": None, "gap_count": 0, "gaps": []}
    usual = float(np.median(steps))
    wide = np.flatnonzero(steps > _GAP_STEPS * usual)
    worst = wide[np.argsort(-steps[wide], kind="stable")][:_LISTED]
    return {
        "step": usual / 1e6,
        "gap_count": len(wide),
        "gaps": [
            {
                "start": from_micros(int(times[at])),
                "end": from_micros(int(times[at + 1])),
                "seconds": float(steps[at] / 1e6),
            }
            for at in sorted(worst.tolist())
        ],
    }


def describe_signals(
    times: NDArray[np.int64], values: NDArray[np.float64], variables: Sequence[str]
) -> list[dict[str, Any]]:
    """For each signal how much of it is missing, how far it ranges, and a line to draw.

    Parameters
    ----------
    times : ndarray of int64, shape (N,)
    values : ndarray of shape (N, d)
        NaN where missing.
    variables : sequence of str

    Examples
    --------
    >>> rows = np.array([[1.0, np.nan], [3.0, np.nan]])
    >>> [one["note"] for one in describe_signals(np.array([0, 1]), rows, ["flow", "heat"])]
    ['', 'no values: it will be left out']
    """
    shown = np.unique(np.linspace(0, max(len(times) - 1, 0), _POINTS).astype(int))[: len(times)]
    said = []
    for at, name in enumerate(variables):
        column = values[:, at]
        known = column[~np.isnan(column)]
        missing = 1.0 - len(known) / max(1, len(column))
        low, high = (float(known.min()), float(known.max())) if len(known) else (None, None)
        note = ""
        if not len(known):
            note = "no values: it will be left out"
        elif low == high:
            note = "constant: it says nothing here"
        elif missing > 0.5:
            note = "more than half is missing"
        line = [None if np.isnan(v) else float(v) for v in column[shown]]
        said.append(
            {
                "name": name,
                "missing": missing,
                "low": low,
                "high": high,
                "note": note,
                "t": [int(t) // 1000 for t in times[shown]],
                "v": line,
            }
        )
    return said
