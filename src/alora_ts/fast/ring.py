"""The stream engine: one row in, what the network says of the window that ends at it.

A ring and nothing else, allocated once. It is written twice, T places apart, so that every window
lies in one piece.
"""

from __future__ import annotations

import numpy as np
import torch
from numpy.typing import NDArray

from alora_ts.fast.engine import Engine
from alora_ts.fast.worker import LastRow

__all__ = ["Ring"]


class Ring:
    """The last T rows, ready to be looked at.

    Parameters
    ----------
    engine : Engine
    window : int
        T.
    variables : int
        d.
    """

    def __init__(self, engine: Engine, *, window: int, variables: int) -> None:
        self._worker = engine.worker()
        self._window = window
        self._rows = np.zeros((2 * window, variables), dtype=np.float32)
        self._tensor = torch.from_numpy(self._rows)
        self._place = 0

    @property
    def rows(self) -> NDArray[np.float32]:
        """The last T rows, oldest first; a view that the next push changes."""
        return self._rows[self._place : self._place + self._window]

    def restart(self, row: NDArray[np.float32]) -> None:
        """Forget everything: the window now repeats this row."""
        self._rows[:] = row
        self._place = 0

    def push(self, row: NDArray[np.float32]) -> None:
        """Let a row in and the oldest out."""
        at = self._place
        self._rows[at] = self._rows[at + self._window] = row
        self._place = (at + 1) % self._window

    def extend(self, rows: NDArray[np.float32]) -> None:
        """Let several rows in (n, d), as pushing them one by one would."""
        if len(rows) < self._window:
            for row in rows:
                self.push(row)
            return
        self._place = 0
        self._rows[: self._window] = self._rows[self._window :] = rows[-self._window :]

    def look(self) -> LastRow:
        """Expected last row (1, d) and last mean attention (1, T, T) of the window."""
        return self._worker.windows(self._tensor[None, self._place : self._place + self._window])
