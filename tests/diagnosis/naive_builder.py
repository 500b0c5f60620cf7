"""Alarms and incidents the slow way: one row at a time, all rows kept, plain Python."""

from __future__ import annotations

from typing import Any

import numpy as np


def alarms(
    score: list[float],
    warm_up: list[bool],
    segments: list[int],
    *,
    opening: float,
    closing: float,
) -> list[bool]:
    """Whether each row alarms."""
    found: list[bool] = []
    for row, value in enumerate(score):
        goes_on = row > 0 and found[-1] and segments[row] == segments[row - 1]
        if warm_up[row]:
            found.append(False)
        elif value > opening:
            found.append(True)
        else:
            found.append(goes_on and value > closing)
    return found


def stretches(
    alarm: list[bool], warm_up: list[bool], segments: list[int], *, merge: int, minimum: int
) -> list[tuple[int, int]]:
    """Half-open ranges: look back from each alarming row at the rows since the one before."""
    found: list[list[int]] = []
    for row, one in enumerate(alarm):
        if not one:
            continue
        between = range(found[-1][1] + 1, row) if found else range(0)
        together = (
            bool(found)
            and len(between) <= merge
            and not any(warm_up[other] for other in between)
            and len({segments[other] for other in range(found[-1][1], row + 1)}) == 1
        )
        if together:
            found[-1][1] = row
        else:
            found.append([row, row])
    return [(start, last + 1) for start, last in found if last + 1 - start >= minimum]


def ending(last: int, warm_up: list[bool], segments: list[int], *, merge: int) -> str | None:
    """What ended the stretch whose last alarming row is this: look at the rows after it."""
    for row in range(last + 1, len(warm_up)):
        if warm_up[row] or segments[row] != segments[last]:
            return "gap"
        if row - last > merge:
            return "quiet"
    return None


def incident(
    start: int, end: int, alarm: list[bool], table: dict[str, Any], variables: list[str]
) -> dict[str, Any]:
    """Peak, culprits and origin of one stretch."""
    rows = [row for row in range(start, end) if alarm[row]]
    score = table["score"]
    peak = max(rows, key=lambda row: (score[row], -row))
    culprits = []
    part = _shares(rows, score, table["localization"])
    listed = 0.0
    for at in sorted(range(len(variables)), key=lambda at: (-part[at], at))[:10]:
        if listed >= 0.9:
            break
        listed += part[at]
        deviation = {
            row: (table["values"][row][at] - table["expected"][row][at]) / table["scale"][at]
            for row in rows
        }
        known = [row for row in rows if not np.isnan(deviation[row])]
        above = sum(deviation[row] for row in known) >= 0
        sign = 1 if above else -1
        worst = max(known, key=lambda row: (sign * deviation[row], -row), default=None)
        culprits.append(
            {
                "variable": variables[at],
                "share": part[at],
                "direction": "above" if above else "below",
                "value": np.nan if worst is None else table["values"][worst][at],
                "expected": np.nan if worst is None else table["expected"][worst][at],
            }
        )
    origin = None
    if table["origin"] is not None:
        likely = _shares(rows, score, table["origin"])
        first = max(range(len(variables)), key=lambda at: (likely[at], -at))
        origin = {"variable": variables[first], "share": likely[first]}
    return {"start": start, "end": end, "peak": peak, "culprits": culprits, "origin": origin}


def _shares(rows: list[int], score: Any, scores: Any) -> list[float]:
    d = len(scores[0])
    total = [0.0] * d
    for row in rows:
        positive = [max(float(one), 0.0) for one in scores[row]]
        whole = sum(positive)
        for at in range(d):
            total[at] += score[row] * (positive[at] / whole if whole > 0 else 1 / d)
    return [one / sum(total) for one in total]
