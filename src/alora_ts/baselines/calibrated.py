"""Any detector on the common scale: above 1 alarms, by the same code as ALoRa's threshold."""

from __future__ import annotations

from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray

from alora_ts.baselines.detector import Detector
from alora_ts.data import as_table
from alora_ts.errors import AloraError, DataError, NotFittedError
from alora_ts.progress import Progress
from alora_ts.scoring.threshold import ALARM_SHARE, Threshold, ThresholdRule, choose_threshold

__all__ = ["Calibrated"]


class Calibrated:
    """A detector whose scores are divided by a threshold from held-back normal rows.

    Parameters
    ----------
    detector : Detector
        Unfitted; it is fitted on all but the held-back rows.
    held_back : float
        Share of the training rows, the last ones, that only the threshold sees.
    rule, alarm_share
        See :func:`alora_ts.scoring.choose_threshold`.

    Attributes
    ----------
    threshold_ : Threshold

    Examples
    --------
    >>> from alora_ts.baselines import get
    >>> from alora_ts.diagnosis.alarms import Alarms
    >>> train = np.random.default_rng(0).normal(size=(2000, 3))
    >>> calibrated = Calibrated(get("norm"), alarm_share=0.01).fit(train)
    >>> bool(0.002 < Alarms().take(calibrated.score(train)).mean() < 0.05)
    True
    """

    def __init__(
        self,
        detector: Detector,
        *,
        held_back: float = 0.1,
        rule: ThresholdRule = "tail",
        alarm_share: float = ALARM_SHARE,
    ) -> None:
        self.detector = detector
        self.held_back = held_back
        self.rule: ThresholdRule = rule
        self.alarm_share = alarm_share

    def fit(
        self, train: Any, *, segments: ArrayLike | None = None, progress: Progress = None
    ) -> Self:
        """Fit the detector on the first rows and the threshold on the last ones."""
        if not 0 < self.held_back < 0.9:
            raise AloraError(f"held_back={self.held_back} must lie between 0 and 0.9")
        table = as_table(train)
        cut = round(len(table) * (1 - self.held_back))
        if not 0 < cut < len(table):
            raise DataError(
                f"{len(table)} rows cannot be parted into training and held-back rows; give more"
            )
        parts = None if segments is None else np.asarray(segments)
        self.detector.fit(
            table.slice(0, cut), segments=None if parts is None else parts[:cut], progress=progress
        )
        scores = self.detector.score(
            table.slice(cut, len(table)),
            segments=None if parts is None else parts[cut:],
            progress=progress,
        )
        self.threshold_: Threshold = choose_threshold(
            scores, rule=self.rule, alarm_share=self.alarm_share
        )
        return self

    def score(
        self, x: Any, *, segments: ArrayLike | None = None, progress: Progress = None
    ) -> NDArray[np.float64]:
        """Score every row; above 1 alarms."""
        if not hasattr(self, "threshold_"):
            raise NotFittedError("this detector is not calibrated yet; call fit first")
        scores = self.detector.score(x, segments=segments, progress=progress)
        return scores / self.threshold_.value
