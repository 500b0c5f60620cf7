"""A stretch of alarm as far as it is known, and the incident it makes."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from alora_ts.diagnosis.incident import Culprit, Ending, Incident, Origin, severity_of
from alora_ts.diagnosis.returns import ReturnPeriod
from alora_ts.diagnosis.shares import shares

__all__ = ["Alarming", "Details", "Stretch"]

_LISTED_SHARE = 0.9
_LISTED_AT_MOST = 10
_CHANGE = 0.5

Array = NDArray[np.float64]


@dataclass(frozen=True)
class Details:
    """What is asked of alarming rows, and of no others.

    Attributes
    ----------
    localization, values, expected : ndarray of shape (n, d)
        The last two in the variables' own units; values NaN where missing.
    scale : ndarray of shape (d,)
        One scaled unit of each variable, to compare deviations.
    origin : ndarray of shape (n, d) or None
        How likely each variable is the origin; None where the model cannot tell.
    """

    localization: NDArray[np.floating]
    values: NDArray[np.floating]
    expected: NDArray[np.floating]
    scale: NDArray[np.floating]
    origin: NDArray[np.floating] | None = None


@dataclass(frozen=True)
class Alarming:
    """Consecutive alarming rows.

    Attributes
    ----------
    rows : ndarray of int, shape (n,)
        Their numbers, counted from the first row of all.
    times : ndarray of shape (n,)
        Their timestamps, or the same numbers.
    score, raw : ndarray of shape (n,)
    weighed, origin : ndarray of shape (n, d)
        Shares of the localization and origin scores, times the score: a row counts by how much
        it alarms. ``origin`` is zero where the model cannot tell.
    deviation, values, expected : ndarray of shape (n, d)
        Deviation in scaled units, NaN where a cell was missing.
    """

    rows: NDArray[np.int64]
    times: NDArray[Any]
    score: Array
    raw: Array
    weighed: Array
    origin: Array
    deviation: Array
    values: Array
    expected: Array

    @classmethod
    def of(
        cls, rows: NDArray[np.int64], times: NDArray[Any], score: Array, raw: Array, said: Details
    ) -> Alarming:
        """Put the scores of some rows and what is said of their variables together."""
        values = np.asarray(said.values, dtype=np.float64)
        expected = np.asarray(said.expected, dtype=np.float64)
        weighed = shares(said.localization) * score[:, None]
        return cls(
            rows=rows,
            times=times,
            score=score,
            raw=raw,
            weighed=weighed,
            origin=np.zeros_like(weighed)
            if said.origin is None
            else shares(said.origin) * score[:, None],
            deviation=(values - expected) / said.scale,
            values=values,
            expected=expected,
        )

    def part(self, start: int, end: int) -> Alarming:
        """The rows from the ``start``-th to before the ``end``-th."""
        return Alarming(**{name: array[start:end] for name, array in vars(self).items()})


class Stretch:
    """Alarming rows with at most a few quiet ones between them.

    Rows are added up one after the other, so that the sums do not depend on how many came at once.

    Parameters
    ----------
    variables : sequence of str
    first : Alarming
        The rows it begins with.
    returns : callable or None
        Gives the return period of a raw score.
    shift : float
        What was taken off scores as usual when it began, in times of the alarm level.

    Attributes
    ----------
    start, end : int
        First row and row after the last that alarmed.
    start_time, end_time : object
        Timestamps of the first and the last alarming row.
    changed : bool
        Whether what is usual moved during it.
    ending : {"quiet", "gap"} or None
        What ended it; None while it may go on.
    """

    def __init__(
        self,
        variables: Sequence[str],
        first: Alarming,
        *,
        returns: Callable[[float], ReturnPeriod | None] | None = None,
        shift: float = 0.0,
    ) -> None:
        d = first.weighed.shape[1]
        self._variables = variables
        self._returns = returns
        self._shift = shift
        self.changed = False
        self.start = int(first.rows[0])
        self.start_time = first.times[0]
        self.ending: Ending | None = None
        self._score = -np.inf
        self._weight, self._root, self._lean = np.zeros(d), np.zeros(d), np.zeros(d)
        # Below and above: the largest deviation so far, the value there, what was expected.
        self._worst = np.full((2, 3, d), np.nan)
        self._worst[:, 0] = -np.inf
        self.add(first)

    @property
    def open(self) -> bool:
        """Whether it may still go on."""
        return self.ending is None

    @property
    def rows(self) -> int:
        """From the first to the last alarming row, quiet ones between them included."""
        return self.end - self.start

    def add(self, more: Alarming) -> None:
        """Take in further alarming rows."""
        self.end = int(more.rows[-1]) + 1
        self.end_time = more.times[-1]
        highest = int(np.argmax(more.score))
        if more.score[highest] > self._score:
            self._score, self._raw = float(more.score[highest]), float(more.raw[highest])
            self._peak, self._peak_time = int(more.rows[highest]), more.times[highest]
        self._weight = _sum_in_order(self._weight, more.weighed)
        self._root = _sum_in_order(self._root, more.origin)
        # A cell that was missing has not deviated, and is never the worst.
        self._lean = _sum_in_order(self._lean, np.nan_to_num(more.deviation))
        column = np.arange(len(self._lean))
        for worst, sign in zip(self._worst, (-1.0, 1.0), strict=True):
            outward = np.where(np.isnan(more.deviation), -np.inf, sign * more.deviation)
            at = outward.argmax(0), column
            further = outward[at] > worst[0]
            for kept, now in zip(worst, (outward, more.values, more.expected), strict=True):
                np.copyto(kept, now[at], where=further)

    def ends_at(self, shift: float) -> None:
        """Say what is taken off scores now that it is over."""
        self.changed = shift - self._shift > _CHANGE

    def incident(self) -> Incident:
        """The incident it is, or would be if no further row alarmed."""
        return Incident(
            start=self.start,
            end=self.end,
            start_time=self.start_time,
            end_time=self.end_time,
            peak=self._peak,
            peak_time=self._peak_time,
            score=self._score,
            raw=self._raw,
            severity=severity_of(self._score),
            culprits=self._culprits(),
            origin=self._origin(),
            returns=None if self._returns is None else self._returns(self._raw),
            changed=self.changed,
            ending=self.ending,
        )

    def _culprits(self) -> tuple[Culprit, ...]:
        part = shares(self._weight)
        order = np.argsort(-part, kind="stable")
        enough = int(np.searchsorted(np.cumsum(part[order]), _LISTED_SHARE)) + 1
        culprits = []
        for at in order[: min(enough, _LISTED_AT_MOST)].tolist():
            # The side it was on for most of the incident; a rebound at its end must not decide.
            side = 1 if self._lean[at] >= 0 else 0
            culprits.append(
                Culprit(
                    variable=self._variables[at],
                    share=float(part[at]),
                    direction="above" if side else "below",
                    value=float(self._worst[side, 1, at]),
                    expected=float(self._worst[side, 2, at]),
                )
            )
        return tuple(culprits)

    def _origin(self) -> Origin | None:
        if not self._root.any():
            return None
        part = shares(self._root)
        first = int(part.argmax())
        return Origin(self._variables[first], float(part[first]))


def _sum_in_order(before: Array, rows: Array) -> Array:
    """``before`` plus each row, (d,); numpy's sum adds in an order that depends on their number."""
    total: Array = np.add.accumulate(np.concatenate([before[None], rows]))[-1]
    return total
