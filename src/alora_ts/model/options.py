"""Every choice of a fit, checked."""

from __future__ import annotations

from dataclasses import dataclass
from typing import get_args

from alora_ts.data.options import PreparationOptions
from alora_ts.errors import AloraError, nearest
from alora_ts.learning import Training
from alora_ts.model.fitted import DiagnosisOptions
from alora_ts.model.localize import FORMS
from alora_ts.network import Architecture
from alora_ts.scoring import AlarmOptions, CalibrationOptions
from alora_ts.scoring.budget import parse_budget
from alora_ts.scoring.rules import Scoring

__all__ = ["FitOptions"]


@dataclass(frozen=True, kw_only=True)
class FitOptions:
    """Every choice of a fit. See :class:`alora_ts.ALoRa` for each."""

    window: int
    pairs: int | None
    architecture: Architecture
    preparation: PreparationOptions
    training: Training
    epochs: int
    epoch_windows: int
    contamination: float
    scoring: Scoring
    calibration: CalibrationOptions
    alarms: AlarmOptions
    diagnosis: DiagnosisOptions
    seed: int
    device: str

    @property
    def hears_all(self) -> bool:
        """Whether a joint score is calibrated by a budget; others stay as they were in 0.1."""
        return self.scoring == "joint" and not self.alarms.outdated

    def __post_init__(self) -> None:
        at_least = {
            "window": (self.window, 2),
            "layers": (self.architecture.layers, 1),
            "heads": (self.architecture.heads, 1),
            "epochs": (self.epochs, 1),
            "epoch_windows": (self.epoch_windows, 1),
            "batch_size": (self.training.batch_size, 1),
            "smoothing": (self.calibration.smoothing, 1),
            "localization_memory": (self.diagnosis.localization_memory, 1),
        }
        for name, (value, least) in at_least.items():
            if value < least:
                raise AloraError(f"{name}={value} is too small; give at least {least}")
        if self.scoring not in get_args(Scoring):
            raise AloraError(
                f"unknown scoring {self.scoring!r}{nearest(self.scoring, get_args(Scoring))}"
            )
        localization = self.diagnosis.localization
        if localization not in FORMS:
            raise AloraError(f"unknown localization {localization!r}{nearest(localization, FORMS)}")
        if self.pairs is not None and self.pairs < 1:
            raise AloraError(f"pairs={self.pairs} is too small; give at least 1, or None for all")
        share = self.training.validation_share
        if not 0 < share < 0.9:
            raise AloraError(f"validation_share={share} must lie between 0 and 0.9")
        if not 0 <= self.contamination < 0.5:
            raise AloraError(f"contamination={self.contamination} must lie between 0 and 0.5")
        parse_budget(self.alarms.false_alarms)
        if self.alarms.drift_memory < 0:
            raise AloraError("drift_memory must be 0 (for a fixed threshold) or more")
        if self.architecture.input_limit <= 0:
            raise AloraError(f"input_limit={self.architecture.input_limit} must be positive")
