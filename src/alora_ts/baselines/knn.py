"""KNN: the distance to the k-th nearest training row."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from alora_ts.baselines.pyod_detector import PyodDetector

__all__ = ["KNN"]


@dataclass(kw_only=True, eq=False)
class KNN(PyodDetector):
    """Euclidean distance from a row to its k-th nearest training row.

    Parameters
    ----------
    neighbours : int
        k.

    Examples
    --------
    >>> train = np.array([[0.0], [2.0], [0.0], [2.0]])  # standardised: -1, 1, -1, 1
    >>> KNN(neighbours=3).fit(train).score(np.array([[4.0]]))
    array([4.])
    """

    neighbours: int = 5

    def _model(self, values: NDArray[np.float64]) -> Any:
        del values
        from pyod.models import knn

        return knn.KNN(n_neighbors=self.neighbours, method="largest", metric="minkowski", p=2)

    def _least_rows(self) -> int:
        return self.neighbours + 1  # training scores leave the row itself out
