"""Alarms and incidents the slow way: one row at a time, all rows kept, plain Python."""

from __future__ import annotations

from typing import Any

from tests.diagnosis import naive_explanation as naive


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
    alarm: list[bool], warm_up: list[bool], segments: list[int], *, merge: int, part: int
) -> list[tuple[int, int]]:
    """Half-open ranges: look back from each alarming row at the rows since the one before.

    Quiet rows up to a ``part`` of those that alarmed in the stretch do not end it.
    """
    found: list[list[int]] = []
    for row, one in enumerate(alarm):
        if not one:
            continue
        between = range(found[-1][1] + 1, row) if found else range(0)
        together = (
            bool(found)
            and len(between) <= max(merge, sum(alarm[found[-1][0] : row]) // part)
            and not any(warm_up[other] for other in between)
            and len({segments[other] for other in range(found[-1][1], row + 1)}) == 1
        )
        if together:
            found[-1][1] = row
        else:
            found.append([row, row])
    return [(start, last + 1) for start, last in found]


def parts(
    start: int, end: int, alarm: list[bool], score: list[float], *, merge: int, settled: int
) -> list[tuple[int, int]]:
    """A stretch, parted where its scores begin or cease to stand out from those it had."""
    found: list[list[int]] = [[]]
    lasting: list[float] = []
    mark, below = float("inf"), 0
    for row in range(start, end):
        if not alarm[row]:
            continue
        if mark < float("inf") and below > merge:
            mark = float("inf")
            found.append([])
        elif mark < float("inf"):
            below = 0 if score[row] > mark else below + 1
        elif len(lasting) >= settled and score[row] > 3 * max(lasting[-settled:]):
            mark, below = max(lasting[-settled:]), 0
            found.append([])
        if mark == float("inf"):
            lasting.append(score[row])
        found[-1].append(row)
    return [(rows[0], rows[-1] + 1) for rows in found]


def ending(last: int, warm_up: list[bool], segments: list[int], *, merge: int) -> str | None:
    """What ended the stretch whose last alarming row is this: look at the rows after it."""
    for row in range(last + 1, len(warm_up)):
        if warm_up[row] or segments[row] != segments[last]:
            return "gap"
        if row - last > merge:
            return "quiet"
    return None


def incident(
    start: int,
    end: int,
    alarm: list[bool],
    table: dict[str, Any],
    variables: list[str],
    *,
    over: bool,
) -> dict[str, Any]:
    """Peak, culprits and origin of one stretch, which is over or may go on."""
    rows = [row for row in range(start, end) if alarm[row]]
    peak = max(rows, key=lambda row: (table["score"][row], -row))
    count = len(rows)
    if not over:
        count = 1
        while count + max(1, count // 10) <= len(rows):
            count += max(1, count // 10)
    settled = rows[:count]
    judge, values = table["judge"], table["values"]
    before = list(range(max(start - 4, 0), start))
    whole = before + settled
    told = naive.telling(judge, values[whole], len(before))
    surprise = None
    if judge.mechanisms is not None:
        reach = judge.window - len(judge.mechanisms.weights) - 1
        reached = list(range(max(told[0] - reach, 0), told[0]))
        asked = [whole[at] for at in reached + told]
        surprise = table["surprise"][asked] + naive.beyond(judge, values[asked])
    told = [whole[at] for at in told]
    found = naive.explain(judge, values[told], surprise)
    naive.lead(judge, found, values[whole])
    return {
        "peak": peak,
        "variables": variables,
        "share": found["share"],
        "culprits": [variables[at] for at in found["culprits"]],
        "aside": [name for name, out in zip(variables, found["aside"], strict=True) if out],
        "certainty": naive.certainty(found),
    }
