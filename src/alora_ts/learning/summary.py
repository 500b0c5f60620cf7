"""What training did, without clock times, so that equal fits give equal summaries."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

__all__ = ["TrainingSummary"]


@dataclass(frozen=True)
class TrainingSummary:
    """The course of a training.

    Attributes
    ----------
    error, penalty : tuple of float
        Mean squared error and low-rank penalty on the training windows, one value an epoch.
    validation : tuple of float
        The loss of Eq. 8 on the validation windows after each epoch.
    best_epoch : int
        Which epoch's weights were kept, counted from 1; 0 are the initial ones.
    stopped : {"finished", "early", "interrupted"}
        Why training ended.
    windows : int
        Training windows seen, repetitions included.
    """

    error: tuple[float, ...]
    penalty: tuple[float, ...]
    validation: tuple[float, ...]
    best_epoch: int
    stopped: Literal["finished", "early", "interrupted"]
    windows: int
