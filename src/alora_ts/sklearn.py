"""ALoRa as scikit-learn's tools expect an outlier detector.

:class:`~alora_ts.ALoRa` answers ``score(X)`` with one number a row, scikit-learn's tools want one
number in all, with larger better. This adapter stands between them, so that ``Pipeline``,
``GridSearchCV`` and ``cross_val_score`` work. It needs scikit-learn 1.6 or later.
"""

from __future__ import annotations

from typing import Any, Self

import numpy as np
from numpy.typing import NDArray
from sklearn.base import BaseEstimator, OutlierMixin, TransformerMixin
from sklearn.utils.validation import _check_feature_names_in, check_is_fitted, validate_data

from alora_ts.diagnosis import Diagnosis
from alora_ts.errors import AloraError
from alora_ts.estimator import ALoRa
from alora_ts.metrics import auc_pr

__all__ = ["EXPECTED_FAILED_CHECKS", "ALoRaDetector"]

EXPECTED_FAILED_CHECKS = {
    "check_methods_subset_invariance": "a row is judged by the rows before it",
    "check_methods_sample_order_invariance": "the order of rows is the order of time",
}
"""For ``sklearn.utils.estimator_checks.check_estimator``: what contradicts a time series."""


class ALoRaDetector(OutlierMixin, TransformerMixin, BaseEstimator):  # type: ignore[misc]
    """An outlier detector of scikit-learn around ALoRa.

    Rows are a time series: they are in the order of time, and each is judged by those before it.
    Split them with ``TimeSeriesSplit``, never at random.

    Parameters
    ----------
    estimator : ALoRa, optional
        What is fitted, with its settings; they are reached as ``estimator__window``. None takes
        the defaults.

    Attributes
    ----------
    estimator_ : ALoRa
        The fitted model, for ``diagnose``, ``stream`` and ``save``.
    offset_ : float
        −1: ``decision_function`` is ``score_samples`` minus it.
    n_features_in_ : int
    feature_names_in_ : ndarray of str
        Where the columns had names.

    Examples
    --------
    >>> from sklearn.pipeline import make_pipeline
    >>> from sklearn.preprocessing import RobustScaler
    >>> rng = np.random.default_rng(0)
    >>> load = np.cumsum(rng.normal(size=400))
    >>> x = np.column_stack([load, 2 * load]) + 0.1 * rng.normal(size=(400, 2))
    >>> quick = ALoRaDetector(ALoRa(window=8, epochs=1, epoch_windows=320))
    >>> pipe = make_pipeline(RobustScaler(), quick).fit(x[:300])
    >>> today = x[300:].copy()
    >>> today[60:70, 1] += 50
    >>> pipe.predict(today)[62:66]
    array([-1, -1, -1, -1])
    """

    def __init__(self, estimator: ALoRa | None = None) -> None:
        self.estimator = estimator

    def fit(self, X: Any, y: Any = None) -> Self:  # noqa: ARG002  (scikit-learn passes it)
        """Learn normal behaviour; ``y`` is ignored."""
        checked = self._check(X, reset=True)
        chosen = ALoRa() if self.estimator is None else self.estimator
        self.estimator_ = chosen.clone().fit(checked, progress=False)
        self.offset_ = -1.0
        return self

    def score_samples(self, X: Any) -> NDArray[np.float64]:
        """Minus the calibrated score of each row: lower is more anomalous."""
        found = self._diagnose(X)
        # Rows without a full window behind them never alarm.
        held = np.where(found.warm_up, np.minimum(found.score, 1.0), found.score)
        return -held

    def decision_function(self, X: Any) -> NDArray[np.float64]:
        """How far each row is from alarming: below 0 it alarms."""
        return self.score_samples(X) - self.offset_

    def predict(self, X: Any) -> NDArray[np.int64]:
        """−1 for rows that alarm, 1 for others."""
        return np.where(self.decision_function(X) < 0, -1, 1)

    def transform(self, X: Any) -> NDArray[np.float64]:
        """How much each variable is to blame at each row, (N, d)."""
        return self._diagnose(X).localization.astype(np.float64)

    def get_feature_names_out(self, input_features: Any = None) -> NDArray[np.object_]:
        """The names of what :meth:`transform` gives: those of the variables."""
        check_is_fitted(self)
        names: NDArray[np.object_] = _check_feature_names_in(self, input_features)
        return names

    def score(self, X: Any, y: Any = None) -> float:
        """One number, larger better.

        With ``y`` (−1 or 1 as :meth:`predict` gives them, or 0 and 1 with 1 for anomalous) the area
        under the precision-recall curve. Without, minus the mean squared difference of values and
        what was expected, in normal deviations: it says how well the rows are predicted, not
        how well anomalies are found.
        """
        found = self._diagnose(X)
        if y is not None:
            marks = np.asarray(y)
            truth = marks < 0 if (marks < 0).any() else marks > 0
            return float(auc_pr(truth, found.score))
        scale = self.estimator_.model_.preparation.standardiser.scale
        return -float(np.mean(((found.values - found.expected) / scale) ** 2))

    def _diagnose(self, X: Any) -> Diagnosis:
        check_is_fitted(self)
        return self.estimator_.diagnose(self._check(X, reset=False), progress=False)

    def _check(self, X: Any, *, reset: bool) -> Any:
        """Scikit-learn's checks; a pandas frame stays one, for the times in its index."""
        array = validate_data(
            self,
            X,
            reset=reset,
            dtype=np.float64,
            ensure_all_finite="allow-nan",
            ensure_min_samples=2 if reset else 1,
        )
        if np.isinf(array).any():
            raise AloraError("the rows hold infinity; correct these cells or make them NaN")
        stamps = getattr(getattr(X, "index", None), "dtype", None)
        return X if getattr(stamps, "kind", "") == "M" else array

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.allow_nan = True
        return tags
