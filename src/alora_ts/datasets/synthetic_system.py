"""A plant as numbers: signals, the lagged edges among them, and what makes the system stable.

Values inside a system are deviations from each signal's operating point; :class:`Node` says how
a deviation becomes a reading in the user's unit.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from alora_ts.errors import DataError, nearest

__all__ = ["Edge", "Node", "System"]


@dataclass(frozen=True)
class Node:
    """One signal of a system.

    Attributes
    ----------
    name : str
        What the signal is called.
    offset, scale : float
        A deviation ``x`` is read as ``offset + scale * x``.
    memory : float
        Weight of the signal's own last value. 1 makes an integrator, such as a controller.
    noise : float
        Standard deviation that the process noise alone would give the signal.
    sensor_noise : float
        Standard deviation of the noise added to each reading.
    season, phase : float
        Amplitude of the daily pattern that drives the signal, and its phase in radians.
    regime : float
        How far the signal moves when the system changes its mode of operation.
    low, high : float
        Stops of an actuator; the deviation never leaves them.
    """

    name: str
    offset: float = 0.0
    scale: float = 1.0
    memory: float = 0.5
    noise: float = 0.2
    sensor_noise: float = 0.02
    season: float = 0.0
    phase: float = 0.0
    regime: float = 0.0
    low: float = -math.inf
    high: float = math.inf


@dataclass(frozen=True)
class Edge:
    """An influence of one signal on another.

    Attributes
    ----------
    source, target : int
        Positions of the two signals.
    weight : float
        What one unit of the source adds to the target, ``lag`` rows later.
    lag : int
        Delay in rows, at least 1.
    reads : bool
        True when the target acts on the *reading* (a controller), so that a lying sensor
        misleads it; False when it feels the process itself.
    """

    source: int
    target: int
    weight: float
    lag: int = 1
    reads: bool = False


@dataclass(frozen=True)
class System:
    """Signals and the influences among them.

    Parameters
    ----------
    nodes : tuple of Node
        The signals, in column order.
    edges : tuple of Edge
        The influences. A signal's own memory is in its node, not here.
    period : int
        Rows of one season (a day of minutes is 1440).
    regime_rows : float
        Mean number of rows between two changes of the mode of operation.

    Raises
    ------
    DataError
        For duplicate names, edges out of range, lags below one, or a system that does not
        come to rest.

    Examples
    --------
    >>> pair = System((Node("valve"), Node("flow")), (Edge(0, 1, weight=0.4, lag=2),))
    >>> pair.index("flow"), pair.depth, pair.adjacency()[1]
    (1, 2, array([[0. , 0.4], [0. , 0. ]]))
    >>> round(pair.spectral_radius, 3)
    0.5
    """

    nodes: tuple[Node, ...]
    edges: tuple[Edge, ...] = ()
    period: int = 1440
    regime_rows: float = 600.0

    def __post_init__(self) -> None:
        if not self.nodes:
            raise DataError("a system needs at least one signal; give it nodes")
        repeated = sorted({n for n in self.variables if self.variables.count(n) > 1})
        if repeated:
            raise DataError(f"the signals {repeated} appear twice; give each its own name")
        for position, edge in enumerate(self.edges):
            where = f"edge {position} ({edge.source} to {edge.target})"
            if not (0 <= edge.source < len(self.nodes) and 0 <= edge.target < len(self.nodes)):
                raise DataError(f"{where} leaves the {len(self.nodes)} signals; correct its ends")
            if edge.lag < 1:
                raise DataError(f"{where} has lag {edge.lag}; a cause comes at least 1 row before")
        if self.period < 2 or self.regime_rows < 1:
            raise DataError("period must be at least 2 rows and regime_rows at least 1")
        if self.spectral_radius >= 1:
            raise DataError(
                f"the system never comes to rest (spectral radius {self.spectral_radius:.4f}, "
                "must be below 1); weaken its memories or edges"
            )

    @property
    def variables(self) -> tuple[str, ...]:
        """The signals' names in column order."""
        return tuple(node.name for node in self.nodes)

    @property
    def depth(self) -> int:
        """The largest lag: how many past rows the next one depends on."""
        return max((edge.lag for edge in self.edges), default=1)

    def index(self, variable: int | str) -> int:
        """Column of a signal given by name or position."""
        if isinstance(variable, str):
            if variable not in self.variables:
                raise DataError(
                    f"there is no signal {variable!r}{nearest(variable, self.variables)}"
                )
            return self.variables.index(variable)
        if not 0 <= variable < len(self.nodes):
            raise DataError(f"there is no signal {variable}; positions go to {len(self.nodes) - 1}")
        return variable

    def column(self, field: str) -> NDArray[np.float64]:
        """One field of all nodes, such as ``"memory"``, as an array (d,)."""
        return np.array([getattr(node, field) for node in self.nodes], dtype=np.float64)

    def adjacency(self) -> NDArray[np.float64]:
        """Weights by lag, source and target: (depth, d, d), lag 1 first."""
        d = len(self.nodes)
        weights = np.zeros((self.depth, d, d))
        for edge in self.edges:
            weights[edge.lag - 1, edge.source, edge.target] += edge.weight
        return weights

    @cached_property
    def transition(self) -> NDArray[np.float64]:
        """Matrix from the last ``depth`` rows, oldest first, each process then readings, to one.

        Shape (depth * 2 * d, d).
        """
        d, depth = len(self.nodes), self.depth
        matrix = np.zeros((depth, 2, d, d))
        matrix[-1, 0] = np.diag(self.column("memory"))
        for edge in self.edges:
            matrix[depth - edge.lag, int(edge.reads), edge.source, edge.target] += edge.weight
        return matrix.reshape(depth * 2 * d, d)

    @cached_property
    def spectral_radius(self) -> float:
        """Largest factor by which a disturbance can go on growing per row, stops apart."""
        d, depth = len(self.nodes), self.depth
        steps = self.adjacency()
        steps[0] += np.diag(self.column("memory"))
        companion = np.zeros((depth * d, depth * d))
        companion[:d] = np.concatenate([step.T for step in steps], axis=1)
        companion[d:, :-d] = np.eye((depth - 1) * d)
        return float(np.abs(np.linalg.eigvals(companion)).max())
