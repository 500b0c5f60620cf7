"""OC-SVM: on which side of a boundary around the training rows, and how far."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from alora_ts.baselines.detector import Presets
from alora_ts.baselines.pyod_detector import PyodDetector

__all__ = ["OCSVM"]


@dataclass(kw_only=True, eq=False)
class OCSVM(PyodDetector):
    """One-class support vector machine with a Gaussian kernel of width γ = 1/d.

    Parameters
    ----------
    nu : float
        Bound on the share of training rows outside the boundary.
    max_train_rows : int
        Learn from at most this many rows, evenly spaced: time and memory grow with the square.

    Examples
    --------
    >>> train = np.random.default_rng(0).normal(size=(100, 2))
    >>> machine = OCSVM().fit(train)
    >>> bool(machine.score([[9.0, 9.0]])[0] > machine.score([[0.0, 0.0]])[0])
    True
    """

    nu: float = 0.5
    max_train_rows: int = 20_000

    presets: ClassVar[Presets] = {"paper": {}, "cpu": {"max_train_rows": 5_000}}

    def _model(self, values: NDArray[np.float64]) -> Any:
        del values
        from pyod.models import ocsvm

        return ocsvm.OCSVM(kernel="rbf", gamma="auto", nu=self.nu, tol=1e-3)

    def _training_values(self, values: NDArray[np.float64]) -> NDArray[np.float64]:
        if len(values) <= self.max_train_rows:
            return values
        kept = np.linspace(0, len(values) - 1, self.max_train_rows).round().astype(np.intp)
        return values[kept]
