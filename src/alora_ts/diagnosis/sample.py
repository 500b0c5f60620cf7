"""The rows of an incident that its explanation rests on."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

__all__ = ["Rows", "Sample"]

_MOST = 256
_GROWTH = 10  # per cent


@dataclass(frozen=True, eq=False)
class Rows:
    """Rows in order of time.

    Attributes
    ----------
    times : ndarray of shape (n,)
    values, surprise : ndarray of shape (n, d)
        In the signals' own units; one-step surprises, NaN where a model has none.
    course : ndarray of shape (n, d) or None
        What was taken off ``values`` because it repeats each day or week; None for nothing.
    """

    times: NDArray[Any]
    values: NDArray[np.floating]
    surprise: NDArray[np.floating]
    course: NDArray[np.floating] | None = None

    def __len__(self) -> int:
        return len(self.times)

    def pick(self, which: slice | NDArray[np.intp]) -> Rows:
        """Some of the rows."""
        course = None if self.course is None else self.course[which]
        return Rows(self.times[which], self.values[which], self.surprise[which], course)

    def followed_by(self, more: Rows) -> Rows:
        """These rows and then others."""
        course = None
        if self.course is not None and more.course is not None:
            course = np.concatenate([self.course, more.course])
        return Rows(
            np.concatenate([self.times, more.times]),
            np.concatenate([self.values, more.values]),
            np.concatenate([self.surprise, more.surprise]),
            course,
        )


class Sample:
    """Keeps at most 256 of the alarming rows of an incident, spread evenly.

    While an incident is open it is explained again and again. So that this costs little and that
    rows one by one give what all at once give, only the rows up to certain counts are explained:
    1, 2, … 10, then each 10 % more. Once it is over, all that are kept.

    Parameters
    ----------
    first : Rows
        The rows it begins with.

    Attributes
    ----------
    settled : Rows
        The rows to explain.
    changed : int
        Grows whenever ``settled`` does.

    Examples
    --------
    >>> count = np.arange(1000.0)[:, None]
    >>> rows = Rows(np.arange(1000), count, count)
    >>> at_once = Sample(rows)
    >>> one_by_one = Sample(rows.pick(slice(0, 1)))
    >>> for at in range(1, 1000):
    ...     one_by_one.add(rows.pick(slice(at, at + 1)))
    >>> len(at_once.settled), np.array_equal(at_once.settled.times, one_by_one.settled.times)
    (243, True)
    """

    def __init__(self, first: Rows) -> None:
        self._kept = first.pick(slice(0, 0))
        self._count = 0
        self._step = 1
        self._next = 1
        self.settled = self._kept
        self.changed = 0
        self.add(first)

    def add(self, more: Rows) -> None:
        """Take in further rows."""
        while len(more):
            until = min(self._next - self._count, len(more))
            self._take(more.pick(slice(0, until)))
            more = more.pick(slice(until, None))
            if self._count == self._next:
                self.settle()
                self._next += max(1, self._count * _GROWTH // 100)

    def settle(self) -> None:
        """Explain all rows so far that are kept."""
        if len(self.settled) != len(self._kept) or self.settled.times[-1] != self._kept.times[-1]:
            self.settled = self._kept
            self.changed += 1

    def _take(self, rows: Rows) -> None:
        places = np.arange(self._count, self._count + len(rows))
        self._kept = self._kept.followed_by(rows.pick(np.flatnonzero(places % self._step == 0)))
        self._count += len(rows)
        while len(self._kept) > _MOST:
            self._kept = self._kept.pick(slice(None, None, 2))
            self._step *= 2
