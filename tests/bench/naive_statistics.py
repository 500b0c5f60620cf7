"""Slow, obvious twins of alora_ts.bench.statistics."""

from __future__ import annotations

import itertools
import math
from collections.abc import Sequence

import numpy as np


def ranks_of_row(row: Sequence[float]) -> list[float]:
    """1 + how many are better + half of how many others are equal."""
    return [
        1 + sum(other > value for other in row) + (sum(other == value for other in row) - 1) / 2
        for value in row
    ]


def average_ranks(table: Sequence[Sequence[float]]) -> list[float]:
    rows = [ranks_of_row(row) for row in table]
    return [sum(row[at] for row in rows) / len(rows) for at in range(len(rows[0]))]


def friedman_statistic(table: Sequence[Sequence[float]]) -> float:
    """Friedman's χ², corrected for ties, from its definition by squared rank sums."""
    n, k = len(table), len(table[0])
    rows = [ranks_of_row(row) for row in table]
    sums = [sum(row[at] for row in rows) for at in range(k)]
    between = sum((total - n * (k + 1) / 2) ** 2 for total in sums)
    within = sum((rank - (k + 1) / 2) ** 2 for row in rows for rank in row)
    return (k - 1) * between / within


def holm(p: Sequence[float]) -> list[float]:
    """By definition: the largest of (number not smaller) · p over all that are not larger."""
    order = sorted(range(len(p)), key=lambda at: p[at])
    result = [0.0] * len(p)
    for place, at in enumerate(order):
        result[at] = min(
            1.0, max((len(p) - before) * p[order[before]] for before in range(place + 1))
        )
    return result


def groups(ranks: Sequence[float], difference: float) -> set[frozenset[int]]:
    """All largest sets in which no two differ by the difference or more."""
    fine = [
        frozenset(chosen)
        for size in range(2, len(ranks) + 1)
        for chosen in itertools.combinations(range(len(ranks)), size)
        if all(abs(ranks[a] - ranks[b]) < difference for a, b in itertools.combinations(chosen, 2))
    ]
    return {one for one in fine if not any(one < other for other in fine)}


def signed_ranks(differences: Sequence[float]) -> float:
    """The exact two-sided p of Wilcoxon's test, by trying all signs; zeros are dropped."""
    sizes = [abs(value) for value in differences if value]
    ranks = ranks_of_row([-size for size in sizes])
    signs_seen = [value > 0 for value in differences if value]

    def extreme(signs: Sequence[bool]) -> float:
        positive = sum(rank for rank, sign in zip(ranks, signs, strict=True) if sign)
        return min(positive, sum(ranks) - positive)

    seen = extreme(signs_seen)
    tried = list(itertools.product((False, True), repeat=len(sizes)))
    return sum(extreme(signs) <= seen for signs in tried) / len(tried)


def bootstrap(values: Sequence[float], resamples: int, seed: int) -> tuple[float, float]:
    """2.5 and 97.5 % of the means of sets drawn with replacement."""
    rng = np.random.default_rng(seed)
    drawn = rng.integers(0, len(values), (resamples, len(values)))
    means = sorted(math.fsum(values[at] for at in row) / len(values) for row in drawn)

    def quantile(share: float) -> float:
        place = share * (resamples - 1)
        below = math.floor(place)
        above = min(below + 1, resamples - 1)
        return means[below] + (place - below) * (means[above] - means[below])

    return quantile(0.025), quantile(0.975)
