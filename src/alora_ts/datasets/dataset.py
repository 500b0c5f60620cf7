"""What a benchmark dataset is once it is loaded."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from alora_ts.errors import DataError

__all__ = ["Dataset", "Segment", "label_segments", "matrix_segments", "truth_matrix"]


@dataclass(frozen=True, order=True)
class Segment:
    """A stretch of test rows and the variables that its anomaly concerns.

    Attributes
    ----------
    start, end : int
        First row, and the row after the last, counted from 0 in ``Dataset.test``.
    variables : tuple of int
        Column numbers from 0, ascending. Empty where the source names no variable that was
        measured.
    """

    start: int
    end: int
    variables: tuple[int, ...]


@dataclass(frozen=True, eq=False)
class Dataset:
    """Train and test rows of one entity, with the truth about when and which.

    Attributes
    ----------
    name : str
        The registered name, such as ``"SMD"``.
    entity : str or None
        The machine, server or channel; ``None`` for the whole set.
    train : ndarray of shape (N, d), float32
    test : ndarray of shape (M, d), float32
    label : ndarray of shape (M,), bool
        True where a test row is anomalous.
    interpretation : tuple of Segment
        Which variables each labelled stretch concerns, in order of time; empty for sets that
        publish none. It is kept as published and may disagree with ``label`` in places.
    variables : tuple of str
        The d column names.
    train_timestamps, test_timestamps : ndarray of datetime64[us], or None
        None where the set has no clock.
    train_segments, test_segments : ndarray of int64
        One id per row; a window may only hold rows of one id.
    licence, citation : str
        Under which terms the data are published, and what to cite.
    """

    name: str
    entity: str | None
    train: NDArray[np.float32]
    test: NDArray[np.float32]
    label: NDArray[np.bool_]
    interpretation: tuple[Segment, ...]
    variables: tuple[str, ...]
    train_timestamps: NDArray[np.datetime64] | None
    test_timestamps: NDArray[np.datetime64] | None
    train_segments: NDArray[np.int64]
    test_segments: NDArray[np.int64]
    licence: str
    citation: str

    def __post_init__(self) -> None:
        d = len(self.variables)
        place = self.name if self.entity is None else f"{self.name} {self.entity}"
        for part, values in (("train", self.train), ("test", self.test)):
            if values.ndim != 2 or values.shape[1] != d:
                raise DataError(
                    f"{place}: {part} has shape {values.shape} but there are {d} variables; "
                    f"compare the files with a fresh copy (alora-ts data check {self.name})"
                )
            if not len(values):
                raise DataError(f"{place}: {part} has no rows; fetch or copy the file again")
        for part, rows, ids in (
            ("label", len(self.test), self.label),
            ("train_segments", len(self.train), self.train_segments),
            ("test_segments", len(self.test), self.test_segments),
            ("train_timestamps", len(self.train), self.train_timestamps),
            ("test_timestamps", len(self.test), self.test_timestamps),
        ):
            if ids is not None and len(ids) != rows:
                raise DataError(
                    f"{place}: {part} has {len(ids)} rows where the data have {rows}; the files "
                    "do not belong together, fetch or copy them again"
                )
        for segment in self.interpretation:
            inside = 0 <= segment.start < segment.end <= len(self.test)
            if not inside or any(not 0 <= v < d for v in segment.variables):
                raise DataError(
                    f"{place}: the interpretation names rows {segment.start} to {segment.end} and "
                    f"variables {list(segment.variables)}, outside the {len(self.test)} rows and "
                    f"{d} variables; the files do not belong together, fetch or copy them again"
                )

    def truth(self) -> NDArray[np.bool_]:
        """Return the (M, d) matrix that is True where a variable takes part in an anomaly.

        Examples
        --------
        >>> truth_matrix([Segment(1, 3, (0,))], rows=4, variables=2).astype(int)
        array([[0, 0],
               [1, 0],
               [1, 0],
               [0, 0]])
        """
        return truth_matrix(self.interpretation, rows=len(self.test), variables=len(self.variables))


def truth_matrix(segments: Iterable[Segment], *, rows: int, variables: int) -> NDArray[np.bool_]:
    """Spread segments over a (rows, variables) matrix; see :meth:`Dataset.truth`."""
    truth = np.zeros((rows, variables), dtype=np.bool_)
    for segment in segments:
        truth[segment.start : segment.end, list(segment.variables)] = True
    return truth


def label_segments(label: NDArray[np.bool_]) -> list[tuple[int, int]]:
    """List the runs of True as (first row, row after the last).

    Examples
    --------
    >>> label_segments(np.array([True, False, True, True]))
    [(0, 1), (2, 4)]
    """
    edges = np.flatnonzero(np.diff(label.astype(np.int8), prepend=0, append=0))
    return [(int(start), int(end)) for start, end in zip(edges[::2], edges[1::2], strict=True)]


def matrix_segments(truth: NDArray[np.bool_]) -> tuple[Segment, ...]:
    """List the runs of equal, not empty rows of a truth matrix: `truth_matrix` in reverse.

    Examples
    --------
    >>> matrix_segments(np.array([[True, False], [True, False], [True, True], [False, False]]))
    (Segment(start=0, end=2, variables=(0,)), Segment(start=2, end=3, variables=(0, 1)))
    """
    border = np.flatnonzero((truth[1:] != truth[:-1]).any(axis=1)) + 1
    starts = [0, *border.tolist()]
    return tuple(
        Segment(start, end, tuple(np.flatnonzero(truth[start]).tolist()))
        for start, end in zip(starts, [*starts[1:], len(truth)], strict=True)
        if start < end and truth[start].any()
    )
