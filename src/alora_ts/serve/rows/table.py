"""Stored rows as a table."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import polars as pl
from numpy.typing import NDArray

__all__ = ["rows_frame", "time_name"]


def time_name(variables: Sequence[str]) -> str:
    """A name for the times that no variable has.

    Examples
    --------
    >>> time_name(["flow"]), time_name(["time"])
    ('time', 'time_')
    """
    name = "time"
    while name in variables:
        name += "_"
    return name


def rows_frame(
    times: NDArray[np.int64], values: NDArray[np.float64], variables: Sequence[str]
) -> pl.DataFrame:
    """A table of rows; times in microseconds since 1970.

    Examples
    --------
    >>> rows_frame(np.array([0]), np.array([[1.5]]), ["flow"]).columns
    ['time', 'flow']
    """
    name = time_name(variables)
    stamps = pl.Series(name, times, dtype=pl.Int64).cast(pl.Datetime("us"))
    columns = {variable: values[:, place] for place, variable in enumerate(variables)}
    return pl.DataFrame({name: stamps, **columns})
