"""A third witness: how unlike any stretch of training the last rows are.

A network that looks at a window of 20 rows cannot see what only longer stretches show: a spread
that fell, a level that creeps, a pattern that stops. So mean and standard deviation of each
variable over the last 4, 16, 64 and 256 rows are compared with those of stretches of training.
The novelty of a row is the logarithm of the distance to the nearest of them, relative to what is
usual in normal rows, averaged over the lengths.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, fields
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from alora_ts.data.windows import segment_ages

__all__ = ["Novelty", "Recent", "learn_novelty", "weigh"]

_WEIGHT = 0.6
"""Of a novelty beside the logarithm of a joint score; measured in docs/quality-alarms.md."""

_LENGTHS = (4, 16, 64, 256)
_MOST_STRETCHES = 512
_FEWEST_TIMES = 4
"""A length is used where training has so many times as many rows."""

_MOST = 8.0
"""What one length adds at most. What was very new must not make the rows after it alarm until it
has left the longest stretch; while it lasts, all lengths see it."""

_LEAST_SPREAD = 0.1  # scaled units: smaller differences are not evidence
_LEAST_DISTANCE = 1e-6
_ROWS_AT_ONCE = 4096


@dataclass(frozen=True, eq=False)
class Novelty:
    """Stretches of training that stand for all of them.

    Attributes
    ----------
    lengths : ndarray of int, shape (s,)
        Rows of a stretch, shortest first; none where training was too short for any.
    center, unit : ndarray of float32, shape (s, 2d)
        Statistics (means of the variables, then their standard deviations) less ``center``, times
        ``unit``, are of one size; what counts less has a smaller unit.
    stretches : ndarray of float32, shape (s, m, 2d)
        Statistics of stretches of training on that scale.
    usual : ndarray of shape (s,)
        Median logarithm of the distance from normal rows to stretches elsewhere in training.
    """

    lengths: NDArray[np.int64]
    center: NDArray[np.float32]
    unit: NDArray[np.float32]
    stretches: NDArray[np.float32]
    usual: NDArray[np.float64]

    @property
    def reach(self) -> int:
        """Rows that a novelty looks at, its own included."""
        return int(self.lengths[-1]) if len(self.lengths) else 1

    def fitting(self, variables: int) -> Novelty:
        """Itself, if its arrays belong together and to so many variables."""
        s, m = len(self.lengths), self.stretches.shape[1] if self.stretches.ndim == 3 else 0
        wide = (s, 2 * variables)
        wanted = {"center": wide, "unit": wide, "stretches": (s, m, wide[1]), "usual": (s,)}
        for name, shape in wanted.items():
            if getattr(self, name).shape != shape:
                raise ValueError(f"novelty.{name} is not of shape {shape}")
        if self.lengths.tolist() != list(_LENGTHS[:s]) or (s and not m):
            raise ValueError("novelty.lengths are not those of a model")
        for field in fields(self):
            if not np.isfinite(getattr(self, field.name)).all():
                raise ValueError(f"novelty.{field.name} has a value that is not finite")
        return self

    def of(
        self, values: NDArray[np.floating], segments: NDArray[np.integer] | None
    ) -> NDArray[np.float64]:
        """How new each row is, (N,): about 0 in normal rows.

        Parameters
        ----------
        values : ndarray of shape (N, d)
            Scaled rows.
        segments : ndarray of int, shape (N,), or None
            No stretch reaches from one segment into the next; a length that does not fit yet
            says nothing.
        """
        total = self._total(values, segments)
        found: NDArray[np.float64] = total / max(len(self.lengths), 1)
        return found

    def _total(
        self,
        values: NDArray[np.floating],
        segments: NDArray[np.integer] | None,
        own: NDArray[np.intp] | None = None,
        most: float = _MOST,
    ) -> NDArray[np.float64]:
        """The sum over all lengths, each ``most`` at most, (N,).

        Where ``values`` are training's, ``own`` are the rows at which the stretches end: those
        that share rows with a row's stretch are passed over.
        """
        n = len(values)
        age = segment_ages(n, segments)
        found = np.zeros(n)
        for first in range(0, n, _ROWS_AT_ONCE):
            last = min(first + _ROWS_AT_ONCE, n)
            begin = max(first - self.reach + 1, 0)
            sums = _running_sums(values[begin:last])
            for at, length in enumerate(self.lengths.tolist()):
                rows = first + np.flatnonzero(age[first:last] >= length - 1)
                if len(rows):
                    seen = self._scaled(at, _statistics(sums, rows - begin, length))
                    excluded = None if own is None else (rows, own, length)
                    found[rows] += np.minimum(self._unlike(at, seen, excluded), most)
        return found

    def of_last(self, rows: NDArray[np.floating], seen: int) -> float:
        """How new the last row is, from the last rows of its segment.

        Parameters
        ----------
        rows : ndarray of shape (reach, d)
            Scaled; only the last ``seen`` are looked at.
        seen : int
            Rows since the start or the last gap.
        """
        fits = int(np.searchsorted(self.lengths, seen, side="right"))
        if fits == 0:
            return 0.0
        # Sums over the rows that each length adds to the one before, the newest first.
        newest = rows[::-1].astype(np.float64)
        newest = newest[: self.lengths[fits - 1]]
        edges = np.r_[0, self.lengths[: fits - 1]]
        sums = np.cumsum(np.add.reduceat(newest, edges), axis=0)
        squares = np.cumsum(np.add.reduceat(np.square(newest), edges), axis=0)
        count = self.lengths[:fits, None]
        mean = sums / count
        spread = np.sqrt(np.maximum(squares / count - mean**2, 0.0))
        both = np.concatenate([mean, spread], axis=1)
        total = sum(
            min(float(self._unlike(at, self._scaled(at, both[at : at + 1]), None)[0]), _MOST)
            for at in range(fits)
        )
        return total / len(self.lengths)

    def _scaled(self, at: int, statistics: NDArray[np.float64]) -> NDArray[np.float32]:
        scaled: NDArray[np.float32] = (statistics - self.center[at]).astype(np.float32)
        scaled *= self.unit[at]
        return scaled

    def _unlike(
        self,
        at: int,
        seen: NDArray[np.float32],
        excluded: tuple[NDArray[np.intp], NDArray[np.intp], int] | None,
    ) -> NDArray[np.float64]:
        """Logarithm of the distance to the nearest stretch, less what is usual, (n,)."""
        stretches = self.stretches[at]
        # Squared distances less the row's own part, which does not change which is nearest.
        apart = self._squares[at] - 2 * (seen @ stretches.T)
        known = np.ones(len(seen), dtype=bool)
        if excluded is not None:
            rows, own, length = excluded
            near = np.abs(rows[:, None] - own[None]) < length
            apart[near] = np.inf
            known = ~near.all(1)
        nearest = apart.argmin(1)
        # Exact where it counts: differences of large squares would lose a small distance.
        gone = np.square(seen - stretches[nearest], dtype=np.float64).mean(1)
        return np.where(known, np.log(gone + _LEAST_DISTANCE) - self.usual[at], 0.0)

    @cached_property
    def _squares(self) -> NDArray[np.float32]:
        squares: NDArray[np.float32] = np.square(self.stretches).sum(2)
        return squares


def weigh(novelty: float) -> float:
    """By what a novelty multiplies a joint score.

    What looks familiar may be a fault all the same (rows of training itself are no distance from
    it), so it takes nothing off.

    Examples
    --------
    >>> weigh(-9.0), weigh(0.0), weigh(5.0) > weigh(4.0)
    (1.0, 1.0, True)
    """
    return math.exp(_WEIGHT * max(novelty, 0.0))


class Recent:
    """The last rows of a stream, for their novelty.

    Parameters
    ----------
    novelty : Novelty
    variables : int
    """

    def __init__(self, novelty: Novelty, variables: int) -> None:
        self._novelty = novelty
        self.rows = np.zeros((novelty.reach, variables), dtype=np.float32)

    def push(self, row: NDArray[np.float32], seen: int) -> float:
        """Take in a row and say how new it is; ``seen`` counts it, since the last gap."""
        self.rows[:-1] = self.rows[1:]
        self.rows[-1] = row
        return self._novelty.of_last(self.rows, seen)

    def extend(self, rows: NDArray[np.float32], seen: int) -> NDArray[np.float64]:
        """Take in rows of one segment; ``seen`` counts up to the first of them."""
        kept = min(seen - 1, len(self.rows))
        whole = np.concatenate([self.rows[len(self.rows) - kept :], rows])
        found = self._novelty.of(whole, None)[kept:]
        self.rows = np.concatenate([self.rows, rows])[-len(self.rows) :]
        return found


def learn_novelty(
    values: NDArray[np.floating],
    segments: NDArray[np.integer] | None,
    *,
    held_back: NDArray[np.bool_],
    weight: NDArray[np.float64],
) -> tuple[Novelty, NDArray[np.float64]]:
    """Choose stretches of training, and say how new training's own rows are to the others.

    Parameters
    ----------
    values : ndarray of shape (N, d)
        Scaled normal rows.
    segments : ndarray of int, shape (N,), or None
    held_back : ndarray of bool, shape (N,)
        Rows at which no chosen stretch ends.
    weight : ndarray of shape (d,)
        What each variable counts.

    Returns
    -------
    Novelty
    ndarray of shape (N,)
        Of training's rows; stretches that share rows with a row's own do not count, so that rows
        which were learned from look as new rows would.

    Notes
    -----
    The stretches are spread evenly over training, 512 of each length at most; 1,500 gave the same
    quality.

    Examples
    --------
    >>> rng = np.random.default_rng(0)
    >>> normal = rng.normal(size=(2000, 2)).astype(np.float32)
    >>> learned, own = learn_novelty(
    ...     normal, None, held_back=np.arange(2000) >= 1600, weight=np.ones(2)
    ... )
    >>> quiet = np.vstack([normal[:300], 0.1 * normal[300:600]])  # one that moves less
    >>> bool(learned.of(quiet, None)[-1] > np.quantile(own, 0.99))
    True
    """
    n, d = values.shape
    age = segment_ages(n, segments)
    ends = {}
    for length in _LENGTHS:
        fit = np.flatnonzero((age >= length - 1) & ~held_back)
        if len(fit) < _FEWEST_TIMES * length:
            break
        ends[length] = fit
    most = min([_MOST_STRETCHES, *map(len, ends.values())])
    center, unit = np.zeros((2, len(ends), 2 * d), dtype=np.float32)
    stretches = np.zeros((len(ends), most if ends else 0, 2 * d), dtype=np.float32)
    chosen = []
    sums = _running_sums(values)
    for at, (length, fit) in enumerate(ends.items()):
        # Of all normal rows: what moved in a few held-back ones only is no constant.
        statistics = _statistics(sums, np.flatnonzero(age >= length - 1), length)
        center[at] = statistics.mean(0)
        spread = np.maximum(statistics.std(0), _LEAST_SPREAD)
        unit[at] = np.tile(np.sqrt(weight), 2) / spread
        some = fit[np.linspace(0, len(fit) - 1, most).round().astype(np.intp)]
        stretches[at] = (_statistics(sums, some, length) - center[at]) * unit[at]
        chosen.append(some)
    lengths = np.array(list(ends), dtype=np.int64)
    own = np.zeros(n)
    usual = np.zeros(len(ends))
    for at in range(len(ends)):
        alone = Novelty(
            lengths[at : at + 1],
            center[at : at + 1],
            unit[at : at + 1],
            stretches[at : at + 1],
            np.zeros(1),
        )
        gone = alone._total(values, segments, own=chosen[at], most=math.inf)
        fits = age >= lengths[at] - 1
        usual[at] = np.median(gone[fits])
        own += np.where(fits, np.minimum(gone - usual[at], _MOST), 0.0) / len(ends)
    return Novelty(lengths, center, unit, stretches, usual), own


def _running_sums(values: NDArray[np.floating]) -> NDArray[np.float64]:
    """Sums of all rows before each, and of their squares, (n + 1, 2d)."""
    rows = np.asarray(values, dtype=np.float64)
    both = np.concatenate([rows, np.square(rows)], axis=1)
    return np.concatenate([np.zeros((1, both.shape[1])), np.cumsum(both, axis=0)])


def _statistics(
    sums: NDArray[np.float64], ends: NDArray[np.intp], length: int
) -> NDArray[np.float64]:
    """Means and standard deviations of the stretches that end at some rows, (n, 2d)."""
    mean, square = np.split((sums[ends + 1] - sums[ends + 1 - length]) / length, 2, axis=1)
    return np.concatenate([mean, np.sqrt(np.maximum(square - mean**2, 0.0))], axis=1)
