"""A stretch of alarm as far as it is known, and the incident it makes."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from alora_ts.diagnosis.explanation import Judge
from alora_ts.diagnosis.incident import Ending, Incident, severity_of
from alora_ts.diagnosis.returns import ReturnPeriod
from alora_ts.diagnosis.sample import Rows, Sample
from alora_ts.diagnosis.story import Story, tell
from alora_ts.diagnosis.witnesses import Heard, Witness

__all__ = ["Alarming", "Details", "Stretch"]

_CHANGE = 0.5

Array = NDArray[np.float64]
Before = tuple[
    NDArray[np.floating], NDArray[np.floating], NDArray[Any] | None, NDArray[np.floating] | None
]


@dataclass(frozen=True)
class Details:
    """What is asked of alarming rows, and of no others.

    Attributes
    ----------
    values : ndarray of shape (n, d)
        In the variables' own units, gaps filled, less what repeats.
    surprise : ndarray of shape (n, d)
        One-step surprises (:mod:`alora_ts.diagnosis.origins`); NaN where the model has no rules.
    judge : Judge
        What the model knows that explains incidents.
    before : callable
        Gives the same of the rows before the i-th of these, at most a window less one: values,
        surprises, timestamps (None where rows are counted) and courses.
    course : ndarray of shape (n, d) or None
        What was taken off the values because it repeats each day or week; None for nothing.
    """

    values: NDArray[np.floating]
    surprise: NDArray[np.floating]
    judge: Judge
    before: Callable[[int], Before]
    course: NDArray[np.floating] | None = None


@dataclass(frozen=True)
class Alarming:
    """Consecutive alarming rows.

    Attributes
    ----------
    numbers : ndarray of int, shape (n,)
        Their numbers, counted from the first row of all.
    times : ndarray of shape (n,)
        Their timestamps, or the same numbers.
    score, raw : ndarray of shape (n,)
    details : Details
    skipped : int
        How many rows of ``details`` come before these.
    heard : Heard or None
        What the witnesses of a score said; None where nobody asks.
    """

    numbers: NDArray[np.int64]
    times: NDArray[Any]
    score: Array
    raw: Array
    details: Details
    skipped: int = 0
    heard: Heard | None = None

    def part(self, start: int, end: int) -> Alarming:
        """The rows from the ``start``-th to before the ``end``-th."""
        return Alarming(
            self.numbers[start:end],
            self.times[start:end],
            self.score[start:end],
            self.raw[start:end],
            self.details,
            self.skipped + start,
            None if self.heard is None else self.heard.part(slice(start, end)),
        )

    @property
    def rows(self) -> Rows:
        """What an explanation needs of them."""
        own = slice(self.skipped, self.skipped + len(self.numbers))
        said = self.details
        course = None if said.course is None else said.course[own]
        return Rows(self.times, said.values[own], said.surprise[own], course)

    def before(self) -> Rows:
        """The rows before the first."""
        values, surprise, times, course = self.details.before(self.skipped)
        if times is None:
            times = np.arange(-len(values), 0) + self.numbers[0]
        return Rows(times, values, surprise, course)


class Stretch:
    """Alarming rows with at most a few quiet ones between them.

    Parameters
    ----------
    variables : sequence of str
    first : Alarming
        The rows it begins with.
    returns : callable or None
        Gives the return period of a raw score.
    shift : float
        What was taken off scores as usual when it began, in times of the alarm level; or when
        the lasting incident began that it is part of.

    Attributes
    ----------
    start, end : int
        First row and row after the last that alarmed.
    start_time, end_time : object
        Timestamps of the first and the last alarming row.
    changed : bool
        Whether what is usual moved during it.
    ending : {"quiet", "gap", "another"} or None
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
        self._variables = variables
        self._returns = returns
        self._shift = shift
        self.changed = False
        self.start = int(first.numbers[0])
        self.start_time = first.times[0]
        self.ending: Ending | None = None
        self._score = -np.inf
        self._before = first.before()
        self._sample = Sample(first.rows.pick(slice(0, 0)))
        self._told: tuple[int, Story] | None = None
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
        self.end = int(more.numbers[-1]) + 1
        self.end_time = more.times[-1]
        highest = int(np.argmax(more.score))
        if more.score[highest] > self._score:
            self._score, self._raw = float(more.score[highest]), float(more.raw[highest])
            self._peak, self._peak_time = int(more.numbers[highest]), more.times[highest]
            self._witnesses = _witnesses(more, highest)
        self._sample.add(more.rows)
        self._judge = more.details.judge

    def ends_at(self, shift: float) -> None:
        """Say what is taken off scores now that it is over."""
        self.changed = shift - self._shift > _CHANGE
        self._sample.settle()

    def incident(self) -> Incident:
        """The incident it is, or would be if no further row alarmed."""
        story = self._story()
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
            culprits=story.culprits,
            origin=story.origin,
            spread=story.spread,
            aside=story.aside,
            returns=None if self._returns is None else self._returns(self._raw),
            changed=self.changed,
            witnesses=self._witnesses,
            ending=self.ending,
        )

    def _story(self) -> Story:
        if self._told is None or self._told[0] != self._sample.changed:
            story = tell(self._judge, self._variables, self._sample.settled, self._before)
            self._told = self._sample.changed, story
        return self._told[1]


def _witnesses(rows: Alarming, at: int) -> tuple[Witness, ...]:
    """Who gave the evidence of one row."""
    known, heard = rows.details.judge.witnesses, rows.heard
    if known is None or heard is None:
        return ()
    said, own = rows.details, rows.skipped + at
    return known.speak(
        float(heard.raw[at]),
        float(heard.lift[at]),
        said.surprise[own],
        score=float(rows.score[at]),
        row=said.judge.standardiser.apply(said.values[own][None])[0],
    )
