"""Random sparse systems of any size."""

from __future__ import annotations

import numpy as np

from alora_ts.datasets.synthetic_system import Edge, Node, System
from alora_ts.errors import DataError

__all__ = ["random_system"]


def random_system(
    variables: int, *, seed: int = 0, parents: float = 1.8, max_lag: int = 5, period: int = 1440
) -> System:
    """Draw a sparse causal graph with lags, seasonal sources and weak feedback loops.

    About one signal in five is a source with its own season and regimes; every other signal
    follows a few earlier ones, and about one in six also steers the first of them back (a
    control loop).

    Parameters
    ----------
    variables : int
        Number of signals.
    seed : int
        Of the draw.
    parents : float
        Mean number of causes of a signal that is not a source.
    max_lag : int
        Longest delay in rows.
    period : int
        Rows of one season.

    Returns
    -------
    System
        Signals are called ``signal_00``, ``signal_01``, … and act through their readings.

    Examples
    --------
    >>> system = random_system(12, seed=3)
    >>> system.variables[:2], system.spectral_radius < 1
    (('signal_00', 'signal_01'), True)
    """
    if variables < 1 or max_lag < 1:
        raise DataError(
            f"a random system needs at least 1 signal and lag 1, not {variables} and {max_lag}"
        )
    rng = np.random.default_rng([seed, variables])
    digits = len(str(variables - 1)) if variables > 10 else 2
    nodes, edges = [], []
    for column in range(variables):
        is_source = column == 0 or (column < variables / 2 and rng.random() < 0.3)
        memory = float(rng.uniform(0.6, 0.95) if is_source else rng.uniform(0.2, 0.6))
        nodes.append(
            Node(
                f"signal_{column:0{digits}d}",
                offset=float(rng.uniform(20, 80)),
                scale=float(rng.uniform(2, 10)),
                memory=memory,
                noise=float(rng.uniform(0.2, 0.4) if is_source else rng.uniform(0.1, 0.2)),
                season=float(rng.uniform(0.6, 1.0)) if is_source else 0.0,
                phase=float(rng.uniform(0, 2 * np.pi)),
                regime=float(rng.uniform(0.2, 0.5)) if is_source else 0.0,
            )
        )
        if is_source:
            continue
        count = min(1 + int(rng.poisson(parents - 1)), column)
        causes = rng.choice(column, size=count, replace=False)
        # Weights that sum to the loss of memory keep all signals about equally wide.
        shares = rng.dirichlet(np.full(count, 3.0)) * (1 - memory)
        for cause, share in zip(causes.tolist(), shares.tolist(), strict=True):
            sign = -1.0 if rng.random() < 0.3 else 1.0
            lag = int(rng.integers(1, max_lag + 1))
            edges.append(Edge(cause, column, weight=sign * share, lag=lag, reads=True))
        if rng.random() < 1 / 6:
            first = edges[-count]
            # Of opposite sign to the way forth, so that the loop damps.
            back = -np.sign(first.weight) * 0.1
            edges.append(Edge(column, first.source, weight=float(back), lag=first.lag, reads=True))
    return System(tuple(nodes), tuple(edges), period=period)
