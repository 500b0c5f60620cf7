"""Labelled values that others send over HTTP, on their way to rows."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Literal

from alora_ts.errors import AloraError
from alora_ts.serve.assemble import Sample
from alora_ts.serve.connect.intakes import Intakes, known_signals
from alora_ts.serve.connect.settings import ReceiverSettings, words_of
from alora_ts.serve.connect.storing import persist
from alora_ts.serve.connect.topics import fill
from alora_ts.serve.problems import BacklogError
from alora_ts.serve.rows.interface import ConnectorStatus, Host, Progress
from alora_ts.serve.times import now_micros

__all__ = ["Point", "Receiver"]

_TICK = 0.25  # seconds between looks at incomplete rows and silent signals
_PATIENCE = 2.0  # seconds that a sender waits for earlier rows to be stored
_TWO = "several series for one variable"
_FOREIGN = "not a source of this token"
# What a value looks like that was sent again; the sender did nothing wrong.
_REPEATED = "row already made"


@dataclass(frozen=True, slots=True)
class Point:
    """One value of one series; None says that the series has none from then on."""

    labels: Mapping[str, str]
    time: int
    value: float | None


class Receiver:
    """Takes labelled values, names their source and variable, and makes rows of them.

    Parameters
    ----------
    settings : ReceiverSettings
    kind : {"remote_write", "influx"}
    """

    def __init__(self, settings: ReceiverSettings, kind: Literal["remote_write", "influx"]) -> None:
        self._settings = settings
        self.kind: str = kind
        self.name = settings.name
        self._progress = Progress(settings.name, kind, settings.source)
        self._host: Host | None = None
        self._intakes: Intakes | None = None
        self._feeding: dict[tuple[str, str], tuple[Mapping[str, str], int]] = {}
        self._used = False

    def status(self) -> ConnectorStatus:
        """Say whether somebody has sent something and what was counted."""
        return self._progress.status()

    async def run(self, host: Host) -> None:
        """Make rows until cancelled."""
        await persist(self._progress, lambda: self._assemble(host))

    async def _assemble(self, host: Host) -> None:
        self._check(host)
        settings = self._settings
        intakes = Intakes(
            host,
            self._progress,
            grid=settings.assemble.grid(),
            silent_after=settings.silent_after,
        )
        try:
            for source in settings.sources():
                await intakes.open(source, now=now_micros())
            self._host, self._intakes = host, intakes
            self._progress.enter("waiting")
            while True:
                await intakes.tick(now=now_micros())
                await asyncio.sleep(_TICK)
        finally:
            self._intakes = None
            await intakes.close()

    def _check(self, host: Host) -> None:
        for source in self._settings.sources():
            known = known_signals(host, source)
            if known is None:
                continue
            named = {each.variable for each in self._settings.series}
            unknown = sorted(name for name in named if not words_of(name) and name not in known)
            if unknown:
                raise AloraError(
                    f"[[connect.{self.kind}]] {self.name!r} has series for {', '.join(unknown)}, "
                    f"which the model of {source!r} does not know; it knows {', '.join(known)}"
                )

    async def take(
        self, points: Sequence[Point], *, now: int, only: str | None = None
    ) -> dict[int, str]:
        """Make values durable; whoever sent them may forget them afterwards.

        Parameters
        ----------
        points : sequence of Point
            Those that no variable is made of are left alone.
        now : int
        only : str, optional
            The one source that the sender may send to.

        Returns
        -------
        dict of int to str
            Why which of them were refused for good.

        Raises
        ------
        BacklogError
            When they cannot be taken now; some may have been.
        """
        intakes = self._intakes
        if intakes is None:
            why = self._progress.status().last_error
            raise BacklogError(f"the connector {self.name!r} does not work yet; {why or 'wait'}")
        self._progress.received(len(points))
        refused = dict[int, str]()
        found = dict[str, tuple[list[int], list[Sample]]]()
        for index, point in enumerate(points):
            place = self._place(point.labels)
            if place is None:
                continue
            source, variable = place
            why = _FOREIGN if only not in (None, source) else self._second(place, point)
            if why is not None:
                self._progress.reject(why)
                refused[index] = why
                continue
            indices, samples = found.setdefault(source, ([], []))
            indices.append(index)
            samples.append(Sample(variable, point.time, point.value))
        for source, (indices, samples) in found.items():
            taken = await intakes.take(source, [], samples, now=now, patience=_PATIENCE)
            refused |= {
                indices[one.index]: one.reason for one in taken.samples if one.reason != _REPEATED
            }
        self._show(points, bool(found))
        return refused

    def _show(self, points: Sequence[Point], used: bool) -> None:
        self._used = self._used or used
        if self._progress.status().state == "waiting":
            self._progress.enter("connected")
        if points and not self._used:
            labels = ", ".join(f'{name}="{value}"' for name, value in points[0].labels.items())
            self._progress.complain(
                f"nothing that came is a variable of the model so far, such as {{{labels[:300]}}}; "
                "correct `source` or `series`"
            )

    def _place(self, labels: Mapping[str, str]) -> tuple[str, str] | None:
        """The source and variable of a series; None: nobody wants it."""
        assert self._host is not None
        for series in self._settings.series:
            if all(labels.get(name) == value for name, value in series.match.items()):
                try:
                    source = fill(self._settings.source, labels)
                    variable = fill(series.variable, labels)
                    known = known_signals(self._host, source)
                except (KeyError, AloraError):
                    continue
                if known is None or variable in known:
                    return source, variable
        return None

    def _second(self, place: tuple[str, str], point: Point) -> str | None:
        """Whether another series feeds the variable at this time; labels may change later on."""
        labels, last = self._feeding.get(place, (point.labels, 0))
        near = abs(point.time - last) <= self._settings.assemble.grid().hold
        if labels != point.labels and near:
            self._progress.complain(
                f"{_TWO}, {place[1]!r}: {dict(labels)} and {dict(point.labels)}; add labels to "
                "`match`, or to `variable`"
            )
            return _TWO
        if point.value is None and labels == point.labels:
            # It has ended, so another may take its place at once.
            self._feeding.pop(place, None)
        else:
            self._feeding[place] = (point.labels, max(last, point.time))
        return None
