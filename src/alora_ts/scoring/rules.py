"""From evidence to one number a row: the paper's score, and the refined one that is our default."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from alora_ts.data.windows import segment_ages

__all__ = ["ScoreRule", "Scoring", "causal_mean"]

Scoring = Literal["joint", "refined", "paper", "error"]

_BLAME_FLOOR = 0.3
"""In multiples of the mean scale of all variables; measured in docs/quality.md."""


@dataclass(frozen=True)
class ScoreRule:
    """How squared residuals and rank become a raw score.

    Attributes
    ----------
    scoring : {"joint", "refined", "paper", "error"}
        "paper" is AS_t = ‖y_t − ŷ_t‖² · rank (Eq. 9). "error" is its first factor alone.
        "refined" divides each variable's squared residual by ``scale``, limits it to ``cap``,
        weighs it, sums, multiplies by the rank, and takes a causal mean over ``smoothing`` rows.
        "joint" hears a second witness: how much the row surprises those before it (the linear
        rules of :mod:`alora_ts.diagnosis.origins`), measured in the same way. Logarithms of the
        two are weighed 2 : 1, so that neither needs a unit.
        With a budget of false incidents a third one joins afterwards: how new the last rows are
        (:mod:`alora_ts.scoring.novelty`).
    scale : ndarray of shape (d,)
        Mean squared residual of each variable on normal rows, or ones.
    cap : float
        The most one variable can add at one row.
    smoothing : int
        Rows of the causal mean, 1 for none.
    weight : ndarray of shape (d,)
        What each variable counts in a refined or joint score.
    surprise_scale : ndarray of shape (d,) or None
        Mean squared surprise of each variable on normal rows; only a joint score needs it.
    observed, surprise_observed : ndarray of shape (d,) or None
        How many independent observations the two scales rest on; None: any number.

    Notes
    -----
    A square e in multiples of a scale that k observations have shown counts in a joint score as
    k · log(1 + e / k), which is e where k is large. It is the log-likelihood of a value whose
    variance is known from k others (Student's t): that a variable moves which had moved twice is
    less of a surprise than the same deviation of one that was watched for weeks.
    """

    scoring: Scoring
    scale: NDArray[np.float64]
    cap: float
    smoothing: int
    weight: NDArray[np.float64]
    surprise_scale: NDArray[np.float64] | None = None
    observed: NDArray[np.float64] | None = None
    surprise_observed: NDArray[np.float64] | None = None

    @property
    def relative(self) -> bool:
        """Whether errors are taken relative to normal ones."""
        return self.scoring in ("joint", "refined")

    def error(self, residual: NDArray[np.floating]) -> NDArray[np.float64]:
        """Per-variable error (N, d): squared residual, relative to normal when refined."""
        squared: NDArray[np.float64] = np.square(residual, dtype=np.float64)
        if self.relative:
            squared /= self.scale
            self._limit(squared, self.observed)
            squared *= self.weight
        return squared

    def _limit(self, squared: NDArray[np.float64], observed: NDArray[np.float64] | None) -> None:
        """Let squares in multiples of a scale count for as much as was observed, in place."""
        if observed is not None:
            squared /= observed
            np.log1p(squared, out=squared)
            squared *= observed
        np.minimum(squared, self.cap, out=squared)

    def blame(
        self, residual: NDArray[np.floating], scale: NDArray[np.float64] | None = None
    ) -> NDArray[np.float64]:
        """What each variable (N, d) gives a localization to go by.

        As :meth:`error`, but with a floor under the scales when refined. That a variable which
        hardly ever moves has moved says *when* very well; *which* are affected is better shown by
        sizes, and without the floor the quiet ones would always come first.

        Parameters
        ----------
        residual : ndarray of shape (N, d)
        scale : ndarray of shape (d,), optional
            Mean squares of such residuals on normal rows; the network's by default.
        """
        if not self.relative:
            return self.error(residual)
        normal = self.scale if scale is None else scale
        squared: NDArray[np.float64] = np.square(residual, dtype=np.float64)
        squared /= normal + _BLAME_FLOOR * normal.mean()
        return np.minimum(squared, self.cap, out=squared) * self.weight

    def surprise(self, residual: NDArray[np.floating]) -> NDArray[np.float64]:
        """How much rows surprise those before them, (N,), from the surprise of each variable."""
        assert self.surprise_scale is not None
        squared: NDArray[np.float64] = np.square(residual, dtype=np.float64)
        squared /= self.surprise_scale
        self._limit(squared, self.surprise_observed)
        total: NDArray[np.float64] = squared @ self.weight
        return total

    def raw(
        self,
        total: NDArray[np.float64],
        rank: NDArray[np.integer],
        segments: NDArray[np.integer] | None,
        surprise: NDArray[np.float64] | None = None,
    ) -> NDArray[np.float64]:
        """Raw score of each row (N,).

        From its error summed over the variables, its rank and, for a joint score, its surprise.
        """
        moment = self.moment(total, rank, surprise)
        return moment if self.rows == 1 else causal_mean(moment, self.rows, segments)

    @property
    def rows(self) -> int:
        """How many rows a raw score is the mean of: only relative ones are means at all."""
        return self.smoothing if self.relative else 1

    def moment(
        self,
        total: NDArray[np.float64],
        rank: NDArray[np.integer] | int,
        surprise: NDArray[np.float64] | None = None,
    ) -> NDArray[np.float64]:
        """What each row (N,) adds to a raw score, before the mean over rows."""
        if self.scoring == "error":
            return total
        seen = total * rank
        if surprise is None:
            return seen
        joint: NDArray[np.float64] = np.cbrt(np.square(seen) * surprise)
        return joint


def memory_segments(segments: NDArray[np.integer], warm_up: NDArray[np.bool_]) -> NDArray[np.int64]:
    """Segments for :func:`causal_mean`: no mean reaches back into warm-up rows.

    What is said of a warm-up row rests on rows that come after it, which a stream cannot know.
    """
    return segments.astype(np.int64) * 2 + warm_up


def causal_mean(
    series: NDArray[np.float64], width: int, segments: NDArray[np.integer] | None
) -> NDArray[np.float64]:
    """Mean of each row and the ``width - 1`` rows before it in the same segment.

    Parameters
    ----------
    series : ndarray of shape (N,) or (N, d)
    width : int
    segments : ndarray of int, shape (N,), or None

    Returns
    -------
    ndarray of the same shape

    Examples
    --------
    >>> causal_mean(np.array([1.0, 3.0, 5.0, 10.0]), 2, np.array([0, 0, 0, 1]))
    array([ 1.,  2.,  4., 10.])
    """
    n = len(series)
    age = segment_ages(n, segments)
    total: NDArray[np.float64] = series.astype(np.float64)
    # Adding the shifted rows keeps each mean exact; differences of a running sum would lose the
    # small values after a large one.
    for shift in range(1, width):
        reached = np.flatnonzero(age >= shift)
        total[reached] += series[reached - shift]
    count = np.minimum(age + 1, width)
    total /= count if series.ndim == 1 else count[:, None]
    return total
