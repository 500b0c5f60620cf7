"""The newest rows of a source as its model sees them, to look at whole windows again."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from alora_ts.data.hold import RowHold
from alora_ts.estimator import ALoRa
from alora_ts.model.fitted import limit
from alora_ts.model.localize import origin_rows
from alora_ts.serve.scoring.restore import gap_micros
from alora_ts.serve.store.rows import RowBlock

__all__ = ["Past"]


class Past:
    """Follows a source's rows, as a stream does, and says where what they show began.

    Parameters
    ----------
    model : ALoRa
    before : RowBlock
        The rows before the first to be followed, of the model's variables, as
        :func:`~alora_ts.serve.scoring.restore.held_rows` gives them; a window less one row of
        them is enough.
    """

    def __init__(self, model: ALoRa, before: RowBlock) -> None:
        self._model = model.model_
        self._gap = gap_micros(model)
        self._hold = RowHold(self._model.preparation.standardiser.center)
        self._last_time: int | None = None
        self._scaled = np.zeros((0, len(self._model.preparation.variables)), dtype=np.float32)
        self.origins(before.times, before.values, np.zeros(len(before), dtype=bool))

    def origins(
        self, times: NDArray[np.int64], values: NDArray[np.float64], asked: NDArray[np.bool_]
    ) -> NDArray[np.float64] | None:
        """Take in the next rows; say how likely each variable is the origin of some of them.

        Parameters
        ----------
        times : ndarray of int64, shape (N,)
        values : ndarray of shape (N, d)
            NaN where missing.
        asked : ndarray of bool, shape (N,)
            Which rows; each must have a full window since the start or the last gap.

        Returns
        -------
        ndarray of shape (asked rows, d), or None
            None where the model was saved by a version that learned nothing about origins.
        """
        standardiser, window = self._model.preparation.standardiser, self._model.window
        filled = self._fill(times, values)
        new = limit(standardiser.apply(filled), self._model.input_limit)
        rows = np.concatenate([self._scaled, new])
        first = len(self._scaled)
        self._scaled = rows[max(len(rows) - window + 1, 0) :].copy()
        if self._model.mechanisms is None:
            return None
        ends = np.flatnonzero(asked) + first
        reach = np.arange(1 - window, 1)
        return origin_rows(self._model, ends, lambda some: rows[some[:, None] + reach])

    def _fill(self, times: NDArray[np.int64], values: NDArray[np.float64]) -> NDArray[np.float64]:
        """Rows in which a missing cell has the last value since the last gap, or the usual one."""
        filled = np.empty_like(values)
        for at, time in enumerate(times.tolist()):
            passed = None if self._last_time is None else time - self._last_time
            if self._gap is not None and passed is not None and passed > self._gap:
                self._hold.restart()
            filled[at] = self._hold.fill(values[at])
            self._last_time = time
        return filled
