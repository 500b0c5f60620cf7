"""Incidents from rows as they come: all at once, in blocks, or one by one."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from alora_ts.diagnosis.alarms import LEVELS, Alarms, Levels
from alora_ts.diagnosis.flares import Flares
from alora_ts.diagnosis.incident import Ending, Incident
from alora_ts.diagnosis.returns import ReturnPeriod
from alora_ts.diagnosis.stretch import Alarming, Details, Stretch
from alora_ts.diagnosis.witnesses import Heard
from alora_ts.scoring.pauses import longest_pause

__all__ = ["Block", "Details", "IncidentBuilder", "Pushed"]

_ASKED_AT_ONCE = 4096


@dataclass(frozen=True)
class Block:
    """Rows that follow one another.

    Attributes
    ----------
    score : ndarray of shape (n,)
        Calibrated.
    raw : ndarray of shape (n,)
        Before calibration, drift taken out: what an alarm level is compared with.
    warm_up : ndarray of bool, shape (n,)
    details : callable
        Gives the :class:`Details` of some rows, numbered within the block. It is asked for the
        alarming rows, each once and in order.
    times : ndarray of shape (n,) or None
        Timestamps; None counts rows.
    segments : ndarray of int, shape (n,), or None
        No incident reaches from one segment into the next. None: warm-up rows, with which every
        segment begins, are enough to tell.
    shift : ndarray of shape (n,) or None
        What was taken off each score as usual, in times of the alarm level; None: nothing.
    heard : Heard or None
        What the witnesses of the score said of each row; None where nobody asks.
    """

    score: NDArray[np.float64]
    raw: NDArray[np.float64]
    warm_up: NDArray[np.bool_]
    details: Callable[[NDArray[np.intp]], Details]
    times: NDArray[Any] | None = None
    segments: NDArray[np.integer] | None = None
    shift: NDArray[np.float64] | None = None
    heard: Heard | None = None

    def __len__(self) -> int:
        return len(self.score)

    def onward(self, start: int) -> Block:
        """The block without its first rows."""
        details = self.details
        return replace(
            self,
            score=self.score[start:],
            raw=self.raw[start:],
            warm_up=self.warm_up[start:],
            details=lambda rows: details(rows + start),
            times=None if self.times is None else self.times[start:],
            segments=None if self.segments is None else self.segments[start:],
            shift=None if self.shift is None else self.shift[start:],
            heard=None if self.heard is None else self.heard.part(slice(start, None)),
        )


@dataclass(frozen=True)
class Pushed:
    """What a block brought.

    Attributes
    ----------
    alarm : ndarray of bool, shape (n,)
        Which of its rows alarm.
    changed : tuple of Stretch
        The incidents that began, went on or ended in it, in order of time.
    """

    alarm: NDArray[np.bool_]
    changed: tuple[Stretch, ...]

    @property
    def incidents(self) -> tuple[Incident, ...]:
        """The same as they are now; all incidents, where the block had all rows."""
        return tuple(stretch.incident() for stretch in self.changed)


class IncidentBuilder:
    """Turns alarming rows into incidents.

    Alarming rows with few quiet ones between them are one incident. A warm-up row or the border
    of a segment ends it at once, because it follows a gap; else it is over when more than
    ``merge`` rows in a row were quiet, or more than a fiftieth of those that alarmed
    (:func:`~alora_ts.scoring.pauses.longest_pause`). What stands out of a lasting incident is
    another one (:mod:`alora_ts.diagnosis.flares`). What comes out does not depend on how rows are
    cut into blocks.

    Parameters
    ----------
    variables : sequence of str
    merge : int
        Alarming rows with at most so many quiet ones between them always belong together.
    minimum : int
        Shorter stretches, quiet rows within them included, are no incident.
    levels : Levels
    returns : callable or None
        Gives the return period of a raw score.

    Attributes
    ----------
    open : Stretch or None
        The stretch that is not over yet; an incident once it has ``minimum`` rows.

    Examples
    --------
    >>> from alora_ts.data.scaling import Standardiser
    >>> from alora_ts.diagnosis.explanation import Judge
    >>> from alora_ts.diagnosis.usual import Usual
    >>> score = np.array([0, 2, 0, 3, 0, 0, 0, 5.0])
    >>> judge = Judge(Standardiser(np.zeros(1), np.ones(1)), Usual.unknown(1), None, 10.0, 4)
    >>> none = np.zeros((0, 1))
    >>> block = Block(score, score, np.zeros(8, dtype=bool), lambda rows: Details(
    ...     score[rows, None], score[rows, None], judge, lambda _: (none, none, None, None)))
    >>> found = IncidentBuilder(["flow"], merge=1, minimum=1).push(block).incidents
    >>> [(incident.start, incident.end) for incident in found]
    [(1, 4), (7, 8)]
    """

    def __init__(
        self,
        variables: Sequence[str],
        *,
        merge: int,
        minimum: int,
        levels: Levels = LEVELS,
        returns: Callable[[float], ReturnPeriod | None] | None = None,
    ) -> None:
        self._returns = returns
        self._variables = variables
        self._merge = merge
        self._minimum = minimum
        self._alarms = Alarms(levels)
        self._flares = Flares(merge)
        self._rows = 0
        self._segment: int | None = None
        # Warm-up rows and borders so far, and how many there were at the open stretch's last row.
        self._breaks = 0
        self._breaks_then = 0
        # What was taken off scores when the open stretch began, or the lasting one it is part of,
        # and how many rows have alarmed since.
        self._shift = 0.0
        self._alarming = 0
        self.open: Stretch | None = None

    @property
    def lasts(self) -> bool:
        """Whether an incident is not over yet."""
        return self.open is not None and self.open.rows >= self._minimum

    def push(self, block: Block) -> Pushed:
        """Take in the next rows."""
        borders = self._borders(block.segments)
        alarm = self._alarms.take(block.score, block.warm_up, borders)
        breaks = self._breaks + np.cumsum(
            block.warm_up if borders is None else block.warm_up | borders
        )
        changed: dict[int, Stretch] = {}

        def note(stretch: Stretch) -> None:
            if stretch.rows >= self._minimum:
                changed[stretch.start] = stretch

        for place, rows in self._asked(block, alarm):
            at = breaks[place]
            for start, end in self._runs(rows.numbers, at):
                if not self._goes_on(int(rows.numbers[start]), int(at[start])):
                    self._close(note, block, breaks)
                if self.open is None:
                    self._shift = self._shift_at(int(rows.numbers[start]), block)
                    self._alarming = 0
                    self._flares.restart()
                self._alarming += end - start
                cuts = start + np.flatnonzero(self._flares.take(rows.score[start:end]))
                for first, last in itertools.pairwise([start, *cuts.tolist(), end]):
                    if first in cuts and self.open is not None:
                        self._end("another", self._shift, note)
                    if first == last:
                        continue
                    more = rows.part(first, last)
                    if self.open is None:
                        self.open = Stretch(
                            self._variables, more, returns=self._returns, shift=self._shift
                        )
                    else:
                        self.open.add(more)
                    self._breaks_then = int(at[last - 1])
                    note(self.open)
        self._breaks = int(breaks[-1]) if len(block) else self._breaks
        if not self._goes_on(self._rows + len(block), self._breaks):
            self._close(note, block, breaks)
        self._rows += len(block)
        return Pushed(alarm, tuple(changed.values()))

    def _borders(self, segments: NDArray[np.integer] | None) -> NDArray[np.bool_] | None:
        if segments is None or not len(segments):
            return None
        before = segments[0] if self._segment is None else self._segment
        self._segment = int(segments[-1])
        changes: NDArray[np.bool_] = np.diff(segments, prepend=before) != 0
        return changes

    def _asked(
        self, block: Block, alarm: NDArray[np.bool_]
    ) -> Iterator[tuple[NDArray[np.intp], Alarming]]:
        """The alarming rows, so many at once that what is asked of them stays small."""
        every = np.flatnonzero(alarm)
        for start in range(0, len(every), _ASKED_AT_ONCE):
            place = every[start : start + _ASKED_AT_ONCE]
            rows = place + self._rows
            times = rows if block.times is None else block.times[place]
            said = block.details(place)
            heard = None if block.heard is None else block.heard.part(place)
            yield (
                place,
                Alarming(rows, times, block.score[place], block.raw[place], said, heard=heard),
            )

    def _runs(
        self, rows: NDArray[np.int64], breaks: NDArray[np.int64]
    ) -> Iterator[tuple[int, int]]:
        """Where alarming rows fall apart into stretches: half-open ranges."""
        apart = (np.diff(rows) > self._merge + 1) | (np.diff(breaks) > 0)
        edges = [0, *(np.flatnonzero(apart) + 1).tolist(), len(rows)]
        return itertools.pairwise(edges)

    def _goes_on(self, row: int, breaks: int) -> bool:
        """Whether an alarm at this row would belong to the open stretch."""
        stretch = self.open
        return stretch is not None and (
            row - stretch.end <= self._pause and breaks == self._breaks_then
        )

    @property
    def _pause(self) -> int:
        """Quiet rows that do not end the open stretch."""
        return longest_pause(self._merge, self._alarming)

    def _shift_at(self, row: int, block: Block) -> float:
        """What was taken off the score of a row of the block, or of the nearest that has one."""
        if block.shift is None or not len(block):
            return 0.0
        return float(block.shift[min(max(row - self._rows, 0), len(block) - 1)])

    def _close(
        self, note: Callable[[Stretch], None], block: Block, breaks: NDArray[np.int64]
    ) -> None:
        """End the open stretch: by a gap, unless enough quiet rows came before it."""
        if self.open is not None:
            # Had there been a break before this block, the stretch would be closed already.
            gap = self._rows + int(np.searchsorted(breaks, self._breaks_then, side="right"))
            within = gap < self._rows + len(breaks) and gap <= self.open.end + self._pause
            # The row that decided it is over, wherever blocks are cut.
            shift = self._shift_at(self.open.end + self._pause, block)
            self._end("gap" if within else "quiet", shift, note)

    def _end(self, ending: Ending, shift: float, note: Callable[[Stretch], None]) -> None:
        assert self.open is not None
        self.open.ends_at(shift)
        self.open.ending = ending
        note(self.open)
        self.open = None
