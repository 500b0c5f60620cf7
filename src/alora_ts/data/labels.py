"""The column that says which rows were anomalous: kept from the signals, used to judge scores."""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import Any

import narwhals as nw
import numpy as np
import polars as pl
from numpy.typing import NDArray

__all__ = ["named_like_label", "read_label"]

_NAMES = {
    "label", "labels", "anomaly", "anomalies", "isanomaly", "anomalous", "outlier", "isoutlier",
    "attack", "attacks", "attackflag", "attflag", "normalattack", "attacklabel", "fault", "faults",
    "faulty", "isfault", "faultlabel", "failure", "y", "ytrue", "class", "target", "groundtruth",
    "changepoint", "changepoints", "gt", "incident",
}  # fmt: skip
_NORMAL = ["", "0", "normal", "ok", "good", "benign", "none", "no", "false", "healthy", "n"]


def named_like_label(name: str) -> bool:
    """Say whether a column's name is one that truth goes by.

    Examples
    --------
    >>> [named_like_label(name) for name in ("ATT_FLAG", "Normal/Attack", "flow", "label_1")]
    [True, True, False, True]
    """
    return re.sub(r"[^a-z]", "", name.lower()) in _NAMES


def read_label(column: nw.Series[Any]) -> NDArray[np.bool_]:
    """Which rows are marked: numbers above 0, true, or words that do not mean normal.

    A missing cell, and a number below 0 (as some files write for "not labelled"), is not marked.

    Examples
    --------
    >>> cells = pl.Series(["Normal", "Attack", None])
    >>> read_label(nw.from_native(cells, series_only=True))
    array([False,  True, False])
    """
    cells: Iterable[Any] = column.to_list()
    text = pl.Series([None if cell is None else str(cell) for cell in cells], dtype=pl.String)
    text = text.str.strip_chars().str.to_lowercase()
    numbers = text.cast(pl.Float64, strict=False)
    words = numbers.is_null() & text.is_not_null() & ~text.is_in(_NORMAL)
    marked = numbers.fill_nan(0).gt(0).fill_null(value=False) | words.fill_null(value=False)
    return marked.to_numpy()
