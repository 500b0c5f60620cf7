"""From windows to a trained network."""

from alora_ts.learning.callbacks import Callback, EpochEnd
from alora_ts.learning.loop import train
from alora_ts.learning.options import Training
from alora_ts.learning.summary import TrainingSummary

__all__ = ["Callback", "EpochEnd", "Training", "TrainingSummary", "train"]
