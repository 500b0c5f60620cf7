"""The slow, obvious way to compare when two entities were in an incident."""

from __future__ import annotations

import itertools
from collections.abc import Sequence

Stretch = tuple[float, float]


def naive_overlap(one: Sequence[Stretch], other: Sequence[Stretch]) -> float:
    """Time in both by time in either, by looking at every piece between two ends."""
    ends = sorted({end for stretch in (*one, *other) for end in stretch})
    both = either = 0.0
    for begin, end in itertools.pairwise(ends):
        middle = (begin + end) / 2
        inside = [any(a <= middle < b for a, b in each) for each in (one, other)]
        both += (end - begin) * all(inside)
        either += (end - begin) * any(inside)
    return both / either if either else 0.0
