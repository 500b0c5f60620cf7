"""Samples in, rows out: complete ones at once, incomplete ones after a wait, in order of time."""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Literal

from alora_ts.serve.assemble.grid import Grid, Sample
from alora_ts.serve.rows.interface import Row

__all__ = ["Assembler", "Refusal"]

Refusal = Literal["unknown signal", "from the future", "too late", "row already made"]


@dataclass
class _Pending:
    """A row that is being collected."""

    arrived: int
    samples: dict[str, Sample] = field(default_factory=dict)


class Assembler:
    """Makes rows of samples that arrive separately, repeatedly, late or not at all.

    It keeps no clock: every call says what time it is, so the same calls give the same rows.

    Parameters
    ----------
    signals : sequence of str
        What a complete row has.
    grid : Grid
    held : mapping of str to Sample, optional
        Values known from before, such as those of the newest stored row.

    Notes
    -----
    Of several samples for one row the nearest to the row's time counts, of two equally near the
    later one, of two at the same time the first to arrive: what is sent again changes nothing. A
    row is made once; rows never made (nothing came for them in time) can still be made late.

    Examples
    --------
    >>> grid = Grid(step=10, tolerance=5, hold=20, wait=7, late=100, ahead=1000)
    >>> assembler = Assembler(["a", "b"], grid)
    >>> assembler.add(Sample("a", 101, 1.0), now=101)
    >>> assembler.add(Sample("b", 98, 2.0), now=102)
    >>> assembler.add(Sample("a", 110, 3.0), now=111)
    >>> assembler.take(now=112)
    [Row(time=100, values={'a': 1.0, 'b': 2.0})]
    >>> assembler.take(now=118)  # b kept its value
    [Row(time=110, values={'a': 3.0, 'b': 2.0})]
    """

    def __init__(
        self, signals: Sequence[str], grid: Grid, *, held: Mapping[str, Sample] | None = None
    ) -> None:
        self._grid = grid
        self._signals = tuple(signals)
        self._past: dict[str, list[tuple[int, float | None]]] = {
            name: [(held[name].time, held[name].value)] if held and name in held else []
            for name in self._signals
        }
        self._pending: dict[int, _Pending] = {}
        self._made: set[int] = set()
        self._newest: int | None = None

    def add(self, sample: Sample, *, now: int) -> Refusal | None:
        """Take one sample; the answer says why it was refused, if it was."""
        if sample.signal not in self._past:
            return "unknown signal"
        if sample.time > now + self._grid.ahead:
            return "from the future"
        horizon = None if self._newest is None else self._newest - self._grid.late
        point = self._grid.point(sample.time)
        if horizon is not None and (sample.time if point is None else point) < horizon:
            return "too late"
        self._remember(sample)
        if point is None:
            return None
        if point in self._made:
            return "row already made"
        row = self._pending.setdefault(point, _Pending(now))
        there = row.samples.get(sample.signal)
        if there is None or _nearness(sample, point) > _nearness(there, point):
            row.samples[sample.signal] = sample
        if self._newest is None or point > self._newest:
            self._newest = point
            self._forget()
        return None

    def take(self, *, now: int) -> list[Row]:
        """Return the rows that are ready, oldest first.

        A row is ready when it is complete or has waited long enough, and no older one is still
        being collected.
        """
        ready = list[Row]()
        for point in sorted(self._pending):
            row = self._pending[point]
            complete = len(row.samples) == len(self._signals)
            if not complete and now - row.arrived < self._grid.wait:
                break
            ready.append(Row(point, {name: self._value(name, point) for name in self._signals}))
            del self._pending[point]
            self._made.add(point)
        return ready

    @property
    def next_due(self) -> int | None:
        """When the oldest row being collected will have waited long enough."""
        if not self._pending:
            return None
        return self._pending[min(self._pending)].arrived + self._grid.wait

    def _value(self, name: str, point: int) -> float | None:
        sample = self._pending[point].samples.get(name)
        if sample is not None:
            return sample.value
        past = self._past[name]
        at = bisect_right(past, point, key=lambda item: item[0])
        if at and point - past[at - 1][0] <= self._grid.hold:
            return past[at - 1][1]
        return None

    def _remember(self, sample: Sample) -> None:
        past = self._past[sample.signal]
        at = bisect_left(past, sample.time, key=lambda item: item[0])
        if at == len(past) or past[at][0] != sample.time:
            past.insert(at, (sample.time, sample.value))

    def _forget(self) -> None:
        """Drop what no row that can still be made would use."""
        assert self._newest is not None
        horizon = self._newest - self._grid.late
        self._made = {point for point in self._made if point >= horizon}
        # The oldest row that can still be made looks back by `hold`.
        oldest = min(horizon, *self._pending) - self._grid.hold
        for past in self._past.values():
            del past[: bisect_left(past, oldest, key=lambda item: item[0])]


def _nearness(sample: Sample, point: int) -> tuple[int, int]:
    return -abs(sample.time - point), sample.time
