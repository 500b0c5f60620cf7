"""ALoRa as a detector of PyOD, beside its many others."""

from __future__ import annotations

from typing import Any, Self

import numpy as np
from numpy.typing import NDArray
from pyod.models.base import BaseDetector

from alora_ts.estimator import ALoRa

__all__ = ["ALoRaOD"]


class ALoRaOD(BaseDetector):  # type: ignore[misc]
    """PyOD's interface around ALoRa.

    Rows are a time series: they are in the order of time, and each is judged by those before it.

    Parameters
    ----------
    estimator : ALoRa, optional
        What is fitted, with its settings; None takes the defaults.
    contamination : float
        PyOD's: the share of the *training* rows above ``threshold_``, by which ``predict`` judges.
        ALoRa's own level, chosen on held-back rows, is 1 on the scale of ``decision_function``.

    Attributes
    ----------
    estimator_ : ALoRa
        The fitted model, for ``diagnose``, ``stream`` and ``save``.
    decision_scores_, threshold_, labels_
        As PyOD defines them.

    Examples
    --------
    >>> rng = np.random.default_rng(0)
    >>> load = np.cumsum(rng.normal(size=400))
    >>> x = np.column_stack([load, 2 * load]) + 0.1 * rng.normal(size=(400, 2))
    >>> quick = ALoRa(window=8, epochs=1, epoch_windows=320)
    >>> detector = ALoRaOD(quick, contamination=0.05).fit(x[:300])
    >>> today = x[300:].copy()
    >>> today[60:70, 1] += 50
    >>> detector.predict(today)[60:65]
    array([1, 1, 1, 1, 1])
    """

    def __init__(self, estimator: ALoRa | None = None, contamination: float = 0.1) -> None:
        super().__init__(contamination=contamination)
        self.estimator = estimator

    def fit(self, X: Any, y: Any = None) -> Self:
        """Learn normal behaviour; ``y`` is ignored."""
        self._set_n_classes(y)
        chosen = ALoRa() if self.estimator is None else self.estimator
        self.estimator_ = chosen.clone().fit(X, progress=False)
        self.decision_scores_ = self.decision_function(X)
        self._process_decision_scores()
        return self

    def decision_function(self, X: Any) -> NDArray[np.float64]:
        """The calibrated score of each row: higher is more anomalous."""
        return self.estimator_.score(X, progress=False)
