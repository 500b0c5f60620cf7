"""The small results that metrics give back."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

__all__ = ["BestF1", "Curve", "PrecisionRecall", "f1_of"]


@dataclass(frozen=True)
class PrecisionRecall:
    """Precision and recall of one set of alarms.

    Attributes
    ----------
    precision, recall : float
        Both between 0 and 1. Without any alarm both are 0.

    Examples
    --------
    >>> PrecisionRecall(precision=0.5, recall=1.0).f1
    0.6666666666666666
    """

    precision: float
    recall: float

    @property
    def f1(self) -> float:
        """The harmonic mean of precision and recall, 0 when both are 0."""
        both = self.precision + self.recall
        return 2.0 * self.precision * self.recall / both if both > 0 else 0.0


@dataclass(frozen=True)
class BestF1:
    """The best F1 that any threshold reaches: an oracle's choice, made with the labels.

    Attributes
    ----------
    f1, precision, recall : float
        The values at the best threshold.
    threshold : float
        Rows with ``score > threshold`` are the alarms. Of several best ones the highest.
    metric : str
        Which metric was meant.
    """

    f1: float
    precision: float
    recall: float
    threshold: float
    metric: str


@dataclass(frozen=True)
class Curve:
    """Precision and recall at every distinct threshold, highest threshold first.

    Attributes
    ----------
    threshold : ndarray of shape (k,)
        Rows with ``score > threshold[i]`` are the alarms: k distinct scores give k sets of
        alarms, from the highest score alone to all rows.
    precision, recall, f1 : ndarray of shape (k,)
        The values for these alarms.
    metric : str
        Which metric was meant.
    """

    threshold: NDArray[np.float64]
    precision: NDArray[np.float64]
    recall: NDArray[np.float64]
    f1: NDArray[np.float64]
    metric: str


def f1_of(precision: NDArray[np.float64], recall: NDArray[np.float64]) -> NDArray[np.float64]:
    """Harmonic mean of two arrays, 0 where both are 0.

    Examples
    --------
    >>> f1_of(np.array([0.0, 1.0]), np.array([0.0, 1.0]))
    array([0., 1.])
    """
    both = precision + recall
    return 2.0 * precision * recall / np.where(both > 0, both, 1.0)
