"""The newest rows of a source as its model sees them, to look at whole windows again."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from alora_ts.data.cycle import Tracker
from alora_ts.data.hold import RowHold
from alora_ts.diagnosis.builder import Details
from alora_ts.estimator import ALoRa
from alora_ts.model.fitted import limit
from alora_ts.model.localize import row_surprises, surprises_within
from alora_ts.serve.scoring.restore import gap_micros
from alora_ts.serve.store.rows import RowBlock

__all__ = ["Past"]


class Past:
    """Follows a source's rows, as a stream does, and says what incidents are explained by.

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
        self._filled = np.zeros((0, len(self._model.preparation.variables)))
        self._course = np.zeros_like(self._filled)
        self._tracker = None if self._model.cycle is None else Tracker(self._model.cycle)
        self._times = np.zeros(0, dtype=np.int64)
        self.take(before.times, before.values)

    @property
    def held(self) -> NDArray[np.float64] | None:
        """The last row less its cycle, with a value in every cell; None before the first."""
        return self._hold.last

    def take(
        self, times: NDArray[np.int64], values: NDArray[np.float64]
    ) -> Callable[[NDArray[np.intp]], Details]:
        """Take in the next rows.

        Parameters
        ----------
        times : ndarray of int64, shape (N,)
        values : ndarray of shape (N, d)
            NaN where missing.

        Returns
        -------
        callable
            Gives what an incident builder asks of some of these rows; each must have a full
            window since the start or the last gap.
        """
        model, window = self._model, self._model.window
        first = len(self._times)
        fresh, taken = self._fill(times, values)
        filled = np.concatenate([self._filled, fresh])
        course = np.concatenate([self._course, taken])
        stamps = np.concatenate([self._times, times])
        seen = limit(model.preparation.standardiser.apply(filled), model.input_limit)
        kept = slice(max(len(filled) - window + 1, 0), None)
        self._filled, self._times = filled[kept].copy(), stamps[kept].copy()
        self._course = course[kept].copy()
        reach = np.arange(1 - window, 1)

        def before(row: int) -> tuple[NDArray[Any], NDArray[Any], NDArray[Any], NDArray[Any]]:
            earlier = row + reach[:-1]
            surprise = surprises_within(model, seen[row + reach])[:-1]
            return filled[earlier], surprise, stamps[earlier], course[earlier]

        def details(asked: NDArray[np.intp]) -> Details:
            rows = asked + first
            return Details(
                values=filled[rows],
                surprise=row_surprises(model, rows, lambda some: seen[some[:, None] + reach]),
                judge=model.judge,
                before=lambda at: before(int(rows[at])),
                course=course[rows],
            )

        return details

    def _fill(
        self, times: NDArray[np.int64], values: NDArray[np.float64]
    ) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        """Rows less their cycle, and that.

        A missing cell has the last value since the last gap, or the usual one.
        """
        filled, course = np.empty_like(values), np.zeros_like(values)
        for at, time in enumerate(times.tolist()):
            passed = None if self._last_time is None else time - self._last_time
            if self._gap is not None and passed is not None and passed > self._gap:
                self._hold.restart()
            if self._tracker is not None:
                course[at] = self._tracker.course(values[at], time, anew=self._hold.last is None)
            filled[at] = self._hold.fill(values[at] - course[at])
            self._last_time = time
        return filled, course
