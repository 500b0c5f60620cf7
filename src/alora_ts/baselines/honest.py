"""Three trivial methods, to show what chance achieves."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from alora_ts.baselines.detector import Capabilities, Detector
from alora_ts.baselines.inputs import Rows
from alora_ts.progress import Report

__all__ = ["AlwaysAlarm", "Norm", "Random"]


@dataclass(kw_only=True, eq=False)
class Random(Detector):
    """Scores drawn uniformly from [0, 1), whatever the data.

    Parameters
    ----------
    seed : int
        Of the draws; scoring again gives the same scores.

    Examples
    --------
    >>> Random().fit(np.zeros((3, 2))).score_variables(np.zeros((4, 2))).shape
    (4, 2)
    """

    seed: int = field(default=0, metadata={"least": 0})

    capabilities: ClassVar[Capabilities] = Capabilities(localizes=True)

    def _fit(self, rows: Rows, report: Report) -> None:
        del rows, report  # nothing is learned

    def _score(self, rows: Rows, report: Report) -> NDArray[Any]:
        del report
        return np.random.default_rng(self.seed).random(len(rows))

    def _score_variables(self, rows: Rows, report: Report) -> NDArray[Any]:
        del report
        return np.random.default_rng(self.seed).random(rows.values.shape)


@dataclass(kw_only=True, eq=False)
class AlwaysAlarm(Detector):
    """The same score for every row and every variable.

    Examples
    --------
    >>> AlwaysAlarm().fit(np.zeros((3, 2))).score(np.zeros((2, 2)))
    array([1., 1.])
    """

    capabilities: ClassVar[Capabilities] = Capabilities(localizes=True)

    def _fit(self, rows: Rows, report: Report) -> None:
        del rows, report  # nothing is learned

    def _score(self, rows: Rows, report: Report) -> NDArray[Any]:
        del report
        return np.ones(len(rows))

    def _score_variables(self, rows: Rows, report: Report) -> NDArray[Any]:
        del report
        return np.ones(rows.values.shape)


@dataclass(kw_only=True, eq=False)
class Norm(Detector):
    """How far a standardised row is from the mean of training: ‖x‖; per variable x².

    Examples
    --------
    >>> norm = Norm().fit(np.array([[0.0, 0.0], [2.0, 2.0]]))
    >>> norm.score(np.array([[4.0, 5.0]])), norm.score_variables(np.array([[4.0, 5.0]]))
    (array([5.]), array([[ 9., 16.]]))
    """

    capabilities: ClassVar[Capabilities] = Capabilities(localizes=True)

    def _fit(self, rows: Rows, report: Report) -> None:
        del rows, report  # mean and spread are learned with the input's scales

    def _score(self, rows: Rows, report: Report) -> NDArray[Any]:
        del report
        lengths: NDArray[np.float64] = np.linalg.norm(rows.values.astype(np.float64), axis=1)
        return lengths

    def _score_variables(self, rows: Rows, report: Report) -> NDArray[Any]:
        del report
        squares: NDArray[np.float64] = rows.values.astype(np.float64) ** 2
        return squares
