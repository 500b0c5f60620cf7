"""The stream engine: one row in, what the network says of the window that ends at it.

Rings and nothing else, allocated once. The ring of rows is written twice, T places apart, so that
every window lies in one piece. ONNX Runtime looks at it where it is installed
(:mod:`alora_ts.scoring.runtime`). Without it, where overlapping windows share work
(:mod:`alora_ts.scoring.overlap`), a second ring holds the projections of the last T rows: a new row
is projected once and serves the T windows it will be part of.
"""

from __future__ import annotations

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from alora_ts.scoring.engine import Engine
from alora_ts.scratch import Scratch

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
        self._engine = engine
        self._window = window
        self._rows = np.zeros((2 * window, variables), dtype=np.float32)
        self._tensor = torch.from_numpy(self._rows)
        self._place = 0
        self._scratch = Scratch()
        folded = engine.folded
        # On a GPU the rows would travel twice; there the window is looked at as a whole.
        in_torch = engine.on_processor and engine.runtime is None
        shared = folded is not None and folded.overlap is not None and in_torch
        self._folded = folded if shared else None
        self._projected: Tensor | None = None
        if self._folded is not None and self._folded.overlap is not None:
            self._projected = self._folded.overlap.project(self._tensor[:window], Scratch())

    @property
    def rows(self) -> NDArray[np.float32]:
        """The last T rows, oldest first; a view that the next push changes."""
        return self._rows[self._place : self._place + self._window]

    def restart(self, row: NDArray[np.float32]) -> None:
        """Forget everything: the window now repeats this row."""
        self._rows[:] = row
        self._place = 0
        self._project(slice(0, self._window))

    def push(self, row: NDArray[np.float32]) -> None:
        """Let a row in and the oldest out."""
        at = self._place
        self._rows[at] = self._rows[at + self._window] = row
        self._place = (at + 1) % self._window
        self._project(slice(at, at + 1))

    def extend(self, rows: NDArray[np.float32]) -> None:
        """Let several rows in (n, d), as pushing them one by one would."""
        if len(rows) < self._window:
            for row in rows:
                self.push(row)
            return
        self._place = 0
        self._rows[: self._window] = self._rows[self._window :] = rows[-self._window :]
        self._project(slice(0, self._window))

    def look(self) -> tuple[Tensor, Tensor]:
        """Expected last row (1, d) and last mean attention (1, T, T) of the window."""
        window = self._tensor[None, self._place : self._place + self._window]
        if self._folded is None or self._projected is None:
            return self._engine.last_rows(window)
        last = self._folded.newest(window, self._projected, self._place)
        return last.expected, last.attention

    def _project(self, places: slice) -> None:
        if self._folded is not None and self._projected is not None:
            assert self._folded.overlap is not None
            self._projected[places] = self._folded.overlap.project(
                self._tensor[places], self._scratch
            )
