"""The demo's plant without an end: the same faults again and again."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from alora_ts.datasets.synthetic import PLANT_FAULTS
from alora_ts.datasets.synthetic_plant import plant_system
from alora_ts.datasets.synthetic_simulate import Simulator, usual_spread

__all__ = ["LivePlant"]

_CYCLE = 3000


class LivePlant:
    """A water works that goes on for as long as rows are asked for.

    Its first rows are those of :func:`~alora_ts.datasets.synthetic.plant` for the same seed.

    Parameters
    ----------
    seed : int
    train_rows : int
        Healthy rows at the beginning.

    Attributes
    ----------
    variables : tuple of str
    train : ndarray of shape (train_rows, d)

    Examples
    --------
    >>> plant = LivePlant(train_rows=100)
    >>> plant.train.shape, plant.advance(2).shape
    ((100, 19), (2, 19))
    """

    def __init__(self, *, seed: int = 0, train_rows: int = 6000) -> None:
        system = plant_system()
        self.variables = system.variables
        self._run = Simulator(
            system,
            seed=seed,
            spread=usual_spread(system),
            disturbances=PLANT_FAULTS,
            fault_row=train_rows,
        )
        self.train = self._run.advance(train_rows)[1]
        self._row = train_rows
        self._planned = train_rows + _CYCLE

    def advance(self, rows: int) -> NDArray[np.float64]:
        """The next rows, (rows, d); six faults come in every 3,000 of them."""
        self._row += rows
        while self._row > self._planned:
            self._run.plan(PLANT_FAULTS, fault_row=self._planned)
            self._planned += _CYCLE
        return self._run.advance(rows)[1]
