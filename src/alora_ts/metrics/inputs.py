"""What every metric asks of its arrays, said once and with the offending row named."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from alora_ts.errors import DataError

__all__ = ["as_binary", "as_events", "as_scores", "same_length"]


def as_binary(values: ArrayLike, name: str) -> NDArray[np.bool_]:
    """Check a series of 0 and 1 (or False and True) and return it as booleans.

    Parameters
    ----------
    values : array_like of shape (n,)
        The series.
    name : str
        What the series is called in an error message.

    Returns
    -------
    ndarray of bool, shape (n,)

    Raises
    ------
    DataError
        When it is empty, not one-dimensional, not numeric, or holds other values than 0 and 1.

    Examples
    --------
    >>> as_binary([0, 1, 1], "label")
    array([False,  True,  True])
    >>> as_binary([0, 2], "label")
    Traceback (most recent call last):
    ...
    alora_ts.errors.DataError: label must hold only 0 and 1, but row 1 holds 2; ...
    """
    array = _one_dimensional(values, name)
    if array.dtype == np.bool_:
        return array
    wrong = np.flatnonzero((array != 0) & (array != 1))
    if wrong.size:
        row = int(wrong[0])
        raise DataError(
            f"{name} must hold only 0 and 1, but row {row} holds {array[row].item()!r}; "
            f"turn it into 0 (normal) and 1 (anomalous)"
        )
    binary: NDArray[np.bool_] = array == 1
    return binary


def as_events(values: ArrayLike) -> NDArray[np.bool_]:
    """Check a label and that it marks at least one event.

    Examples
    --------
    >>> as_events([0, 0])
    Traceback (most recent call last):
    ...
    alora_ts.errors.DataError: label marks no event (all 2 rows are 0); ...
    """
    label = as_binary(values, "label")
    if not label.any():
        raise DataError(
            f"label marks no event (all {label.size} rows are 0); detection is measured on data "
            f"with at least one labelled event"
        )
    return label


def as_scores(values: ArrayLike, name: str = "score") -> NDArray[np.float64]:
    """Check a series of finite scores and return it as float64.

    Examples
    --------
    >>> as_scores([1.0, float("nan")])
    Traceback (most recent call last):
    ...
    alora_ts.errors.DataError: score must be finite, but row 1 holds nan (1 such row); ...
    """
    array = _one_dimensional(values, name).astype(np.float64)
    wrong = np.flatnonzero(~np.isfinite(array))
    if wrong.size:
        row = int(wrong[0])
        rows = "row" if wrong.size == 1 else "rows"
        raise DataError(
            f"{name} must be finite, but row {row} holds {array[row]} ({wrong.size} such {rows}); "
            f"drop these rows or fix the detector that made them"
        )
    return array


def same_length(first: NDArray[Any], second: NDArray[Any], names: tuple[str, str]) -> None:
    """Refuse two arrays that do not describe the same rows.

    Examples
    --------
    >>> same_length(np.zeros(2), np.zeros(3), ("label", "score"))
    Traceback (most recent call last):
    ...
    alora_ts.errors.DataError: label has 2 rows but score has 3; ...
    """
    if first.shape[0] != second.shape[0]:
        raise DataError(
            f"{names[0]} has {first.shape[0]} rows but {names[1]} has {second.shape[0]}; "
            f"give both for the same rows"
        )


def _one_dimensional(values: ArrayLike, name: str) -> NDArray[Any]:
    array = np.asarray(values)
    if array.ndim != 1:
        raise DataError(
            f"{name} must be one-dimensional, but its shape is {array.shape}; give one column"
        )
    if array.size == 0:
        raise DataError(f"{name} is empty; give at least one row")
    if array.dtype.kind not in "biuf":
        raise DataError(f"{name} must be numbers, but its type is {array.dtype}; convert it first")
    return array
