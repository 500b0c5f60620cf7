"""What is usual at a time of day: a course that repeats is taken off before all else.

A server is busy at noon and idle at night. Measured against all of training, both are usual at any
hour, and a load that is missing at noon is no deviation. So where a day (or a week) of training
tells the others, what each variable adds at each moment of it is learned and taken off
(:mod:`alora_ts.data.repetition`).

Times tell the moment. Rows without times are put where they fit best: from the first row on at the
moment for which all rows since then lie nearest to the course, for as long as a cycle; from then on
rows are counted.
"""

from __future__ import annotations

import dataclasses
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

__all__ = ["DAY", "Cycle", "Tracker", "less"]

Array = NDArray[np.float64]

DAY = 86_400.0  # seconds

_ROWS_AT_ONCE = 8192
_TELLING = 0.2  # share of a variable that rows are placed by
_MOST_TELLING = 16
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
        known = {DAY: "day", 7 * DAY: "week"}
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
        found: NDArray[np.intp] = self._at(ticks)
        return found

    def at_one(self, tick: int) -> int:
        """:meth:`at` of one time, without the overhead of an array."""
        return int(self._at(tick))

    def _at(self, ticks: Any) -> Any:
        return ticks % self.ticks * self.moments // self.ticks

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
            return cycle.at_one(tick)
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

    def course(
        self, row: NDArray[np.floating], tick: int | None, *, anew: bool
    ) -> NDArray[np.float32]:
        """What the cycle adds to the next row, (d,); parameters as for :meth:`place`."""
        found: NDArray[np.float32] = self._cycle.course[self.place(row, tick, anew=anew)]
        return found

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
