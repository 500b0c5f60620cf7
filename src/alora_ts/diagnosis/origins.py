"""Where a fault began: the variable that no longer follows from the recent past as it used to.

A fault spreads. What it reaches deviates, often more than the variable it began in, so neither
errors nor inputs show the origin. But a variable that was only reached still does what it always
does with what it is given: it follows from the newest rows, which already deviate. The origin does
not. So each variable is predicted from the last few *recorded* rows of all variables, its own
included, by a linear rule learned from normal rows, and the origin is where this rule fails.

Over the newest m rows of a window, let μ and v be mean and variance of such a residual divided by
its normal size. The score is the divergence of this distribution from the normal one,

    m/2 · (μ² + v − 1 − log v),

divided by its usual value. It grows with residuals that are large (a shock), that are biased to
one side (a shift, a drift) and that are too small (a signal that got stuck).
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.lib.stride_tricks import sliding_window_view
from numpy.typing import NDArray

from alora_ts.data.windows import window_ends, windows_apart

__all__ = ["Mechanisms", "learn_mechanisms"]

Array = NDArray[np.float64]

_RIDGE = 1e-3
_LEAST_SIZE = 0.03  # scaled units: smaller surprises are not evidence
_LEAST_VARIANCE = 0.01
_MOST_ROWS = 20_000
_MOST_INPUTS = 1000
_MOST_CELLS = 1_000_000
_ROWS_AT_ONCE = 2048


@dataclass(frozen=True, eq=False)
class Mechanisms:
    """How each variable follows from the rows before it, learned from normal rows.

    Attributes
    ----------
    weights : ndarray of float32, shape (p, d, d)
        What one unit of variable i (row), 1, …, p rows ago, adds to variable j (column).
    offset : ndarray of shape (d,)
    size : ndarray of shape (d,)
        Root mean square of the normal residual.
    usual : ndarray of shape (d,)
        Mean of the divergence over normal windows.
    """

    weights: NDArray[np.float32]
    offset: Array
    size: Array
    usual: Array

    @property
    def lags(self) -> int:
        """p, how many rows back a variable is predicted from."""
        return len(self.weights)

    def residuals(self, windows: NDArray[np.floating]) -> Array:
        """What was recorded less what the rows before it predict, in normal sizes.

        Parameters
        ----------
        windows : ndarray of shape (B, T, d)

        Returns
        -------
        ndarray of shape (B, T − p, d)
        """
        result: Array = self.unscaled(windows) / self.size
        return result

    def unscaled(self, windows: NDArray[np.floating]) -> Array:
        """:meth:`residuals` in scaled units of the variables."""
        rows = np.asarray(windows, dtype=np.float64)
        p, steps = self.lags, rows.shape[1]
        surprise: Array = rows[:, p:] - self.offset
        for lag, weights in enumerate(self.weights, start=1):
            surprise -= rows[:, p - lag : steps - lag] @ weights
        return surprise

    def scores(self, windows: NDArray[np.floating]) -> Array:
        """How likely each variable is the origin of what a window shows; higher is likelier.

        Parameters
        ----------
        windows : ndarray of shape (B, T, d)
            Scaled rows; T is more than p.

        Returns
        -------
        ndarray of shape (B, d)
            About 1 in normal windows.

        Examples
        --------
        >>> rng = np.random.default_rng(0)
        >>> cause = np.cumsum(rng.normal(size=501)) * 0.1
        >>> normal = np.column_stack([cause[1:], cause[:-1]]) + 0.01 * rng.normal(size=(500, 2))
        >>> learned = learn_mechanisms(normal, None, window=12)
        >>> window = normal[None, -12:].copy()
        >>> window[0, 5:, 0] += 2  # the cause jumps,
        >>> window[0, 6:, 1] += 2  # what follows it follows it
        >>> learned.scores(window).argmax(1)
        array([0])
        """
        unlike: Array = _divergence(self.residuals(windows)) / self.usual
        return unlike

    def unlike(self, surprise: NDArray[np.floating], window: int) -> Array:
        """How unlike normal some rows are, (d,): the mean of :meth:`scores` over their windows.

        Parameters
        ----------
        surprise : ndarray of shape (n, d)
            :meth:`residuals` of rows in order of time.
        window : int
            T. Where there are fewer rows than one has surprises, they are judged as they are.

        Examples
        --------
        >>> rng = np.random.default_rng(0)
        >>> learned = learn_mechanisms(rng.normal(size=(500, 2)), None, window=12)
        >>> rows = rng.normal(size=(40, 2))
        >>> rows[20:, 1] += 4
        >>> learned.unlike(rows, 12).argmax()
        np.int64(1)
        """
        rows = surprise.astype(np.float64)
        steps = min(window - self.lags, len(rows))
        apart = sliding_window_view(rows, steps, axis=0).swapaxes(1, 2)
        parts = np.array_split(apart, -(-apart.size // _MOST_CELLS))
        result: Array = np.concatenate([_divergence(part) for part in parts]).mean(0) / self.usual
        return result

    def hold(
        self,
        values: NDArray[np.floating],
        segments: NDArray[np.integer] | None,
        *,
        held_back: NDArray[np.bool_],
    ) -> bool:
        """Whether the rules are worth something on rows they were not learned from.

        They are when for most variables they miss the held-back rows by less than the guess that
        each row is as the one before. With few rows and many variables they are not, and whatever
        else was learned about relations between variables is then no better.

        Parameters
        ----------
        values : ndarray of shape (N, d)
            The scaled normal rows they were learned from, held-back ones included.
        segments : ndarray of int, shape (N,), or None
        held_back : ndarray of bool, shape (N,)
            Which of them the rules were not learned from.

        Examples
        --------
        >>> rng = np.random.default_rng(0)
        >>> wave = np.sin(np.arange(600)[:, None] / 3 + [0, 1, 2]) + 0.1 * rng.normal(size=(600, 3))
        >>> new = np.arange(600) >= 540
        >>> learned = learn_mechanisms(wave, None, window=12, held_back=new)
        >>> learned.hold(wave, None, held_back=new)
        True
        """
        ends = window_ends(len(values), self.lags + 1, segments)
        rows = _evenly(ends[held_back[ends]], max(_MOST_CELLS // values.shape[1], 1))
        if not len(rows):
            return False
        windows = values[rows[:, None] + np.arange(-self.lags, 1)]
        missed = np.square(self.residuals(windows)[:, 0] * self.size).mean(0)
        stepped = np.square(windows[:, -1] - windows[:, -2], dtype=np.float64).mean(0)
        moving = stepped > 0
        return bool(moving.any() and np.median(missed[moving] / stepped[moving]) < 1)


def learn_mechanisms(
    values: NDArray[np.floating],
    segments: NDArray[np.integer] | None,
    *,
    window: int,
    held_back: NDArray[np.bool_] | None = None,
) -> Mechanisms:
    """Learn how each variable follows from the rows before it.

    Parameters
    ----------
    values : ndarray of shape (N, d)
        Scaled normal rows.
    segments : ndarray of int, shape (N,), or None
        Nothing is predicted across a border.
    window : int
        T. Rules reach back a quarter of it, less where variables are very many.
    held_back : ndarray of bool, shape (N,), optional
        Rows that the rules are not learned from; what is normal for them is, on all.

    Returns
    -------
    Mechanisms

    Notes
    -----
    Ridge regression on at most 20,000 rows spread evenly over the training part.
    """
    d = values.shape[1]
    lags = min(max(window // 4, 1), max(_MOST_INPUTS // d, 1))
    ends = window_ends(len(values), lags + 1, segments)
    if held_back is not None:
        ends = ends[windows_apart(ends, lags + 1, held_back)]
    weights, offset = _regress(values, _evenly(ends, _MOST_ROWS), lags)
    plain = Mechanisms(weights, offset, np.ones(d), np.ones(d))
    every = window_ends(len(values), window, segments)
    chosen = _evenly(every, max(_MOST_CELLS // (window * d), 1))
    residual = plain.residuals(values[chosen[:, None] + np.arange(1 - window, 1)])
    size = np.maximum(np.sqrt(np.square(residual).mean((0, 1))), _LEAST_SIZE)
    # A window can look exactly as predicted only by chance, so the mean is positive in practice.
    usual = np.maximum(_divergence(residual / size).mean(0), 1e-9)
    return Mechanisms(weights, offset, size, usual)


def _regress(
    values: NDArray[np.floating], targets: NDArray[np.intp], lags: int
) -> tuple[NDArray[np.float32], Array]:
    """Weights (p, d, d) and offset (d,) of each variable on the ``lags`` rows before it."""
    d = values.shape[1]
    width = lags * d
    squares, products = np.zeros((width, width)), np.zeros((width, d))
    before, after = np.zeros(width), np.zeros(d)
    for start in range(0, len(targets), _ROWS_AT_ONCE):
        rows = targets[start : start + _ROWS_AT_ONCE]
        past = values[rows[:, None] - np.arange(1, lags + 1)].reshape(len(rows), width)
        past, now = past.astype(np.float64), values[rows].astype(np.float64)
        squares += past.T @ past
        products += past.T @ now
        before += past.sum(0)
        after += now.sum(0)
    n = len(targets)
    before, after = before / n, after / n
    spread = squares / n - np.outer(before, before) + _RIDGE * np.eye(width)
    flat = np.linalg.solve(spread, products / n - np.outer(before, after))
    weights = flat.reshape(lags, d, d).astype(np.float32)
    return weights, after - before @ weights.reshape(width, d)


def _divergence(residual: Array) -> Array:
    """Of the residuals of each window and variable from the normal ones: (B, m, d) to (B, d)."""
    mean, variance = residual.mean(1), residual.var(1)
    excess = mean**2 + variance - 1 - np.log(np.maximum(variance, _LEAST_VARIANCE))
    result: Array = residual.shape[1] / 2 * excess
    return result


def _evenly(rows: NDArray[np.intp], most: int) -> NDArray[np.intp]:
    """At most so many of the rows, spread evenly."""
    if len(rows) <= most:
        return rows
    return rows[np.linspace(0, len(rows) - 1, most).round().astype(np.intp)]
