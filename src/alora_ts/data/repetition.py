"""Whether a day or a week of training tells the others, and what its course is.

How much of a variable its cycle explains is measured by leaving each repetition out in turn: with
x̂ the mean course of the other repetitions, the share is 1 − Σ(x − x̂)² / Σ(x − x̄)², and so much of
the course counts. Training's own rows are measured against the other repetitions, too, so that
they look as new rows do.

Without times only numbers of rows that a day or week has at common steps are tried; one two rows
shorter or longer must explain no more, and one a twelfth shorter or longer less than half.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.ndimage import uniform_filter1d
from scipy.sparse import csr_array

from alora_ts.data.cycle import DAY, Cycle, less
from alora_ts.data.record import Table
from alora_ts.data.ticks import as_ticks, median_step, time_kind

__all__ = ["learn_cycle"]

Array = NDArray[np.float64]

_REPETITIONS = {1: 7, 7: 3}
"""For a cycle of so many days, the fewest that training needs. With three to five days the course
is so unsure that as many rows alarm for nothing as are told apart (decision 0085)."""

_MOMENTS = 1440
"""Most moments of a day, and of a week: a longer table of moments tells no more of noisy rows."""

_COUNTS = (24, 48, 72, 96, 144, 288, 720, 1440)
"""Rows of a day at steps of an hour to a minute, for rows without times."""

_LEAST = 0.1
"""Share explained, in the mean of all variables that move, below which there is no cycle."""

_NONE = 0.05  # share of one variable below which it is none

_CLOSE, _BESIDE = 2, 12
_NEAR, _CLEARER = 0.98, 2.0
_WEEKLY = 0.02  # more than a day's, for a week to be taken
_SMOOTH = 60  # moments of a cycle that are told apart
_MOST_CELLS = 4_000_000  # of the last rows, that a course is learned from
_ROUNDING = 1e-6


def learn_cycle(table: Table) -> tuple[Cycle, NDArray[Any]] | None:
    """Learn the course that repeats in training, if there is one.

    Parameters
    ----------
    table : Table
        Training rows; missing cells are left out.

    Returns
    -------
    Cycle
    ndarray of shape (N, d)
        Training's rows less the course of the other repetitions.

    Examples
    --------
    >>> rng = np.random.default_rng(0)
    >>> hour = np.arange(24 * 20)
    >>> load = np.sin(2 * np.pi * hour / 24)[:, None] * [3.0, 0.0] + rng.normal(size=(480, 2))
    >>> cycle, left = learn_cycle(Table(load, ("busy", "noise")))
    >>> cycle.moments, cycle.share.round(1), left.std(0).round(1)
    (24, array([0.8, 0. ]), array([1.1, 1. ]))
    """
    values = table.values
    if len(values) < _REPETITIONS[1] * _COUNTS[0]:
        return None
    last = values[-max(_MOST_CELLS // max(values.shape[1], 1), _REPETITIONS[1] * _MOMENTS) :]
    low, high = (one.reduce(last, axis=0).astype(np.float64) for one in (np.fmin, np.fmax))
    with np.errstate(over="ignore"):
        moves = (high > low) & np.isfinite(high - low)  # False where there is no value
    base = np.where(moves, low, 0.0)
    size = np.where(moves, high - base, 1.0)
    scaled = np.where(moves, (last - base) / size, np.where(np.isnan(last), np.nan, 0.0))
    best: _Folded | None = None
    for folded in _candidates(table, scaled):
        if best is None or folded.gain > best.gain + (_WEEKLY if folded.days > 1 else 0.0):
            best = folded
    if best is None or best.gain < _LEAST:
        return None
    cycle = best.cycle(base, size)
    return cycle, best.rest(values, cycle, size)


def _candidates(table: Table, rows: Array) -> Iterator[_Folded]:
    """The cycles that there may be, in the order in which they are preferred."""
    n, step = len(table), median_step(table)
    if time_kind(table) == "datetime" and step:
        ticks = as_ticks(table)
        for days, fewest in _REPETITIONS.items():
            length = round(days * DAY * 1e6)
            each = length / (step * 1e6)
            moments = min(round(each), _MOMENTS)
            if np.ptp(ticks) + step * 1e6 < fewest * length or moments < _COUNTS[0]:
                continue
            place = (ticks - ticks.min() // length * length) * moments // length
            yield _Folded.of(rows, place, moments, days=days, timed=max(each, moments))
        return
    place = np.arange(n)
    for days, fewest in _REPETITIONS.items():
        for count in _COUNTS:
            moments = days * count
            if n < fewest * moments or moments > _MOMENTS:
                continue
            folded = _Folded.of(rows, place, moments, days=days)
            if folded.gain < _LEAST:
                continue
            beside = moments // _BESIDE
            gain = {
                apart: max(_Folded.of(rows, place, moments + by).gain for by in (-apart, apart))
                for apart in {_CLOSE, beside}
            }
            if folded.gain > max(_NEAR * gain[_CLOSE], _CLEARER * gain[beside]):
                yield folded


@dataclass(frozen=True, eq=False)
class _Folded:
    """Rows laid over one another, a repetition a layer.

    Attributes
    ----------
    moment, layer : ndarray of int, shape (N,)
        Of each row of the table; the layer is negative for rows before those that were laid over
        one another.
    sums, counts : ndarray of shape (R, P, d)
        Of the rows near each moment of each repetition.
    share : ndarray of shape (d,)
    left : ndarray of shape (d,)
        Mean square of what the course of the others leaves.
    days : int
    timed : float
        Rows of a cycle whose moments were told by times; 0 where rows were counted.
    """

    moment: NDArray[np.intp]
    layer: NDArray[np.intp]
    sums: Array
    counts: Array
    share: Array
    left: Array
    days: int
    timed: float

    @classmethod
    def of(
        cls,
        rows: Array,
        place: NDArray[np.integer],
        moments: int,
        *,
        days: int = 1,
        timed: float = 0.0,
    ) -> _Folded:
        """Lay rows over one another and see how well the others tell each."""
        layer, moment = np.divmod(place.astype(np.intp), moments)
        layer -= layer[-len(rows) :].min()
        layers = int(layer.max()) + 1
        cell = (layer * moments + moment)[-len(rows) :]
        known = ~np.isnan(rows)
        one = (np.ones(len(rows)), (cell, np.arange(len(rows))))
        gather = csr_array(one, shape=(layers * moments, len(rows)))
        shape = (layers, moments, rows.shape[1])
        sums = (gather @ np.where(known, rows, 0.0)).reshape(shape)
        counts = (gather @ known.astype(np.float64)).reshape(shape)
        width = max(moments // _SMOOTH, 1) | 1
        near = [uniform_filter1d(each, width, axis=1, mode="wrap") for each in (sums, counts)]
        missed, spread = np.zeros((2, rows.shape[1]))
        total, count = (each.sum(0) for each in near)
        for at in range(layers):
            course, middle = _course(total - near[0][at], count - near[1][at])
            mean = np.divide(sums[at], counts[at], out=middle + course, where=counts[at] > 0)
            missed += (counts[at] * np.square(mean - middle - course)).sum(0)
            spread += (counts[at] * np.square(mean - middle)).sum(0)
        share = np.where(spread > 0, 1 - missed / np.where(spread > 0, spread, 1.0), 0.0)
        share = np.where(share >= _NONE, share, 0.0)
        left = np.minimum(missed, spread) / np.maximum(counts.sum((0, 1)), 1)
        # Rows before those that were laid over one another belong to no layer.
        layer[: -len(rows)] = -1
        return cls(moment, layer, near[0], near[1], share, left, days, timed)

    @property
    def gain(self) -> float:
        """Share explained in the mean of all variables that move."""
        moving = self.left > 0
        return float(self.share[moving].mean()) if moving.any() else 0.0

    def cycle(self, base: Array, size: Array) -> Cycle:
        """What was learned; ``base`` and ``size`` bring it back into the variables' own units."""
        course, middle = _course(self.sums.sum(0), self.counts.sum(0))
        return Cycle(
            course=(self.share * course * size).astype(np.float32),
            seconds=np.array([self.days * DAY if self.timed else 0.0]),
            rows=np.array([self.timed or float(len(course))]),
            mean=base + middle * size,
            spread=np.sqrt(np.where(self.left > 0, self.left, 1.0)) * size,
            share=self.share,
        )

    def rest(self, values: NDArray[Any], cycle: Cycle, size: Array) -> NDArray[Any]:
        """Rows less the course of the other repetitions; of the first ones, less that of all."""
        rest = np.empty_like(values)
        early = np.flatnonzero(self.layer < 0)
        rest[early] = less(values[early], cycle.course, self.moment[early])
        total, count = self.sums.sum(0), self.counts.sum(0)
        order = np.argsort(self.layer, kind="stable")
        edges = np.searchsorted(self.layer[order], np.arange(len(self.sums) + 1))
        for at in range(len(self.sums)):
            here = order[edges[at] : edges[at + 1]]
            course, _ = _course(total - self.sums[at], count - self.counts[at])
            rest[here] = less(values[here], self.share * course * size, self.moment[here])
        return rest


def _course(total: Array, count: Array) -> tuple[Array, Array]:
    """The mean at each moment less the mean of all, (P, d), and that, (d,)."""
    known = count > _ROUNDING
    middle = np.where(known, total, 0.0).sum(0) / np.maximum(count.sum(0), 1.0)
    mean = np.divide(total, count, out=np.tile(middle, (len(total), 1)), where=known)
    return mean - middle, middle
