"""How much rows surprise those before them: witness of a joint score, and of what is affected."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from alora_ts.diagnosis.origins import Mechanisms
from alora_ts.model.fitted import FittedModel

__all__ = ["last_surprises", "row_surprise", "surprise_at", "surprise_of", "surprises"]

_ROWS_AT_ONCE = 4096


def surprise_at(
    mechanisms: Mechanisms, values: NDArray[np.floating], rows: NDArray[np.intp]
) -> NDArray[np.float64]:
    """Recorded less predicted, in scaled units, (n, d).

    Parameters
    ----------
    mechanisms : Mechanisms
    values : ndarray of shape (N, d)
        Scaled rows.
    rows : ndarray of int, shape (n,)
        Which; each has as many rows before it, of the same segment, as the rules look back on.
    """
    found = np.empty((len(rows), values.shape[1]))
    reach = np.arange(-mechanisms.lags, 1)
    for start in range(0, len(rows), _ROWS_AT_ONCE):
        part = rows[start : start + _ROWS_AT_ONCE]
        found[start : start + len(part)] = mechanisms.unscaled(values[part[:, None] + reach])[:, 0]
    return found


def surprise_of(
    model: FittedModel, values: NDArray[np.float32], warm_up: NDArray[np.bool_]
) -> NDArray[np.float64] | None:
    """How much each prepared row surprises, (N,); None where the model's score does not ask.

    A warm-up row has too few rows before it and counts as usual, 1 for each variable.
    """
    rule = model.calibration.rule
    if rule.scoring != "joint":
        return None
    assert model.mechanisms is not None
    total = np.full(len(values), rule.weight.sum())
    rows = np.flatnonzero(~warm_up)
    for start in range(0, len(rows), _ROWS_AT_ONCE):
        part = rows[start : start + _ROWS_AT_ONCE]
        total[part] = rule.surprise(surprise_at(model.mechanisms, values, part))
    return total


def surprises(
    model: FittedModel, values: NDArray[np.float32], warm_up: NDArray[np.bool_]
) -> NDArray[np.float64] | None:
    """Surprise of each variable at each prepared row, (N, d), in scaled units.

    0 for a warm-up row; None where no rules were learned.
    """
    if model.mechanisms is None:
        return None
    found = np.zeros(values.shape)
    rows = np.flatnonzero(~warm_up)
    found[rows] = surprise_at(model.mechanisms, values, rows)
    return found


def last_surprises(
    model: FittedModel, window: NDArray[np.float32], *, warm_up: bool
) -> NDArray[np.float64] | None:
    """:func:`surprises` of the last row of one window, (1, d)."""
    if model.mechanisms is None:
        return None
    if warm_up:
        return np.zeros((1, window.shape[1]))
    return surprise_at(model.mechanisms, window, np.array([len(window) - 1]))


def row_surprise(
    model: FittedModel, each: NDArray[np.float64] | None, *, warm_up: bool
) -> NDArray[np.float64] | None:
    """:func:`surprise_of` one row, (1,), from the surprise of each variable (1, d)."""
    rule = model.calibration.rule
    if rule.scoring != "joint":
        return None
    if warm_up:
        return np.array([rule.weight.sum()])
    assert each is not None
    return rule.surprise(each)
