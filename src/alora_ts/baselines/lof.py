"""LOF: how much sparser a row's surroundings are than its neighbours'."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from alora_ts.baselines.pyod_detector import PyodDetector

__all__ = ["LOF"]


@dataclass(kw_only=True, eq=False)
class LOF(PyodDetector):
    """Local outlier factor against the training rows; about 1 for an ordinary row.

    Parameters
    ----------
    neighbours : int
        How many neighbours make the surroundings. More equal training rows than that have zero
        distances and make factors of up to 1e10 around them; they stay finite.

    Examples
    --------
    >>> train = np.random.default_rng(0).normal(size=(100, 2))
    >>> lof = LOF().fit(train)
    >>> bool(lof.score([[9.0, 9.0]])[0] > 3 > lof.score([[0.0, 0.0]])[0])
    True
    """

    neighbours: int = 20

    def _model(self, values: NDArray[np.float64]) -> Any:
        del values
        from pyod.models import lof

        return lof.LOF(n_neighbors=self.neighbours, novelty=True)

    def _least_rows(self) -> int:
        return self.neighbours + 1
