"""How a variable usually behaves: its range, how sure that is, and what the others imply of it.

A deviation needs a scale. The standard deviation of the normal rows alone will not do: a gauge
that moved twice in training has a tiny one, and when it moves a third time it seems thousands of
deviations away. What tells such a scale from a sure one is neither the unit nor where zero lies,
but how much was observed. With k independent observations behind a standard deviation s, the true
one is with 99.5 % confidence at most

    s · √(k / χ²_0.005(k)),

14 times s for k = 2, 1.8 times for k = 15, s itself for many. k is the smaller of the number of
changes and the number of rows divided by the time the variable takes to forget. That limit is the
scale.

What the others imply of a variable is its mean given theirs, in closed form from the covariance of
the normal rows, so that any set of variables can be left out of the judgement. How far to believe
it was measured for each variable on rows held back.
"""

from __future__ import annotations

import dataclasses
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray
from scipy.special import gammaincinv

from alora_ts.data.scaling import within
from alora_ts.scoring.observations import STILL, observations

__all__ = ["Usual", "learn_usual"]

Array = NDArray[np.float64]

_CONFIDENCE = 0.995
_RIDGES = (0.003, 0.01, 0.03, 0.1, 0.3, 1.0, 3.0)
_MOST_ROWS = 20_000
_MOST_VARIABLES = 1000  # beyond it no relations are learned: the matrix would outgrow the network
_LEAST_SIZE = 0.05  # scaled units: a smaller deviation from what others imply is no evidence


@dataclass(frozen=True, eq=False)
class Usual:
    """What normal rows say of each variable, in scaled units.

    Attributes
    ----------
    centre, spread, low, high : ndarray of shape (d,)
        Mean, standard deviation, smallest and largest value.
    observed : ndarray of shape (d,)
        k, independent observations; 0 for a variable that never moved.
    covariance : ndarray of float32, shape (d, d)
        Of the rows within the network's limit; of shape (0, 0) where variables are too many.
    ridge : ndarray of shape (1,)
        Added to its diagonal.
    trust : ndarray of shape (d,)
        Between 0 and 1: the share of the variance that the others' word explained on held-back
        rows.
    size : ndarray of shape (d,)
        Root mean square of the deviation from what the others imply, on normal rows.
    known : ndarray of shape (1,)
        1 where the relations between the variables hold on held-back rows, else 0. Then a
        variable is judged by its own usual range alone.
    """

    centre: Array
    spread: Array
    low: Array
    high: Array
    observed: Array
    covariance: NDArray[np.float32]
    ridge: Array
    trust: Array
    size: Array
    known: Array

    @classmethod
    def unknown(cls, variables: int) -> Usual:
        """For a model that was saved before this was learned: one scaled unit is one deviation."""
        zero, one = np.zeros(variables), np.ones(variables)
        return cls(
            centre=zero,
            spread=one,
            low=-3 * one,
            high=3 * one,
            observed=np.full(variables, np.inf),
            covariance=np.zeros((0, 0), dtype=np.float32),
            ridge=one[:1],
            trust=zero,
            size=one,
            known=np.zeros(1),
        )

    def fitting(self, variables: int) -> Usual:
        """Itself, if its arrays belong to so many variables; a damaged file's may not."""
        square = (variables, variables) if self.relations else (0, 0)
        shapes = {"covariance": square, "ridge": (1,), "known": (1,)}
        for field in dataclasses.fields(self):
            wanted = shapes.get(field.name, (variables,))
            if getattr(self, field.name).shape != wanted:
                raise ValueError(f"usual.{field.name} is not of shape {wanted}")
        return self

    @property
    def relations(self) -> bool:
        """Whether variables are judged by each other."""
        return bool(self.known[0])

    @property
    def moved(self) -> NDArray[np.bool_]:
        """Which variables have a scale at all."""
        return self.observed > 0

    @cached_property
    def widening(self) -> Array:
        """By how much a spread from so few observations may be too small, (d,)."""
        k = self.observed
        sure = ~np.isfinite(k)
        counted = np.where(sure | (k <= 0), 1.0, k)
        wide = np.sqrt(counted / (2 * gammaincinv(counted / 2, 1 - _CONFIDENCE)))
        return np.where(sure, 1.0, wide)

    @cached_property
    def scale(self) -> Array:
        """One deviation from the usual level, (d,); 1 where a variable never moved."""
        return np.where(self.moved, self.spread * self.widening, 1.0)

    def implied(
        self, rows: Array, aside: NDArray[np.bool_], *, limit: float
    ) -> tuple[Array, Array]:
        """What each variable would have been, judging by the others that are not set aside.

        Parameters
        ----------
        rows : ndarray of shape (n, d)
            Scaled.
        aside : ndarray of bool, shape (d,)
            Variables whose values nothing is concluded from.
        limit : float
            Values count within ± this.

        Returns
        -------
        expected : ndarray of shape (n, d)
            The usual level where relations are not known or everything is set aside.
        deviation : ndarray of shape (d,)
            One deviation from it. The fewer judges are left, the less they can tell: it grows as
            the variance that they leave open.

        Examples
        --------
        >>> rng = np.random.default_rng(0)
        >>> load = rng.normal(size=(500, 1))
        >>> normal = load * [1, 1, -1] + 0.1 * rng.normal(size=(500, 3))
        >>> new = np.arange(500) >= 450
        >>> usual = learn_usual(normal, None, held_back=new, limit=10.0, known=True)
        >>> row = np.array([[50.0, 1.0, -1.0]])
        >>> expected, _ = usual.implied(row, np.array([True, False, False]), limit=10.0)
        >>> expected.round(1)
        array([[ 1.,  1., -1.]])
        """
        expected = np.tile(self.centre, (len(rows), 1))
        judges = np.flatnonzero(~aside)
        if not self.relations or not len(judges):
            return expected, self.scale
        seen = within(rows[:, judges], limit) - self.centre[judges]
        cross = self.covariance[judges].astype(np.float64)  # (judges, d)
        precision = np.linalg.inv(cross[:, judges] + self.ridge[0] * np.eye(len(judges)))
        # A judge is judged by all others: its own row and column leave the inverse.
        own = seen - seen @ precision / np.diag(precision)
        expected[:, judges] += self.trust[judges] * own
        outside = np.flatnonzero(aside)
        weights = precision @ cross[:, outside]
        expected[:, outside] += self.trust[outside] * (seen @ weights)
        left_open = np.empty(len(aside))
        left_open[judges] = 1 / np.diag(precision)
        explained = np.einsum("jo,jo->o", cross[:, outside], weights)
        left_open[outside] = np.diag(self.covariance)[outside] + self.ridge[0] - explained
        size = self.size * np.sqrt(np.maximum(left_open / self._left_open_by_all, 1.0))
        # Never less sure than its own range.
        size = np.minimum(size, np.maximum(self.spread, self.size))
        return expected, np.where(self.moved, size * self.widening, 1.0)

    @cached_property
    def _left_open_by_all(self) -> Array:
        """Variance of each variable that all others together leave open, (d,)."""
        d = len(self.centre)
        precision = np.linalg.inv(self.covariance + self.ridge[0] * np.eye(d))
        return 1 / np.diag(precision)


def learn_usual(
    values: NDArray[np.floating],
    segments: NDArray[np.integer] | None,
    *,
    held_back: NDArray[np.bool_],
    limit: float,
    known: bool,
    extent: tuple[NDArray[np.floating], NDArray[np.floating]] | None = None,
) -> Usual:
    """Learn how each variable usually behaves.

    Parameters
    ----------
    values : ndarray of shape (N, d)
        Scaled normal rows.
    segments : ndarray of int, shape (N,), or None
        A step from one segment to the next is no change.
    held_back : ndarray of bool, shape (N,)
        Relations are learned on the other rows, and trusted as far as they hold on these.
    limit : float
        Values count within ± this.
    known : bool
        Whether there is enough to learn relations from
        (:meth:`~alora_ts.diagnosis.origins.Mechanisms.hold`).
    extent : (ndarray, ndarray), optional
        Smallest and largest values, where ``values`` are within the limit already.

    Returns
    -------
    Usual
    """
    n, d = values.shape
    step = -(-n // _MOST_ROWS)
    rows = values[::step].astype(np.float64)
    parts = None if segments is None else segments[::step]
    plain = Usual.unknown(d)
    centre, spread = rows.mean(0), rows.std(0)
    low, high = (values.min(0), values.max(0)) if extent is None else extent
    still = spread < STILL
    learned = {
        "centre": centre,
        "spread": np.where(still, 0.0, spread),
        "low": np.asarray(low, dtype=np.float64),
        "high": np.asarray(high, dtype=np.float64),
        "observed": np.where(still, 0.0, observations(rows, parts)),
    }
    seen = within(rows, limit) - centre
    apart = held_back[::step]
    fresh, learned_from = seen[apart], seen[~apart]
    if not known or d > _MOST_VARIABLES or d < 2 or not len(fresh) or not len(learned_from):
        return Usual(**{**vars(plain), **learned})
    covariance = learned_from.T @ learned_from / len(learned_from)
    ridge, trust = _choose_ridge(covariance, fresh)
    precision = np.linalg.inv(covariance + ridge * np.eye(d))
    deviation = seen - trust * (seen - seen @ precision / np.diag(precision))
    return Usual(
        **learned,
        covariance=covariance.astype(np.float32),
        ridge=np.array([ridge]),
        trust=trust,
        size=np.maximum(np.sqrt(np.square(deviation).mean(0)), _LEAST_SIZE),
        known=np.ones(1),
    )


def _choose_ridge(covariance: Array, fresh: Array) -> tuple[float, Array]:
    """The ridge whose conclusions about held-back rows were best, and how good they were, (d,)."""
    variance = np.maximum(np.square(fresh).mean(0), np.finfo(float).tiny)
    best: tuple[float, float, Array] | None = None
    for ridge in _RIDGES:
        precision = np.linalg.inv(covariance + ridge * np.eye(len(covariance)))
        missed = np.square(fresh @ precision / np.diag(precision)).mean(0)
        explained = np.clip(1 - missed / variance, 0.0, 1.0)
        if best is None or explained.mean() > best[0]:
            best = float(explained.mean()), ridge, explained
    assert best is not None
    return best[1], best[2]
