"""From a trained network to scores: rank, error, calibration; batch and stream."""

from alora_ts.scoring.calibration import Calibration, CalibrationOptions, calibrate
from alora_ts.scoring.evidence import Evidence, gather_evidence, walk
from alora_ts.scoring.level import AlarmOptions, choose_level
from alora_ts.scoring.rules import ScoreRule
from alora_ts.scoring.threshold import Threshold, choose_threshold

__all__ = [
    "AlarmOptions",
    "Calibration",
    "CalibrationOptions",
    "Evidence",
    "ScoreRule",
    "Threshold",
    "calibrate",
    "choose_level",
    "choose_threshold",
    "gather_evidence",
    "walk",
]
