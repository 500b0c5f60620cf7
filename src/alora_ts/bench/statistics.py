"""Which differences between methods are more than chance, over entities."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy import stats

from alora_ts.errors import AloraError

__all__ = [
    "Friedman",
    "Interval",
    "average_ranks",
    "bootstrap_mean",
    "critical_difference",
    "friedman",
    "holm",
    "indistinguishable",
    "wilcoxon_holm",
]


@dataclass(frozen=True)
class Interval:
    """A mean and between which values it lies with the confidence asked for."""

    mean: float
    low: float
    high: float

    @property
    def covers_zero(self) -> bool:
        """Whether the sign of the mean may be chance."""
        return self.low <= 0.0 <= self.high


@dataclass(frozen=True)
class Friedman:
    """The Friedman test of "all methods are equally good"."""

    statistic: float
    p: float


def average_ranks(values: ArrayLike) -> NDArray[np.float64]:
    """Average the ranks that methods have on each entity; 1 is best, ties share theirs.

    Parameters
    ----------
    values : array_like of shape (entities, methods)
        More is better.

    Returns
    -------
    ndarray of shape (methods,)

    Raises
    ------
    AloraError
        When the table is empty or not all of it is finite.

    Examples
    --------
    >>> average_ranks([[0.9, 0.5, 0.5], [0.8, 0.9, 0.1]])
    array([1.5 , 1.75, 2.75])
    """
    ranks = stats.rankdata(-_table(values), axis=1)
    return np.asarray(ranks.mean(axis=0), dtype=np.float64)


def friedman(values: ArrayLike) -> Friedman | None:
    """Test whether some methods are better than others on the whole.

    Parameters
    ----------
    values : array_like of shape (entities, methods)

    Returns
    -------
    Friedman or None
        None with fewer than three methods or two entities, or when all values of every entity
        are equal: the test is not defined there.

    Examples
    --------
    >>> round(friedman([[3, 2, 1], [3, 2, 1], [3, 1, 2], [3, 2, 1]]).p, 4)
    0.0388
    """
    table = _table(values)
    if table.shape[0] < 2 or table.shape[1] < 3 or bool((table == table[:, :1]).all()):
        return None
    found = stats.friedmanchisquare(*table.T)
    return Friedman(float(found.statistic), float(found.pvalue))


def critical_difference(entities: int, methods: int, *, alpha: float = 0.05) -> float:
    """By how much average ranks must differ at least (Nemenyi).

    Parameters
    ----------
    entities, methods : int
    alpha : float
        The chance to call any two equal methods different.

    Examples
    --------
    >>> round(critical_difference(30, 5), 3)
    1.114
    """
    if entities < 1 or methods < 2:
        raise AloraError(
            f"a critical difference needs an entity and two methods, not {entities} and {methods}"
        )
    return (
        _studentized(methods, alpha)
        / math.sqrt(2)
        * math.sqrt(methods * (methods + 1) / (6 * entities))
    )


def indistinguishable(ranks: ArrayLike, difference: float) -> list[tuple[int, ...]]:
    """Find the largest groups of methods whose ranks differ by less than a critical difference.

    Parameters
    ----------
    ranks : array_like of shape (methods,)
    difference : float

    Returns
    -------
    list of tuple of int
        Indices from best to worst; groups of one are left out.

    Examples
    --------
    >>> indistinguishable([1.0, 3.0, 1.5, 2.4], 1.0)
    [(0, 2), (2, 3), (3, 1)]
    """
    values = np.asarray(ranks, dtype=np.float64)
    order = np.argsort(values, kind="stable")
    found: list[tuple[int, ...]] = []
    reached = -1
    for first in range(order.size):
        last = int(np.searchsorted(values[order], values[order[first]] + difference, "left")) - 1
        # A group that ends where an earlier one ended lies within it.
        if last > max(first, reached):
            found.append(tuple(int(one) for one in order[first : last + 1]))
        reached = max(reached, last)
    return found


def holm(p: Sequence[float]) -> list[float]:
    """Adjust p-values so that all of them may be looked at (Holm).

    Examples
    --------
    >>> holm([0.01, 0.04, 0.03])
    [0.03, 0.06, 0.06]
    """
    adjusted = [0.0] * len(p)
    worst = 0.0
    for done, place in enumerate(sorted(range(len(p)), key=lambda at: p[at])):
        worst = max(worst, min(1.0, (len(p) - done) * p[place]))
        adjusted[place] = worst
    return adjusted


def wilcoxon_holm(values: ArrayLike, reference: int) -> list[float | None]:
    """Compare one method with each other one (signed ranks of entities, adjusted by Holm).

    Parameters
    ----------
    values : array_like of shape (entities, methods)
    reference : int
        The method that is compared with the rest.

    Returns
    -------
    list of float or None
        A p-value for each method; None for the reference itself.

    Examples
    --------
    >>> wilcoxon_holm([[0.9, 0.1, 0.9], [0.8, 0.2, 0.8], [0.7, 0.1, 0.7]], 0)
    [None, 0.5, 1.0]
    """
    table = _table(values)
    others = [at for at in range(table.shape[1]) if at != reference]
    adjusted = holm([_signed_ranks(table[:, reference] - table[:, at]) for at in others])
    found: list[float | None] = [None] * table.shape[1]
    for at, p in zip(others, adjusted, strict=True):
        found[at] = p
    return found


def bootstrap_mean(
    values: ArrayLike, *, level: float = 0.95, resamples: int = 10_000, seed: int = 0
) -> Interval | None:
    """Say between which values a mean over entities lies, for another sample of entities.

    Parameters
    ----------
    values : array_like of shape (entities,)
        Of one method, or the differences of two.
    level : float
        The confidence.
    resamples, seed : int
        How many sets of entities are drawn, and how.

    Returns
    -------
    Interval or None
        The percentiles; None with fewer than two entities.

    Examples
    --------
    >>> found = bootstrap_mean([0.1, 0.2, 0.3, 0.2])
    >>> found.mean, round(found.low, 3), round(found.high, 3)
    (0.2, 0.125, 0.275)
    >>> bootstrap_mean([0.1]) is None
    True
    """
    drawn = _table(np.asarray(values, dtype=np.float64)[:, None])[:, 0]
    if drawn.size < 2:
        return None
    means = _shares(drawn.size, resamples, seed) @ drawn
    low, high = np.quantile(means, [(1 - level) / 2, (1 + level) / 2])
    mean = float(drawn.mean())
    # The mean of equal values may differ from each of them in the last bit.
    return Interval(mean, min(float(low), mean), max(float(high), mean))


@lru_cache(maxsize=8)
def _shares(size: int, resamples: int, seed: int) -> NDArray[np.float64]:
    """How large a part each entity has of every set that is drawn, (resamples, size).

    The same sets serve all methods, so that they are compared on the same draws.
    """
    drawn = np.random.default_rng(seed).integers(0, size, (resamples, size))
    drawn += np.arange(resamples)[:, None] * size
    counts = np.bincount(drawn.ravel(), minlength=resamples * size)
    return counts.reshape(resamples, size) / size


@lru_cache
def _studentized(methods: int, alpha: float) -> float:
    return float(stats.studentized_range.ppf(1 - alpha, methods, np.inf))


def _signed_ranks(differences: NDArray[np.float64]) -> float:
    """Wilcoxon's two-sided p, exact also with ties; differences of zero are left out.

    scipy is exact without ties, and with them tries all signs one by one, which takes seconds.
    Here the distribution of the rank sum is built rank by rank; doubled, tied ranks are whole.
    """
    kept = differences[differences != 0]
    ranks = np.rint(2 * stats.rankdata(np.abs(kept))).astype(np.int64)
    total = int(ranks.sum())
    chance = np.zeros(total + 1)
    chance[0] = 1.0
    for rank in ranks:
        chance[rank:] += chance[: total + 1 - rank].copy()
        chance /= 2
    positive = int(ranks[kept > 0].sum())
    tail = chance[: min(positive, total - positive) + 1].sum()
    return min(1.0, 2 * float(tail))


def _table(values: ArrayLike) -> NDArray[np.float64]:
    table = np.asarray(values, dtype=np.float64)
    if table.ndim != 2 or table.size == 0:
        raise AloraError(
            f"statistics need a table of entities by methods, but its shape is {table.shape}"
        )
    if not np.isfinite(table).all():
        row, column = np.argwhere(~np.isfinite(table))[0]
        raise AloraError(
            f"statistics need a number everywhere, but entity {row}, method {column} has "
            f"{table[row, column]}; leave out methods that lack entities"
        )
    return table
