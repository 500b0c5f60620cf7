"""PCA as pyod scores it: distances to the eigenvectors, weighted by how little they explain."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from alora_ts.baselines.pyod_detector import PyodDetector
from alora_ts.errors import DataError

__all__ = ["PCA"]


@dataclass(kw_only=True, eq=False)
class PCA(PyodDetector):
    """Σ_k ‖x − v_k‖ / r_k over the principal directions v_k with variance shares r_k.

    Notes
    -----
    This is not a reconstruction error: each unit eigenvector is used as a point, and directions
    that explain little dominate. Variables that are constant in training, and directions without
    any variance (copies and exact sums of other variables), have r_k = 0 and would make every
    score infinite; they are left out. A variable that hardly moves in training still dominates.

    Examples
    --------
    >>> train = np.random.default_rng(0).normal(size=(100, 3))
    >>> train[:, 2] = 7.0
    >>> pca = PCA().fit(train)
    >>> bool(pca.score([[9.0, 9.0, 7.0]])[0] > pca.score([[0.0, 0.0, 7.0]])[0])
    True
    """

    def _training_values(self, values: NDArray[np.float64]) -> NDArray[np.float64]:
        self.moving_: NDArray[np.bool_] = np.ptp(values, axis=0) > 0
        if not self.moving_.any():
            raise DataError(
                "PCA needs a variable that moves in the training data, but all are constant there; "
                "give other training rows or choose another method"
            )
        return self._columns(values)

    def _columns(self, values: NDArray[np.float64]) -> NDArray[np.float64]:
        return values[:, self.moving_]

    def _model(self, values: NDArray[np.float64]) -> Any:
        from pyod.models import pca

        return pca.PCA(n_components=_rank(values), weighted=True, standardization=True)

    def _least_rows(self) -> int:
        return 2


def _rank(values: NDArray[np.float64]) -> int:
    """Count the directions with variance, as far as float32 rows can show."""
    centred = (values - values.mean(axis=0)) / values.std(axis=0)
    spread = np.linalg.eigvalsh(centred.T @ centred)
    return int((spread > len(spread) * np.finfo(np.float32).eps ** 2 * spread[-1]).sum())
