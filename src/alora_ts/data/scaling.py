"""Putting every variable on the same scale, the one it has in the training data."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

__all__ = ["CLIP", "Standardiser", "constant_scale", "fit_standardiser", "within"]

CLIP = 1e6
"""Scaled values stay within ±CLIP, so that squares of them stay finite in float32."""

_CHUNK = 4096  # rows at once: small enough to stay in the CPU's cache
_SAME_SHARE = 0.99
_LARGEST_TRAIN_VALUE = 10.0
# Interquantile ranges of the normal distribution: each turns its range into a standard deviation.
_RANGES = ((0.25, 0.75, 1.3489795), (0.05, 0.95, 3.2897073), (0.01, 0.99, 4.6526957))


def constant_scale(mean: float) -> float:
    """Scale a variable that never moves in training: one unit is 1 % of its level.

    A constant has no spread of its own, so any choice is a convention. This one makes a movement
    of a tenth of the level count as ten units, which alarms, and a rounding error as none. A level
    below 1e-6 counts as zero and gets the scale 0.01.

    Examples
    --------
    >>> constant_scale(50.0), constant_scale(0.0)
    (0.5, 0.01)
    """
    return 0.01 * (abs(mean) if abs(mean) >= 1e-6 else 1.0)


def within(
    values: NDArray[np.floating], most: float, *, out: NDArray[np.floating] | None = None
) -> NDArray[np.floating]:
    """Values within ± ``most``; NaN stays NaN.

    As ``np.clip``, which spends ten times as long on a single row, most of it on overhead.

    Examples
    --------
    >>> within(np.array([-3.0, np.nan, 1.0]), 2.0)
    array([-2., nan,  1.])
    """
    limited: NDArray[np.floating] = np.minimum(np.maximum(values, -most, out=out), most, out=out)
    return limited


@dataclass(frozen=True)
class Standardiser:
    """Centre and scale of each variable.

    Attributes
    ----------
    center, scale : ndarray of float64, shape (d,)
        A cell x becomes (x − center) / scale, within ±``CLIP``.
    constant : tuple of int
        Variables that never move in the training data (beyond rounding).
    nearly_constant : tuple of int
        Variables that rest at one value for at least 99 % of the training cells and leave it in
        rare jumps, whose scale was widened.
    """

    center: NDArray[np.float64]
    scale: NDArray[np.float64]
    constant: tuple[int, ...] = ()
    nearly_constant: tuple[int, ...] = ()

    def apply(self, values: NDArray[Any]) -> NDArray[np.float32]:
        """Scale rows; NaN stays NaN.

        Examples
        --------
        >>> Standardiser(np.array([1.0]), np.array([2.0])).apply(np.array([[5.0], [np.nan]]))
        array([[ 2.], [nan]], dtype=float32)
        """
        with np.errstate(over="ignore"):
            scaled = (values.astype(np.float64) - self.center) / self.scale
        return within(scaled, CLIP, out=scaled).astype(np.float32)

    def restore(self, scaled: NDArray[Any]) -> NDArray[np.float64]:
        """Return values in the variables' own units.

        Examples
        --------
        >>> Standardiser(np.array([1.0]), np.array([2.0])).restore(np.array([[2.0]]))
        array([[5.]])
        """
        restored: NDArray[np.float64] = scaled.astype(np.float64) * self.scale + self.center
        return restored


def fit_standardiser(
    values: NDArray[Any],
    *,
    scaling: Literal["standard", "robust"] = "standard",
    report: Callable[[int, int], None] | None = None,
) -> Standardiser:
    """Measure centre and scale of each variable, leaving missing cells out.

    Parameters
    ----------
    values : ndarray of shape (N, d)
        Training rows; each column has at least one number.
    scaling : {"standard", "robust"}
        "standard" takes mean and standard deviation. "robust" takes the median and the range of
        the middle half (the middle 90 %, then 98 %, where a narrower range is zero), divided by
        what it is for a normal distribution of standard deviation 1; it withstands outliers in
        the training data.
    report : callable, optional
        Receives how many of how many variables are done.

    Returns
    -------
    Standardiser

    Notes
    -----
    A column whose standard deviation is of rounding size (four units in the last place of its
    largest value) is constant and gets :func:`constant_scale`. A column that rests at its median
    in at least 99 % of the cells gets the larger of its standard deviation and a tenth of its
    whole range, so that one spike in training stays within ten units instead of giving a tiny
    scale; with exactly 1 % of equal jumps the two are the same, so the rule has no step.

    Examples
    --------
    >>> fit = fit_standardiser(np.array([[1.0, 7.0], [3.0, 7.0]]))
    >>> fit.center, fit.scale, fit.constant
    (array([2., 7.]), array([1.  , 0.07]), (1,))
    """
    low, high = _extremes(values)
    center, spread = _moments(values, low, high)
    largest = np.maximum(np.abs(low), np.abs(high))
    still = spread <= 4 * np.finfo(values.dtype).eps * largest
    still |= low == high
    scale = spread.copy()
    nearly = list[int]()
    with np.errstate(over="ignore"):
        widest = (high / _LARGEST_TRAIN_VALUE) - (low / _LARGEST_TRAIN_VALUE)
    for at in range(values.shape[1]):
        if report is not None:
            report(at + 1, values.shape[1])
        if still[at]:
            scale[at] = constant_scale(float(center[at]))
            continue
        if scaling == "robust":
            center[at], scale[at] = _robust(values, at, fallback=float(spread[at]))
        # Only where the tenth of the range is the larger of the two does the rule change anything.
        if widest[at] > spread[at] and _rests(values, at):
            scale[at] = max(widest[at], scale[at])
            nearly.append(at)
    # The spread of subnormal numbers can vanish in the division; one ulp of it never does.
    scale = np.maximum(scale, np.finfo(np.float64).tiny)
    return Standardiser(center, scale, tuple(np.flatnonzero(still).tolist()), tuple(nearly))


def _chunks(values: NDArray[Any]) -> Iterator[NDArray[np.float64]]:
    """Row blocks in one memory order, so that sums do not depend on the caller's."""
    for start in range(0, len(values), _CHUNK):
        yield values[start : start + _CHUNK].astype(np.float64, order="C")


def _extremes(values: NDArray[Any]) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    low = np.full(values.shape[1], np.inf)
    high = np.full(values.shape[1], -np.inf)
    for chunk in _chunks(values):
        low = np.fmin(low, np.fmin.reduce(chunk, axis=0))
        high = np.fmax(high, np.fmax.reduce(chunk, axis=0))
    return low, high


def _moments(
    values: NDArray[Any], low: NDArray[np.float64], high: NDArray[np.float64]
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Mean and standard deviation in two passes, about the middle and in units of the range."""
    middle = low / 2 + high / 2
    unit = np.maximum(high / 2 - low / 2, np.finfo(np.float64).tiny)
    count, total, squares = np.zeros((3, len(unit)))
    for chunk in _chunks(values):
        missing = _center(chunk, middle, unit, 0.0)
        count += len(chunk) if missing is None else len(chunk) - missing.sum(axis=0)
        total += chunk.sum(axis=0)
    mean = total / count
    for chunk in _chunks(values):
        _center(chunk, middle, unit, mean)
        squares += np.multiply(chunk, chunk, out=chunk).sum(axis=0)
    return middle + mean * unit, np.sqrt(squares / count) * unit


def _center(
    chunk: NDArray[np.float64],
    middle: NDArray[np.float64],
    unit: NDArray[np.float64],
    mean: NDArray[np.float64] | float,
) -> NDArray[np.bool_] | None:
    """Turn cells in place into distances from the mean; return the missing ones, now 0."""
    chunk -= middle
    chunk /= unit
    chunk -= mean
    missing = np.isnan(chunk)
    if not missing.any():
        return None
    chunk[missing] = 0.0
    return missing


def _present(values: NDArray[Any], at: int) -> NDArray[np.float64]:
    column = values[:, at].astype(np.float64)
    kept: NDArray[np.float64] = column[~np.isnan(column)]
    return kept


def _robust(values: NDArray[Any], at: int, *, fallback: float) -> tuple[float, float]:
    column = _present(values, at)
    ends: Sequence[float] = [q for low, high, _ in _RANGES for q in (low, high)]
    median, *quantiles = (float(q) for q in np.quantile(column, [0.5, *ends]))
    smallest = 4 * np.finfo(values.dtype).eps * max(abs(q) for q in (median, *quantiles))
    for (_, _, normal), low, high in zip(_RANGES, quantiles[::2], quantiles[1::2], strict=True):
        if high / 2 - low / 2 > smallest / 2:
            return median, (high / normal) - (low / normal)
    return median, fallback


def _rests(values: NDArray[Any], at: int) -> bool:
    column = _present(values, at)
    return bool(np.mean(column == np.median(column)) >= _SAME_SHARE)
