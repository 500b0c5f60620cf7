"""How long runs will take, from how long others took."""

from __future__ import annotations

import tomllib
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from importlib.resources import files
from statistics import median

from alora_ts.bench.record import Record
from alora_ts.bench.runner import Moment
from alora_ts.bench.runs import Run

__all__ = ["Estimate", "spoken"]

_START = 4.0
"""Seconds to start a process and load torch."""


def spoken(seconds: float) -> str:
    """A duration for people.

    Examples
    --------
    >>> spoken(4.2), spoken(200), spoken(7500)
    ('4 s', '3 min 20 s', '2 h 05 min')
    """
    whole = round(seconds)
    if whole < 60:
        return f"{whole} s"
    if whole < 3600:
        return f"{whole // 60} min {whole % 60:02} s"
    return f"{whole // 3600} h {whole % 3600 // 60:02} min"


@dataclass
class Estimate:
    """Knows the seconds of finished runs and estimates those of others.

    Attributes
    ----------
    rows : mapping of str to int
        Rows of each place; see :class:`~alora_ts.bench.runs.Expansion`.
    ahead : list of Run
        The runs to be done.
    """

    rows: Mapping[str, int]
    ahead: list[Run]
    _seconds: dict[str, list[float]] = field(default_factory=dict)
    _counted: int = 0

    def learn(self, records: Iterable[Record]) -> None:
        """Take in runs that are over."""
        for record in records:
            if record.status == "done" and record.place in self.rows:
                rate = (record.measured["run_processor_seconds"] - _START) / self.rows[record.place]
                for key in (record.label, record.method):
                    self._seconds.setdefault(key, []).append(max(rate, 0.0))

    def seconds(self, run: Run) -> float | None:
        """How long a run will take; None when nothing is known of its method."""
        rates = self._seconds.get(run.label) or self._seconds.get(run.method)
        if rates:
            return _START + median(rates) * self.rows[run.place]
        shipped = _shipped().get(f"{run.method} {run.preset}")
        return None if shipped is None else _START + shipped / 1e4 * self.rows[run.place]

    def total(self) -> tuple[float, int]:
        """Seconds of all runs ahead that can be estimated, and how many cannot."""
        each = [self.seconds(run) for run in self.ahead]
        known = [one for one in each if one is not None]
        return sum(known), len(each) - len(known)

    def left(self, moment: Moment, *, workers: int) -> float | None:
        """Seconds until all is done; None when most of what is left is unknown."""
        fresh = moment.over[self._counted :]
        self._counted = len(moment.over)
        self.learn(fresh)
        over = {(one.label, one.dataset, one.entity, one.seed) for one in moment.over}
        total, unknown = 0.0, 0
        for run in self.ahead:
            if (run.label, run.dataset, run.entity, run.seed) in over:
                continue
            seconds = self.seconds(run)
            if seconds is None:
                unknown += 1
                continue
            active = moment.active.get(run.key)
            total += max(seconds - (active.seconds if active else 0.0), 0.0)
        if unknown > (len(self.ahead) - len(over)) / 2:
            return None
        return total / workers


def _shipped() -> dict[str, float]:
    """Seconds per 10,000 rows (train and test), by method and preset, on one slow core."""
    text = (files("alora_ts.bench") / "costs.toml").read_text(encoding="utf-8")
    return {
        f"{method} {preset}": float(seconds)
        for method, presets in tomllib.loads(text).items()
        for preset, seconds in presets.items()
    }
