"""From any table to the rows a method works on, the same way for all methods.

Missing cells hold the last value, infinite ones are refused, time gaps and borders given by the
caller split the series, and every variable is scaled by what the training rows showed.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray

from alora_ts.baselines.ranges import Range, fit_range
from alora_ts.data import Preparation, Table, as_table
from alora_ts.data.record import Part
from alora_ts.data.windows import segment_starts
from alora_ts.errors import DataError

__all__ = ["InputReader", "Rows", "Scaling"]


@dataclass(frozen=True)
class Scaling:
    """How a method wants its input.

    Attributes
    ----------
    bounds : tuple of two floats, or None
        Where the training rows' smallest and largest value go; None standardises (mean 0 and
        standard deviation 1).
    clip : tuple of two floats, or None
        Bounds for later rows.
    own_units : bool
        Whether values stay in the units of the table instead.
    """

    bounds: tuple[float, float] | None = None
    clip: tuple[float, float] | None = None
    own_units: bool = False


@dataclass(frozen=True)
class Rows:
    """Rows ready for a method.

    Attributes
    ----------
    values : ndarray of float32, shape (M, d)
        Scaled and complete.
    segments : ndarray of int32, shape (M,)
        The segment of each row; windows stay inside one.
    timestamps : ndarray of shape (M,) or None
        ``datetime64[us]``, numbers, or None.
    answers : ndarray of intp, shape (N,)
        For each row the caller gave, the row here that answers for it.
    """

    values: NDArray[np.float32]
    segments: NDArray[np.int32]
    timestamps: NDArray[Any] | None
    answers: NDArray[np.intp]

    def __len__(self) -> int:
        return len(self.values)

    def cut(self, start: int, stop: int) -> Rows:
        """Return a stretch of the rows, such as the first 80 %.

        Examples
        --------
        >>> reader = InputReader(Scaling())
        >>> len(reader.fit(np.arange(10.0)).cut(0, 8))
        8
        """
        part = slice(start, stop)
        stamps = None if self.timestamps is None else self.timestamps[part]
        count = len(self.values[part])
        return Rows(self.values[part], self.segments[part], stamps, np.arange(count))


class InputReader:
    """Reads training rows once and all later ones alike.

    Parameters
    ----------
    scaling : Scaling
        What the method wants.

    Examples
    --------
    >>> reader = InputReader(Scaling(bounds=(0, 1), clip=(-1, 2)))
    >>> reader.fit(np.array([[0.0], [4.0]])).values[:, 0]
    array([0., 1.], dtype=float32)
    >>> reader.read(np.array([[2.0], [np.nan], [90.0]])).values[:, 0]
    array([0.5, 0.5, 2. ], dtype=float32)
    """

    def __init__(self, scaling: Scaling) -> None:
        self.scaling = scaling
        self._preparation = Preparation()
        self._range: Range | None = None

    @property
    def variables(self) -> tuple[str, ...]:
        """Names of the training data's columns."""
        return self._preparation.variables

    def fit(self, source: Any, *, segments: ArrayLike | None = None) -> Rows:
        """Learn scales and columns from training data and return its rows.

        Raises
        ------
        DataError
            When the table cannot be used; the message says where and why.
        """
        table = _with_borders(source if isinstance(source, Table) else as_table(source), segments)
        self._preparation.fit(table)
        rows = self._standardised(table)
        if self.scaling.own_units:
            standardiser = self._preparation.fitted.standardiser
            self._range = Range(standardiser.center, standardiser.scale)
        elif self.scaling.bounds is None:
            return rows
        else:
            low, high = self.scaling.bounds
            self._range = fit_range(rows.values, low=low, high=high, clip=self.scaling.clip)
        return replace(rows, values=self._range.apply(rows.values))

    def read(self, source: Any, *, segments: ArrayLike | None = None) -> Rows:
        """Prepare later rows by what the training rows taught.

        Raises
        ------
        DataError
            When the table cannot be used or has other variables than the training data.
        """
        table = source if isinstance(source, Table) else self._preparation.read(source)
        rows = self._standardised(_with_borders(table, segments))
        if self._range is None:
            return rows
        return replace(rows, values=self._range.apply(rows.values))

    def to_dict(self) -> dict[str, Any]:
        """Return what was learned in a form JSON can hold."""
        learned = None
        if self._range is not None:
            learned = [self._range.offset.tolist(), self._range.factor.tolist()]
        return {"preparation": self._preparation.to_dict(), "range": learned}

    @classmethod
    def from_dict(cls, scaling: Scaling, saved: Mapping[str, Any]) -> Self:
        """Rebuild what :meth:`to_dict` gave."""
        reader = cls(scaling)
        reader._preparation = Preparation.from_dict(saved["preparation"])
        if saved["range"] is not None:
            offset, factor = (np.array(part, np.float64) for part in saved["range"])
            reader._range = Range(offset, factor, scaling.clip)
        return reader

    def _standardised(self, table: Table) -> Rows:
        prepared = self._preparation.apply(table)
        return Rows(prepared.values, prepared.segments, prepared.timestamps, prepared.rows)


def _with_borders(table: Table, segments: ArrayLike | None) -> Table:
    """Let a part begin wherever the caller's segment number changes."""
    if segments is None:
        return table
    numbers = np.asarray(segments)
    if numbers.shape != (len(table),) or numbers.dtype.kind not in "iu":
        raise DataError(
            f"segments of shape {numbers.shape} and type {numbers.dtype} do not fit {len(table):,} "
            "rows; give one whole number for each row, the same within a segment"
        )
    borders = {int(start) for start in segment_starts(len(table), numbers)}
    files = {part.start: part for part in table.parts}
    parts = []
    current = table.parts[0]
    for count, start in enumerate(sorted(borders | set(files))):
        current = files.get(start, current)
        name = current.name or f"segment {count}"
        parts.append(Part(start, name))
    return replace(table, parts=tuple(parts))
