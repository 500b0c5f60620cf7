"""The newest rows of a source as its model sees them, to look at whole windows again."""

from __future__ import annotations

from collections.abc import Callable

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
        self.take(before.times, before.values)

    @property
    def held(self) -> NDArray[np.float64] | None:
        """The last row, with a value in every cell; None before the first."""
        return self._hold.last

    def take(
        self, times: NDArray[np.int64], values: NDArray[np.float64]
    ) -> Callable[[NDArray[np.intp]], NDArray[np.float64] | None]:
        """Take in the next rows.

        Parameters
        ----------
        times : ndarray of int64, shape (N,)
        values : ndarray of shape (N, d)
            NaN where missing.

        Returns
        -------
        callable
            Says how likely each variable is the origin of what some of these rows show, (n, d);
            each must have a full window since the start or the last gap. None where the model was
            saved by a version that learned nothing about origins.
        """
        model, window = self._model, self._model.window
        filled = self._fill(times, values)
        new = limit(model.preparation.standardiser.apply(filled), model.input_limit)
        rows = np.concatenate([self._scaled, new])
        first = len(self._scaled)
        self._scaled = rows[max(len(rows) - window + 1, 0) :].copy()
        reach = np.arange(1 - window, 1)

        def origins(asked: NDArray[np.intp]) -> NDArray[np.float64] | None:
            if model.mechanisms is None:
                return None
            return origin_rows(model, asked + first, lambda some: rows[some[:, None] + reach])

        return origins

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
