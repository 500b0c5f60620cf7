"""Incidents as rows come: opened, updated, closed by the rules a batch applies afterwards."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from alora_ts.diagnosis.incident import severity_of
from alora_ts.diagnosis.shares import shares

__all__ = ["Moment", "Tracker", "Trail"]

_LISTED_SHARE = 0.9
_LISTED_AT_MOST = 10


@dataclass(frozen=True)
class Moment:
    """What a tracker needs to know of one row.

    Attributes
    ----------
    time : int
    score, raw : float
        The raw score as it would be without drift: ``score`` times the alarm level.
    warm_up : bool
    localization, values, expected : ndarray of shape (d,)
        Values NaN where missing.
    origin : ndarray of shape (d,) or None
        How likely each variable is the origin; None in a quiet row, or where the model cannot
        tell.
    """

    time: int
    score: float
    raw: float
    warm_up: bool
    localization: NDArray[np.floating]
    values: NDArray[np.floating]
    expected: NDArray[np.floating]
    origin: NDArray[np.float64] | None = None

    @property
    def alarm(self) -> bool:
        """Whether the row alarms."""
        return self.score > 1 and not self.warm_up


@dataclass
class Trail:
    """A stretch of alarm as far as it is known.

    Attributes
    ----------
    start, end : int
        Times of its first and last alarming row.
    rows : int
        From the first to the last alarming row, quiet ones between them included.
    key : str or None
        The id of the incident it is known as.
    """

    start: int
    variables: tuple[str, ...]
    scale: NDArray[np.float64]
    end: int = 0
    rows: int = 0
    quiet: int = 0
    peak: float = 0.0
    peak_raw: float = 0.0
    peak_time: int = 0
    open: bool = True
    key: str | None = None
    weight: NDArray[np.float64] = field(init=False)
    root: NDArray[np.float64] = field(init=False)
    lean: NDArray[np.float64] = field(init=False)
    worst: NDArray[np.float64] = field(init=False)

    def __post_init__(self) -> None:
        d = len(self.variables)
        self.weight = np.zeros(d)
        self.root = np.zeros(d)
        self.lean = np.zeros(d)
        # Below and above: the deviation that is largest so far, the value, what was expected.
        self.worst = np.zeros((2, 3, d))

    def add(self, moment: Moment) -> None:
        """Take in an alarming row."""
        self.end = moment.time
        self.rows += self.quiet + 1
        self.quiet = 0
        if moment.score > self.peak:
            self.peak, self.peak_raw, self.peak_time = moment.score, moment.raw, moment.time
        self.weight += shares(moment.localization) * moment.score
        if moment.origin is not None:
            self.root += shares(moment.origin) * moment.score
        # A cell that was missing has not deviated.
        deviation = np.nan_to_num((moment.values - moment.expected) / self.scale)
        self.lean += deviation
        for side, sign in enumerate((-1.0, 1.0)):
            further = sign * deviation > self.worst[side, 0]
            now = np.stack([sign * deviation, moment.values, moment.expected])
            self.worst[side][:, further] = now[:, further]

    def culprits(self) -> list[dict[str, Any]]:
        """The variables with the largest shares, as the API shows them."""
        part = shares(self.weight)
        order = np.argsort(-part, kind="stable")
        enough = int(np.searchsorted(np.cumsum(part[order]), _LISTED_SHARE)) + 1
        listed = []
        for at in order[: min(enough, _LISTED_AT_MOST)].tolist():
            side = 1 if self.lean[at] >= 0 else 0
            listed.append(
                {
                    "variable": self.variables[at],
                    "share": float(part[at]),
                    "direction": "above" if side else "below",
                    "value": float(self.worst[side, 1, at]),
                    "expected": float(self.worst[side, 2, at]),
                }
            )
        return listed

    def origin(self) -> dict[str, Any] | None:
        """Where it most likely began, as the API shows it."""
        if not self.root.any():
            return None
        part = shares(self.root)
        first = int(part.argmax())
        return {"variable": self.variables[first], "share": float(part[first])}

    def record(self) -> dict[str, Any]:
        """The columns of the incidents table that a trail knows."""
        return {
            "kind": "anomaly",
            "variable": None,
            "state": "open" if self.open else "closed",
            "start_us": self.start,
            "end_us": self.end,
            "rows": self.rows,
            "peak_us": self.peak_time,
            "peak": self.peak,
            "peak_raw": self.peak_raw,
            "severity": severity_of(self.peak),
            "culprits": self.culprits(),
            "origin": self.origin(),
        }


class Tracker:
    """Follows one source.

    Parameters
    ----------
    variables : tuple of str
    scale : ndarray of shape (d,)
        One scaled unit of each variable, to compare deviations.
    merge : int
        An incident is over once more than so many rows in a row were quiet.
    minimum : int
        Shorter stretches are no incident.

    Attributes
    ----------
    trail : Trail or None
        The stretch that is not over yet; an incident once it has ``minimum`` rows.
    """

    def __init__(
        self, variables: tuple[str, ...], scale: NDArray[np.float64], *, merge: int, minimum: int
    ) -> None:
        self._variables = variables
        self._scale = scale
        self._merge = merge
        self._minimum = minimum
        self.trail: Trail | None = None

    def add(self, moment: Moment) -> list[Trail]:
        """Take in a row; give the incidents it began, changed or ended, in that order of time."""
        changed: list[Trail] = []
        trail = self.trail
        # Warm-up begins after a gap, and no incident reaches across one.
        if trail is not None and (
            moment.warm_up or (not moment.alarm and trail.quiet >= self._merge)
        ):
            trail.open = False
            self.trail = None
            if trail.rows >= self._minimum:
                changed.append(trail)
            trail = None
        if moment.alarm:
            if trail is None:
                trail = self.trail = Trail(moment.time, self._variables, self._scale)
            trail.add(moment)
            if trail.rows >= self._minimum:
                changed.append(trail)
        elif trail is not None:
            trail.quiet += 1
        return changed
