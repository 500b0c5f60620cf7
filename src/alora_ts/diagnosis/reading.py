"""What a stream says of one row."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from alora_ts.diagnosis.returns import ReturnPeriod
from alora_ts.diagnosis.shares import shares

__all__ = ["Reading"]


@dataclass(frozen=True)
class Reading:
    """The score of one row of a stream, with what led to it.

    Attributes
    ----------
    timestamp : object
        As it was pushed; the row's number where none was.
    score : float
        Calibrated: in times of the alarm level.
    alarm : bool
        Whether the row alarms, see :mod:`alora_ts.diagnosis.alarms`.
    raw : float
    drift : float
        The factor by which drift had raised the threshold: score = raw / (h2 · drift).
    rank : int
    error, expected : ndarray of shape (d,)
    warm_up : bool
        Whether fewer rows than a window have come since the start (or the last gap).
    variables : tuple of str
    locate : callable
        Gives :attr:`localization`. Few rows are ever asked for it, and it takes as long as all
        else that follows the network's pass.
    returns : ReturnPeriod or None
        How often normal operation shows a peak as high; None where the model cannot tell.
    shift : float
        What was taken off the score as usual, in times of the alarm level.
    novelty : float
        How unlike any stretch of training the last rows are, 0 where they are as usual; see
        :mod:`alora_ts.scoring.novelty`.
    spread : float or None
        How many times wider than normal scores spread since a change of the system, by which the
        row was measured; None without one. See :mod:`alora_ts.scoring.change`.
    """

    timestamp: Any
    score: float
    alarm: bool
    raw: float
    drift: float
    rank: int
    error: NDArray[np.float64]
    expected: NDArray[np.float64]
    warm_up: bool
    variables: tuple[str, ...]
    locate: Callable[[], NDArray[np.float64]] = field(repr=False)
    returns: ReturnPeriod | None = None
    shift: float = 0.0
    novelty: float = 0.0
    spread: float | None = None

    @cached_property
    def localization(self) -> NDArray[np.float64]:
        """How much each variable is to blame, (d,)."""
        return self.locate()

    def __getstate__(self) -> dict[str, Any]:
        """What goes to another process: the localization, not the model that gives it."""
        return {**self.__dict__, "localization": self.localization, "locate": None}

    def culprits(self, most: int = 3) -> list[tuple[str, float]]:
        """The variables with the largest shares of the localization score."""
        part = shares(self.localization)
        order = np.argsort(-part, kind="stable")[:most]
        return [(self.variables[at], float(part[at])) for at in order]
