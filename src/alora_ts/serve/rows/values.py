"""From a row's values to the numbers that are stored."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from alora_ts.errors import DataError, nearest

__all__ = ["RowError", "read_values"]

LARGEST = 1e30
"""Beyond it single precision, in which the network computes, has no room left."""


class RowError(DataError):
    """One row cannot be stored.

    Attributes
    ----------
    code : str
        A fixed word for counting.
    """

    def __init__(self, code: str, message: str) -> None:
        super().__init__(message)
        self.code = code


def read_values(
    values: Any, places: Mapping[str, int], wanted: tuple[str, ...]
) -> NDArray[np.float64]:
    """Values by variable as numbers in stored order; absent and None become NaN.

    Parameters
    ----------
    values : mapping of str to float or None
        Checked here, whatever it is.
    places : mapping of str to int
        Where each variable's number stands.
    wanted : tuple of str
        The active model's variables, of which at least one must have a value.

    Examples
    --------
    >>> read_values({"b": 2}, {"a": 0, "b": 1}, ("a", "b"))
    array([nan,  2.])
    """
    if not isinstance(values, Mapping):
        raise RowError("not-a-row", "values must be an object: variable names and numbers")
    cells = np.full(len(places), np.nan)
    some = False
    for name, value in values.items():
        place = places.get(name)
        if place is None:
            raise RowError(
                "unknown-variable", f"unknown variable {str(name)[:60]!r}{nearest(name, wanted)}"
            )
        if value is None:
            continue
        if isinstance(value, bool) or not isinstance(value, int | float):
            raise RowError("not-a-number", f"the value of {name!r} is not a number")
        if isinstance(value, float) and math.isnan(value):
            continue  # a sender without null writes a missing value so
        if not -LARGEST <= value <= LARGEST:
            raise RowError("too-large", f"the value of {name!r} is infinite or beyond ±{LARGEST:g}")
        cells[place] = value
        some = some or name in wanted
    if not some:
        raise RowError("empty", "the row has no value for any variable of the model")
    return cells
