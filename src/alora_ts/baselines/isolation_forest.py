"""Isolation forest: how few random cuts set a row apart."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from alora_ts.baselines.pyod_detector import PyodDetector

__all__ = ["IsolationForest"]


@dataclass(kw_only=True, eq=False)
class IsolationForest(PyodDetector):
    """Mean path length in random trees, turned so that short paths score high.

    Parameters
    ----------
    trees : int
        How many; each sees 256 training rows (all, when there are fewer).
    seed : int
        Of the trees.

    Examples
    --------
    >>> train = np.random.default_rng(0).normal(size=(300, 2))
    >>> forest = IsolationForest().fit(train)
    >>> bool(forest.score([[9.0, 9.0]])[0] > forest.score([[0.0, 0.0]])[0])
    True
    """

    trees: int = 100
    seed: int = field(default=0, metadata={"least": 0})

    def _model(self, values: NDArray[np.float64]) -> Any:
        del values
        from pyod.models.iforest import IForest

        return IForest(
            n_estimators=self.trees, max_samples="auto", max_features=1.0, random_state=self.seed
        )
