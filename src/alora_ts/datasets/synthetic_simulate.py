"""Runs a system row by row, with its faults and, beside it, as it would have been without them."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from alora_ts.datasets.synthetic_faults import Disturbance, Effect, effect_of
from alora_ts.datasets.synthetic_system import System
from alora_ts.errors import DataError

__all__ = ["Simulator", "usual_spread"]

Array = NDArray[np.float64]


class Simulator:
    """A system in motion; rows come in chunks of any size and do not depend on the chunking.

    Two worlds share every random draw: one suffers the faults, one does not. Their difference
    is what the faults did, exactly.

    Parameters
    ----------
    system : System
        What is simulated.
    seed : int
        Of all random draws.
    disturbances : sequence of Disturbance
        Faults, counted in rows from ``fault_row``; they may not overlap.
    fault_row : int
        The row of the simulation that the faults' rows are counted from.
    spread : ndarray of shape (d,)
        Standard deviations that the faults' sizes are measured in (see :func:`usual_spread`).

    Examples
    --------
    >>> from alora_ts.datasets.synthetic_system import Edge, Node, System
    >>> system = System((Node("valve"), Node("flow")), (Edge(0, 1, weight=0.4, reads=True),))
    >>> fault = Disturbance("level-shift", "valve", start=5, end=8)
    >>> run = Simulator(system, seed=1, disturbances=[fault], spread=usual_spread(system))
    >>> healthy, actual = run.advance(12)
    >>> np.flatnonzero(healthy[:, 0] != actual[:, 0]).tolist()
    [5, 6, 7]
    >>> np.flatnonzero(healthy[:, 1] != actual[:, 1]).tolist()
    [6, 7, 8, 9, 10, 11]
    """

    def __init__(
        self,
        system: System,
        *,
        seed: int,
        spread: Array,
        disturbances: Sequence[Disturbance] = (),
        fault_row: int = 0,
    ) -> None:
        self.system = system
        self._seed, self._spread = seed, spread
        self._faults = _schedule(system, disturbances, seed=seed, spread=spread, offset=fault_row)
        d = len(system.nodes)
        self._history = np.zeros((1 if not disturbances else 2, system.depth * 2 * d))
        self._last = 0.0
        self._rng, self._switches = np.random.default_rng(seed).spawn(2)
        self._mode = 0
        # A day in the dark lets the start-up transient die before row 0.
        self._row = -system.period
        self._run(system.period)

    def advance(self, rows: int) -> tuple[Array, Array]:
        """Simulate the next rows.

        Parameters
        ----------
        rows : int
            How many.

        Returns
        -------
        healthy, actual : ndarray of shape (rows, d)
            Readings in the user's units, without and with the faults (the same array when the
            simulation has none).
        """
        offset, scale = self.system.column("offset"), self.system.column("scale")
        readings = self._run(rows) * scale + offset
        return readings[0], readings[-1]

    def plan(self, disturbances: Sequence[Disturbance], *, fault_row: int) -> None:
        """Let further faults happen, of which none may have begun; what is over is forgotten.

        Parameters
        ----------
        disturbances : sequence of Disturbance
            Only for a simulation that was begun with faults.
        fault_row : int
            The row of the simulation that their rows are counted from.
        """
        more = _schedule(
            self.system, disturbances, seed=self._seed, spread=self._spread, offset=fault_row
        )
        left = {row: fault for row, fault in self._faults.items() if row >= self._row}
        self._faults = left | more

    def origins(self, first: int, rows: int) -> NDArray[np.int64]:
        """Column where a fault is active, for each of some rows of the simulation, or -1."""
        nobody = (-1, None, 0)
        at = [self._faults.get(row, nobody)[0] for row in range(first, first + rows)]
        return np.array(at, dtype=np.int64)

    def _drive(self, rows: int) -> tuple[Array, Array]:
        """Inputs that come from outside: season, regime and the two noises."""
        system = self.system
        memory = system.column("memory")
        turns = 2 * np.pi * np.arange(self._row, self._row + rows)[:, None] / system.period
        phase = system.column("phase")
        outside = system.column("season") * (
            np.sin(turns + phase) + 0.3 * np.sin(2 * turns + 2 * phase)
        )
        switches = self._switches.random(rows) < 1 / system.regime_rows
        modes = (self._mode + np.cumsum(switches)) % 2
        self._mode = int(modes[-1]) if rows else self._mode
        outside += system.column("regime") * (2 * modes[:, None] - 1)
        noise = self._rng.standard_normal((rows, 2, len(system.nodes)))
        drive = (1 - memory) * outside
        drive += system.column("noise") * np.sqrt(np.maximum(0, 1 - memory**2)) * noise[:, 0]
        return drive, system.column("sensor_noise") * noise[:, 1]

    def _run(self, rows: int) -> Array:
        """Advance both worlds; returns the readings as deviations, (worlds, rows, d)."""
        system, d = self.system, len(self.system.nodes)
        drive, sensor = self._drive(rows)
        low, high = system.column("low"), system.column("high")
        has_stops = bool(np.isfinite(low).any() or np.isfinite(high).any())
        width = self._history.shape[1]
        worlds = len(self._history)
        # One flat line per world: row after row, first all processes and then all readings, so
        # that the past a row depends on is one slice.
        line = np.empty((worlds, width + rows * 2 * d))
        line[:, :width] = self._history
        matrix = system.transition
        for row in range(rows):
            at = width + row * 2 * d
            process, reading = line[:, at : at + d], line[:, at + d : at + 2 * d]
            np.matmul(line[:, at - width : at], matrix, out=process)
            process += drive[row]
            if has_stops:
                np.maximum(process, low, out=process)
                np.minimum(process, high, out=process)
            fault = self._faults.get(self._row + row)
            if fault is None:
                np.add(process, sensor[row], out=reading)
                continue
            origin, effect, step = fault
            if step == 0:
                past = at - 2 * d + (0 if effect.process else d) + origin
                self._last = float(line[1, past])
            if effect.process:
                process[1, origin] = effect.apply(float(process[1, origin]), self._last, step)
            np.add(process, sensor[row], out=reading)
            if not effect.process:
                reading[1, origin] = effect.apply(float(reading[1, origin]), self._last, step)
        self._row += rows
        self._history = line[:, rows * 2 * d :].copy()
        return line[:, width:].reshape(worlds, rows, 2, d)[:, :, 1]


def _schedule(
    system: System, disturbances: Sequence[Disturbance], *, seed: int, spread: Array, offset: int
) -> dict[int, tuple[int, Effect, int]]:
    """For each faulty row of the simulation: origin, effect, and the row within the fault."""
    rows: dict[int, tuple[int, Effect, int]] = {}
    for fault in disturbances:
        origin = system.index(fault.origin)
        node = system.nodes[origin]
        effect = effect_of(
            fault,
            period=system.period,
            sigma=float(spread[origin]),
            memory=node.memory,
            zero=-node.offset / node.scale,
            seed=seed,
        )
        for step in np.flatnonzero(effect.working).tolist():
            row = offset + fault.start + step
            if row in rows:
                raise DataError(
                    f"two faults meet at row {row - offset} ({fault.kind} in "
                    f"{node.name}); let one end before the next starts"
                )
            rows[row] = (origin, effect, step)
    return rows


def usual_spread(system: System, *, seed: int = 0) -> Array:
    """Standard deviation of each healthy signal, as deviations, over two seasons.

    Examples
    --------
    >>> from alora_ts.datasets.synthetic_system import Node, System
    >>> quiet = System((Node("a", noise=1.0, memory=0.0, sensor_noise=0.0),))
    >>> bool(abs(usual_spread(quiet)[0] - 1) < 0.1)
    True
    """
    pilot = Simulator(system, seed=seed, spread=np.ones(len(system.nodes)))
    healthy, _ = pilot.advance(2 * system.period)
    spread: Array = np.maximum(healthy.std(axis=0) / np.abs(system.column("scale")), 1e-9)
    return spread
