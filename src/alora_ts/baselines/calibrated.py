"""Any detector on the common scale: above 1 alarms, by the same code as ALoRa's level."""

from __future__ import annotations

from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray

from alora_ts.baselines.detector import Detector
from alora_ts.data import as_table
from alora_ts.data.record import Table
from alora_ts.errors import AloraError, DataError, NotFittedError
from alora_ts.model.fit import hold_back
from alora_ts.progress import Progress
from alora_ts.scoring.drift import summarise
from alora_ts.scoring.following import Following
from alora_ts.scoring.level import AlarmOptions, choose_level
from alora_ts.scoring.threshold import Threshold

__all__ = ["Calibrated"]

_LEAST = 1e-12


class Calibrated:
    """A detector whose scores are measured against a level from held-back normal rows.

    Parameters
    ----------
    detector : Detector
        Unfitted; it is fitted on all but the held-back rows.
    held_back : float
        Share of the training rows that only the level sees: the same blocks as ALoRa's, spread over
        all of training, each scored with the rows before it as its past.
    alarms : AlarmOptions
        When a score alarms.
    gap : int
        Alarms with at most so many quiet rows between them are one incident.
    rows_per_day : float, optional
        How many rows a day has, where the budget is in days.

    Attributes
    ----------
    threshold_ : Threshold

    Notes
    -----
    Scores may be negative, as some methods' are; what counts is how far they lie above the lowest
    of the held-back rows.

    Examples
    --------
    >>> from alora_ts.baselines import get
    >>> from alora_ts.diagnosis.alarms import Alarms
    >>> train = np.random.default_rng(0).normal(size=(2000, 3))
    >>> calibrated = Calibrated(get("norm")).fit(train)
    >>> int(Alarms().take(calibrated.score(train)).sum()) < 10
    True
    """

    def __init__(
        self,
        detector: Detector,
        *,
        held_back: float = 0.2,
        alarms: AlarmOptions | None = None,
        gap: int = 10,
        rows_per_day: float | None = None,
    ) -> None:
        self.detector = detector
        self.held_back = held_back
        self.alarms = AlarmOptions() if alarms is None else alarms
        self.gap = gap
        self.rows_per_day = rows_per_day

    def fit(
        self, train: Any, *, segments: ArrayLike | None = None, progress: Progress = None
    ) -> Self:
        """Fit the detector on most rows and the level on those held back."""
        if not 0 < self.held_back < 0.9:
            raise AloraError(f"held_back={self.held_back} must lie between 0 and 0.9")
        table = as_table(train)
        window = int(getattr(self.detector, "window", 1))
        held = hold_back(len(table), self.held_back, window=window)
        if not held.any() or held.all():
            raise DataError(
                f"{len(table)} rows cannot be parted into training and held-back rows; give more"
            )
        parts = np.zeros(len(table), dtype=np.int64) if segments is None else np.asarray(segments)
        # What follows a block does not continue what came before it.
        broken = np.cumsum(np.r_[False, (np.diff(parts) != 0) | (np.diff(held) != 0)])
        learned = np.flatnonzero(~held)
        self.detector.fit(table.take(learned), segments=broken[learned], progress=progress)
        scores, blocks = self._held_back(table, held, parts, window, progress)
        self._floor = min(float(scores.min()), 0.0)
        raw = np.maximum(scores - self._floor, _LEAST)
        self.threshold_: Threshold = choose_level(
            raw, blocks, alarms=self.alarms, gap=self.gap, rows_per_day=self.rows_per_day
        )
        self._normal = summarise(raw)
        return self

    def _held_back(
        self,
        table: Table,
        held: NDArray[np.bool_],
        parts: NDArray[Any],
        window: int,
        progress: Progress,
    ) -> tuple[NDArray[np.float64], NDArray[np.int64]]:
        """Scores of the held-back rows and the block of each."""
        edges = np.flatnonzero(np.diff(np.r_[False, held, False]))
        scores, blocks = [], []
        whole = None
        if self.detector.capabilities.whole_segments:
            # In a short block a row would have another score than in a series to be watched.
            whole = self.detector.score(table, segments=parts, progress=progress)
        for number, (start, stop) in enumerate(zip(edges[::2], edges[1::2], strict=True)):
            first = max(int(start) - window + 1, 0)
            shown = slice(first, int(stop))
            found = (
                self.detector.score(
                    table.slice(first, int(stop)), segments=parts[shown], progress=progress
                )
                if whole is None
                else whole[shown]
            )
            scores.append(found[int(start) - first :])
            blocks.append(parts[start:stop] + number * (int(parts.max()) + 1))
        return np.concatenate(scores), np.concatenate(blocks)

    def score(
        self, x: Any, *, segments: ArrayLike | None = None, progress: Progress = None
    ) -> NDArray[np.float64]:
        """Score every row; above 1 alarms."""
        if not hasattr(self, "threshold_"):
            raise NotFittedError("this detector is not calibrated yet; call fit first")
        scores = self.detector.score(x, segments=segments, progress=progress)
        raw = np.maximum(scores - self._floor, _LEAST)
        level = self.threshold_
        followed = Following(
            self._normal,
            memory=self.alarms.drift_memory,
            level=level.value,
            each=level.each,
            gap=self.gap,
        )
        parts = followed.follow(raw, np.zeros(len(raw), dtype=bool))
        calibrated: NDArray[np.float64] = raw / (level.value * parts)
        return calibrated
