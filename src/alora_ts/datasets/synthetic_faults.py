"""The ways a signal can go wrong, each as a small change to its process or to its reading."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from alora_ts.errors import DataError, nearest

__all__ = ["FAULT_KINDS", "Disturbance", "Effect", "effect_of"]

Array = NDArray[np.float64]


@dataclass(frozen=True)
class Disturbance:
    """A fault to be injected.

    Attributes
    ----------
    kind : str
        One of :data:`FAULT_KINDS`.
    origin : int or str
        The signal where it begins.
    start, end : int
        First row, and the row after the last one, counted from the first test row.
    size : float
        Strength in standard deviations of the healthy signal; the sign gives the direction.
    """

    kind: str
    origin: int | str
    start: int
    end: int
    size: float = 4.0


@dataclass(frozen=True)
class Effect:
    """What a fault does to the value ``v`` of its origin, row by row of the fault.

    The new value is ``keep * v + add + hold * last + swing * sign(last)``, where ``last`` is the
    last value before the fault.

    Attributes
    ----------
    process : bool
        Whether the process itself changes (and remembers), or only what is read of it.
    keep, add, hold, swing : ndarray of shape (rows,)
        The four terms above.
    """

    process: bool
    keep: Array
    add: Array
    hold: Array
    swing: Array

    @property
    def working(self) -> NDArray[np.bool_]:
        """Rows in which the fault changes anything; there are pauses between two spikes."""
        changes: NDArray[np.bool_] = np.any(
            [self.keep != 1, self.add != 0, self.hold != 0, self.swing != 0], axis=0
        )
        return changes

    def apply(self, value: float, last: float, row: int) -> float:
        """Return the disturbed value at one row of the fault."""
        return float(
            self.keep[row] * value
            + self.add[row]
            + self.hold[row] * last
            + self.swing[row] * np.sign(last)
        )


@dataclass(frozen=True)
class _Setting:
    """What a kind may look at when it makes its rows; amplitudes are in internal units."""

    rows: int
    period: int
    size: float
    sigma: float
    memory: float
    zero: float
    rng: np.random.Generator

    @property
    def height(self) -> float:
        return self.size * self.sigma

    @property
    def pull(self) -> float:
        """Steady input that would in time move the process by one unit."""
        return max(1 - self.memory, 0.05)

    @property
    def ramp(self) -> Array:
        return np.arange(1, self.rows + 1) / self.rows

    def effect(
        self,
        *,
        process: bool = False,
        keep: Array | float = 1.0,
        add: Array | float = 0.0,
        hold: float = 0.0,
        swing: Array | float = 0.0,
    ) -> Effect:
        def whole(value: Array | float) -> Array:
            return np.broadcast_to(np.asarray(value, dtype=np.float64), self.rows)

        return Effect(process, whole(keep), whole(add), whole(hold), whole(swing))


def _spikes(s: _Setting, *, every: int) -> Array:
    """Return 1 in the first row and every few rows after it, else 0."""
    return np.where(np.arange(s.rows) % every == 0, 1.0, 0.0)


def _global_point(s: _Setting) -> Effect:
    """Isolated readings far outside the signal's range, one in ten rows."""
    return s.effect(add=_spikes(s, every=10) * s.height)


def _contextual_point(s: _Setting) -> Effect:
    """Isolated readings on the wrong side of the mean: usual values at an unusual time."""
    return s.effect(swing=-_spikes(s, every=10) * abs(s.height))


def _shapelet(s: _Setting) -> Effect:
    """A square wave instead of the signal's own shape."""
    wave = np.where(np.arange(s.rows) // 6 % 2 == 0, 1.0, -1.0)
    return s.effect(keep=0.0, add=wave * s.height, hold=1.0)


def _seasonal(s: _Setting) -> Effect:
    """The driving season runs much faster than the day."""
    turns = 2 * np.pi * np.arange(1, s.rows + 1) * 40 / s.period
    return s.effect(process=True, add=s.pull * s.height * np.sin(turns))


def _trend(s: _Setting) -> Effect:
    """The process itself climbs steadily, and its neighbours with it."""
    return s.effect(process=True, add=s.pull * s.height * s.ramp)


def _additive_outlier(s: _Setting) -> Effect:
    """One wrong reading (Tsay's additive outlier)."""
    return s.effect(add=np.where(np.arange(s.rows) == 0, s.height, 0.0))


def _innovational_outlier(s: _Setting) -> Effect:
    """One shock to the process, which then takes its natural course."""
    return s.effect(process=True, add=np.where(np.arange(s.rows) == 0, s.height, 0.0))


def _level_shift(s: _Setting) -> Effect:
    """All readings moved by the same amount."""
    return s.effect(add=s.height)


def _temporary_change(s: _Setting) -> Effect:
    """A jump of the readings that fades."""
    return s.effect(add=s.height * 0.05 ** (np.arange(s.rows) / s.rows))


def _variance_change(s: _Setting) -> Effect:
    """Readings that scatter much more than before."""
    return s.effect(add=abs(s.height) * s.rng.standard_normal(s.rows))


def _correlation_break(s: _Setting) -> Effect:
    """A plausible signal of the usual range and smoothness that follows nobody."""
    memory = min(abs(s.memory), 0.95)
    own = np.empty(s.rows)
    value = s.height
    for row, draw in enumerate(s.rng.standard_normal(s.rows)):
        # Reverts to the far side of the range, so that it cannot agree with the rest by chance.
        value = (1 - memory) * s.height + memory * value
        value += 0.3 * s.sigma * np.sqrt(1 - memory**2) * draw
        own[row] = value
    return s.effect(keep=0.0, add=0.0, swing=-own * np.sign(s.height))


def _stuck_sensor(s: _Setting) -> Effect:
    """The reading stays at its last value."""
    return s.effect(keep=0.0, hold=1.0)


def _stuck_actuator(s: _Setting) -> Effect:
    """The process stays where it was: a valve that no longer moves."""
    return s.effect(process=True, keep=0.0, hold=1.0)


def _drift(s: _Setting) -> Effect:
    """The reading creeps away from a healthy process."""
    return s.effect(add=s.height * s.ramp)


def _dropout(s: _Setting) -> Effect:
    """Two readings in three are lost and arrive as zero."""
    lost = s.rng.random(s.rows) < 2 / 3
    lost[0] = True
    return s.effect(keep=np.where(lost, 0.0, 1.0), add=np.where(lost, s.zero, 0.0))


def _leak(s: _Setting) -> Effect:
    """The process loses the same amount in every row."""
    return s.effect(process=True, add=-s.pull * abs(s.height))


def _degradation(s: _Setting) -> Effect:
    """The process gives less and less, as a failing pump does, down to a floor."""
    return s.effect(process=True, add=-s.pull * abs(s.height) * np.minimum(1, 3 * s.ramp))


FAULT_KINDS: dict[str, Callable[[_Setting], Effect]] = {
    "global-point": _global_point,
    "contextual-point": _contextual_point,
    "shapelet": _shapelet,
    "seasonal": _seasonal,
    "trend": _trend,
    "additive-outlier": _additive_outlier,
    "innovational-outlier": _innovational_outlier,
    "level-shift": _level_shift,
    "temporary-change": _temporary_change,
    "variance-change": _variance_change,
    "correlation-break": _correlation_break,
    "stuck-sensor": _stuck_sensor,
    "stuck-actuator": _stuck_actuator,
    "drift": _drift,
    "dropout": _dropout,
    "leak": _leak,
    "degradation": _degradation,
}


def effect_of(
    disturbance: Disturbance,
    *,
    period: int,
    sigma: float,
    memory: float,
    zero: float,
    seed: int,
) -> Effect:
    """Work out what a disturbance does in each of its rows.

    Parameters
    ----------
    disturbance : Disturbance
        The fault.
    period : int
        Rows of one season.
    sigma, memory : float
        Standard deviation of the healthy origin and the weight of its own last value.
    zero : float
        The internal value that reads as zero.
    seed : int
        For the kinds that draw random numbers.

    Returns
    -------
    Effect
        One entry per row of the fault.

    Raises
    ------
    DataError
        When the kind is unknown or the rows are empty.

    Examples
    --------
    >>> fault = Disturbance("drift", "tank1_level", start=10, end=14, size=2.0)
    >>> effect = effect_of(fault, period=1440, sigma=1.0, memory=0.5, zero=0.0, seed=0)
    >>> [effect.apply(1.0, 0.9, row) for row in range(4)]
    [1.5, 2.0, 2.5, 3.0]
    """
    if disturbance.kind not in FAULT_KINDS:
        raise DataError(
            f"there is no fault kind {disturbance.kind!r}{nearest(disturbance.kind, FAULT_KINDS)}"
        )
    if not 0 <= disturbance.start < disturbance.end:
        raise DataError(
            f"the {disturbance.kind} fault runs from row {disturbance.start} to "
            f"{disturbance.end}; start must be 0 or later and before end"
        )
    setting = _Setting(
        rows=disturbance.end - disturbance.start,
        period=period,
        size=disturbance.size,
        sigma=sigma,
        memory=memory,
        zero=zero,
        rng=np.random.default_rng([seed, disturbance.start]),
    )
    return FAULT_KINDS[disturbance.kind](setting)
