"""What the injected faults did, measured against the same plant without them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from alora_ts.datasets.synthetic_faults import Disturbance
from alora_ts.datasets.synthetic_system import System

__all__ = ["AFFECTED_AT", "Fault", "TruthKeeper"]

# A signal counts as affected once it is this many of its usual standard deviations away from
# its healthy twin: half of one is about the least that a good eye sees in a plot.
AFFECTED_AT = 0.5


@dataclass(frozen=True)
class Fault:
    """An injected fault and how far it reached.

    Attributes
    ----------
    kind : str
        One of ``FAULT_KINDS``.
    origin : int
        Column of the signal where it began.
    variable : str
        Name of that signal.
    start, end : int
        Test rows during which the fault is active; ``end`` is the row after the last.
    recovered : int
        The row after the last one at which some signal was still affected; at least ``end``.
    affected : tuple of int
        Columns that left their healthy course measurably, the origin always among them.
    """

    kind: str
    origin: int
    variable: str
    start: int
    end: int
    recovered: int
    affected: tuple[int, ...]


class TruthKeeper:
    """Compares chunk after chunk of both worlds and remembers what each fault reached.

    A signal that strays between two faults is put down to the earlier one.

    Parameters
    ----------
    system : System
        The simulated system.
    disturbances : sequence of Disturbance
        Faults in order of time, in test rows.
    spread : ndarray of shape (d,)
        Usual standard deviations of the signals, as deviations.
    """

    def __init__(
        self, system: System, disturbances: Sequence[Disturbance], *, spread: NDArray[np.float64]
    ) -> None:
        self._system = system
        self._faults = sorted(disturbances, key=lambda fault: fault.start)
        self._tolerance = AFFECTED_AT * spread * np.abs(system.column("scale"))
        self._reached = [{system.index(fault.origin)} for fault in self._faults]
        self._recovered = [fault.end for fault in self._faults]
        self._row = 0

    def take(
        self,
        healthy: NDArray[np.float64],
        actual: NDArray[np.float64],
        origins: NDArray[np.int64],
    ) -> tuple[NDArray[np.bool_], NDArray[np.bool_]]:
        """Take the next test rows of both worlds, and where faults are active (or -1).

        Returns
        -------
        label : ndarray of shape (rows,), bool
            A fault is active or some signal is still affected by one.
        affected : ndarray of shape (rows, d), bool
            Which signals are away from their healthy course; the origin always is while its
            fault is at work.
        """
        affected = np.abs(actual - healthy) > self._tolerance
        working = np.flatnonzero(origins >= 0)
        affected[working, origins[working]] = True
        first, after = self._row, self._row + len(affected)
        for position, fault in enumerate(self._faults):
            until = after
            if position + 1 < len(self._faults):
                until = min(until, self._faults[position + 1].start)
            part = affected[max(fault.start - first, 0) : max(until - first, 0)]
            if part.any():
                self._reached[position] |= set(np.flatnonzero(part.any(axis=0)).tolist())
                last = max(fault.start, first) + int(np.flatnonzero(part.any(axis=1))[-1])
                self._recovered[position] = max(self._recovered[position], last + 1)
        self._row = after
        label: NDArray[np.bool_] = np.any(affected, axis=1)
        return label, affected

    def faults(self) -> tuple[Fault, ...]:
        """List the faults with what has been seen of them so far."""
        return tuple(
            Fault(
                kind=fault.kind,
                origin=self._system.index(fault.origin),
                variable=self._system.variables[self._system.index(fault.origin)],
                start=fault.start,
                end=fault.end,
                recovered=recovered,
                affected=tuple(sorted(reached)),
            )
            for fault, reached, recovered in zip(
                self._faults, self._reached, self._recovered, strict=True
            )
        )
