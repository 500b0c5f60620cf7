"""What is usual at a time of day: a course that repeats is taken off before all else.

A server is busy at noon and idle at night. Measured against all of training, both are usual at any
hour, and a load that is missing at noon is no deviation. So where a day (or a week) of training
tells the others, what each variable adds at each moment of it is learned and taken off.

How much of a variable its cycle explains is measured by leaving each repetition out in turn: with
x̂ the mean course of the other repetitions, the share is 1 − Σ(x − x̂)² / Σ(x − x̄)², and so much of
the course counts. Training's own rows are measured against the other repetitions, too, so that
they look as new rows do.

Times tell the moment. Rows without times are put where they fit best: from the first row on at the
moment for which all rows since then lie nearest to the course, for as long as a cycle; from then on
rows are counted. Without times only numbers of rows that a day or week has at common steps are
tried; one two rows shorter or longer must explain no more, and one a twelfth shorter or longer
less than half.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Iterator
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.ndimage import uniform_filter1d
from scipy.sparse import csr_array

from alora_ts.data.record import Table
from alora_ts.data.ticks import median_step, time_kind

__all__ = ["Cycle", "Tracker", "learn_cycle", "less"]

Array = NDArray[np.float64]

_DAY = 86_400.0
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

_BESIDE = 12
_NEAR, _CLEARER = 0.98, 2.0
_WEEKLY = 0.02  # more than a day's, for a week to be taken
_SMOOTH = 60  # moments of a cycle that are told apart
_MOST_CELLS = 4_000_000  # of the last rows, that a course is learned from
_ROWS_AT_ONCE = 8192
_TELLING = 0.2  # share of a variable that rows are placed by
_MOST_TELLING = 16
_ROUNDING = 1e-6
_FAR = 3.0  # deviations: what lies further off does not count for more when rows are placed


@dataclass(frozen=True, eq=False)
class Cycle:
    """A course that repeats, in the variables' own units.

    Attributes
    ----------
    course : ndarray of float32, shape (P, d)
        What each of P moments adds to a variable; its mean over training is 0.
    seconds : ndarray of shape (1,)
        How long the cycle is; 0 where rows are counted.
    rows : ndarray of shape (1,)
        How many rows it has; more than moments where they come more often than once a minute.
    mean, spread : ndarray of shape (d,)
        Of training's rows; the spread is what the course leaves.
    share : ndarray of shape (d,)
        Part of the variance that the course explains on repetitions it was not learned from.
    """

    course: NDArray[np.float32]
    seconds: Array
    rows: Array
    mean: Array
    spread: Array
    share: Array

    @property
    def moments(self) -> int:
        """P."""
        return len(self.course)

    @property
    def name(self) -> str:
        """For people: "day", "week" or, as of a damaged file, a number of moments."""
        if not self.seconds[0]:
            return f"{self.moments} rows"
        known = {_DAY: "day", 7 * _DAY: "week"}
        return known.get(float(self.seconds[0]), f"{self.moments} moments")

    def __str__(self) -> str:
        """A line for whoever fits."""
        told = self.share[self.share > 0]
        return (
            f"Each {self.name} {len(told)} of {len(self.share)} variables take the same course, "
            f"which explains {told.mean():.0%} of them in the mean; it is taken off first "
            "(--set calendar=off leaves it)"
        )

    def fitting(self, variables: int) -> Cycle:
        """Itself, if its arrays belong together and to so many variables."""
        wide = (variables,)
        wanted = {"seconds": (1,), "rows": (1,), "mean": wide, "spread": wide, "share": wide}
        for name, shape in wanted.items():
            if getattr(self, name).shape != shape:
                raise ValueError(f"cycle.{name} is not of shape {shape}")
        if self.course.ndim != 2 or self.course.shape[1:] != wide or not len(self.course):
            raise ValueError(f"cycle.course is not of shape (P, {variables})")
        if not all(np.isfinite(getattr(self, one.name)).all() for one in dataclasses.fields(self)):
            raise ValueError("the cycle has a value that is not finite")
        if not (self.seconds[0] == 0 or 1 <= self.seconds[0] <= 1e9):
            raise ValueError("the cycle has a length that no cycle has")
        if not self.moments <= self.rows[0] <= 1e9 or (self.spread <= 0).any():
            raise ValueError("the cycle has too few rows, or a spread that is not positive")
        return self

    def only(self, which: NDArray[np.bool_]) -> Cycle:
        """Of some of the variables."""
        return replace(
            self,
            course=self.course[:, which],
            mean=self.mean[which],
            spread=self.spread[which],
            share=self.share[which],
        )

    def at(self, ticks: NDArray[np.integer]) -> NDArray[np.intp]:
        """The moments of times in microseconds since 1970.

        Examples
        --------
        >>> plain = np.ones(1)
        >>> day = Cycle(np.zeros((24, 1)), 86400 * plain, 24 * plain, plain, plain, plain)
        >>> noon = np.array(["2026-01-05T12:10", "2026-01-06T00:00"], dtype="datetime64[us]")
        >>> day.at(noon.view(np.int64))
        array([12,  0])
        """
        found: NDArray[np.intp] = (
            np.asarray(ticks, np.int64) % self.ticks * self.moments // self.ticks
        )
        return found

    @cached_property
    def ticks(self) -> int:
        """Microseconds of a cycle; 0 where rows are counted."""
        return round(float(self.seconds[0]) * 1e6)


def less(
    values: NDArray[Any], course: NDArray[np.floating], moments: NDArray[np.intp]
) -> NDArray[Any]:
    """Rows less the course at their moments, in the rows' own precision.

    Examples
    --------
    >>> less(np.array([[1.0], [2.0]]), np.array([[0.5], [-0.5]]), np.array([1, 0]))
    array([[1.5],
           [1.5]])
    """
    rest = np.empty_like(values)
    for start in range(0, len(values), _ROWS_AT_ONCE):
        part = slice(start, start + _ROWS_AT_ONCE)
        rest[part] = values[part].astype(np.float64) - course[moments[part]]
    return rest


class Tracker:
    """Says at which moment of a cycle rows are, as they come.

    Parameters
    ----------
    cycle : Cycle

    Attributes
    ----------
    costs : ndarray of shape (P,)
        How badly the rows since the start fit if the first was at each moment.
    seen, first : int
        Rows since the start, and the moment of the first of them.
    """

    def __init__(self, cycle: Cycle) -> None:
        self._cycle = cycle
        telling = np.flatnonzero(cycle.share >= min(_TELLING, cycle.share.max()))
        self._telling = telling[np.argsort(-cycle.share[telling], kind="stable")[:_MOST_TELLING]]
        columns = self._telling
        self._scaled = (cycle.mean + cycle.course)[:, columns] / cycle.spread[columns]
        self._step = cycle.moments / float(cycle.rows[0])
        self.costs = np.zeros(cycle.moments)
        self.seen, self.first = 0, 0

    def state(self) -> tuple[Array, int, int]:
        """What it remembers, to go back to."""
        return self.costs.copy(), self.seen, self.first

    def resume(self, state: tuple[Array, int, int]) -> None:
        """Go on where this was remembered."""
        self.costs[:], self.seen, self.first = state

    def place(self, row: NDArray[np.floating], tick: int | None, *, anew: bool) -> int:
        """The moment of the next row.

        Parameters
        ----------
        row : ndarray of shape (d,)
            In own units, NaN where missing.
        tick : int or None
            When, in microseconds since 1970, where that is known.
        anew : bool
            Whether it does not follow the row before.
        """
        cycle = self._cycle
        if tick is not None and cycle.ticks:
            return tick % cycle.ticks * cycle.moments // cycle.ticks
        if anew:
            self.costs[:] = 0.0
            self.seen = self.first = 0
        if self.seen < cycle.rows[0]:
            columns = self._telling
            off = np.abs(row[columns] / cycle.spread[columns] - self._scaled)
            known = ~np.isnan(off[0])
            if known.any():
                misfit = np.square(np.minimum(off[:, known], _FAR)).mean(1)
                self.costs += np.roll(misfit, -int(self.seen * self._step))
            self.first = int(self.costs.argmin())
        moment = (self.first + int(self.seen * self._step)) % cycle.moments
        self.seen += 1
        return moment

    def place_all(
        self,
        rows: NDArray[np.floating],
        ticks: NDArray[np.integer] | None,
        anew: NDArray[np.bool_],
    ) -> NDArray[np.intp]:
        """:meth:`place` of each row, (n,)."""
        cycle = self._cycle
        if ticks is not None and cycle.ticks:
            return cycle.at(ticks)
        found = np.empty(len(rows), dtype=np.intp)
        at = 0
        starts = np.flatnonzero(anew)
        while at < len(rows):
            if self.seen >= cycle.rows[0] and not anew[at]:
                later = starts[np.searchsorted(starts, at) :]
                until = int(later[0]) if len(later) else len(rows)
                count = np.arange(self.seen, self.seen + until - at)
                later_moments = self.first + (count * self._step).astype(np.intp)
                found[at:until] = later_moments % cycle.moments
                self.seen += until - at
                at = until
            else:
                found[at] = self.place(rows[at], None, anew=bool(anew[at]))
                at += 1
        return found


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
        assert table.timestamps is not None
        ticks = table.timestamps.view(np.int64)
        for days, fewest in _REPETITIONS.items():
            length = round(days * _DAY * 1e6)
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
            near, far = (
                max(_Folded.of(rows, place, moments + by).gain for by in (-apart, apart))
                for apart in (min(2, beside), beside)
            )
            if folded.gain > max(_NEAR * near, _CLEARER * far):
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
            seconds=np.array([self.days * _DAY if self.timed else 0.0]),
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
