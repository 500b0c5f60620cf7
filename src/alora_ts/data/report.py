"""What preparing did to the data, for people and for files."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np

__all__ = ["Gap", "PreparationReport", "tell_moment"]

_SHOWN = 5


@dataclass(frozen=True)
class Gap:
    """A stretch without data.

    Attributes
    ----------
    start, end : numpy.datetime64 or float
        The last moment with data before it and the first after it; row numbers where the table
        has no times.
    """

    start: Any
    end: Any

    def __str__(self) -> str:
        """Say it as an event.

        Examples
        --------
        >>> print(Gap(np.datetime64("2024-05-01T08:00"), np.datetime64("2024-05-01T09:30")))
        no data from 2024-05-01 08:00:00 to 2024-05-01 09:30:00
        """
        return f"no data from {tell_moment(self.start)} to {tell_moment(self.end)}"

    def to_dict(self) -> dict[str, str | float]:
        """Return it in a form JSON can hold.

        Examples
        --------
        >>> Gap(3.0, 9.0).to_dict()
        {'start': 3.0, 'end': 9.0}
        """
        return {"start": _plain(self.start), "end": _plain(self.end)}


@dataclass(frozen=True)
class PreparationReport:
    """What was found in a table and what was done about it.

    Attributes
    ----------
    rows, prepared_rows, segments : int
        Rows given, rows after alignment, stretches that windows do not leave.
    gaps : tuple of Gap
        Stretches without data.
    late_rows, duplicate_rows : int
        Rows put back into the order of time, and rows that share their time with another.
    cells : int
        Prepared rows × variables.
    filled : dict of str to int
        Missing cells per variable that were given a value; variables without any are left out.
    clipped : dict of str to int
        Cells per variable cut at the largest scaled value.
    silent : tuple of str
        Variables without a single value in this table (only when applying a fitted preparation).
    constant, nearly_constant : tuple of str
        As found in the training data.
    dropped : dict of str to str
        Columns left out, with the reason.
    notes : tuple of str
        What else the reader should know.
    """

    rows: int = 0
    prepared_rows: int = 0
    segments: int = 0
    gaps: tuple[Gap, ...] = ()
    late_rows: int = 0
    duplicate_rows: int = 0
    cells: int = 0
    filled: Mapping[str, int] = field(default_factory=dict)
    clipped: Mapping[str, int] = field(default_factory=dict)
    silent: tuple[str, ...] = ()
    constant: tuple[str, ...] = ()
    nearly_constant: tuple[str, ...] = ()
    dropped: Mapping[str, str] = field(default_factory=dict)
    notes: tuple[str, ...] = ()

    def __str__(self) -> str:
        """Summarise in a few lines; what did not happen is not mentioned.

        Examples
        --------
        >>> print(PreparationReport(rows=90, prepared_rows=90, segments=1, cells=180,
        ...                         filled={"flow": 9}, constant=("valve",)))
        90 rows in 1 segment
        filled 9 missing cells (5 %): flow 9
        constant in training: valve
        """
        lines = [f"{self.rows:,} rows in {_count(self.segments, 'segment')}"]
        if self.prepared_rows != self.rows:
            lines[0] += f", {self.prepared_rows:,} after alignment"
        if self.late_rows:
            lines.append(f"{_count(self.late_rows, 'late row')} put back into the order of time")
        if self.duplicate_rows:
            lines.append(f"{_count(self.duplicate_rows, 'row')} at times that occur twice")
        lines += _shorten([str(gap) for gap in self.gaps], "gaps")
        if self.filled:
            lines.append(f"filled {self._tell(self.filled, 'missing cell')}")
        if self.clipped:
            lines.append(f"cut {self._tell(self.clipped, 'extreme cell')}")
        for said, names in {
            "no value at all": self.silent,
            "constant in training": self.constant,
            "nearly constant in training": self.nearly_constant,
        }.items():
            if names:
                lines.append(f"{said}: {_join(list(names))}")
        if self.dropped:
            each = [f"{name} ({why})" for name, why in self.dropped.items()]
            lines.append(f"left out: {_join(each)}")
        return "\n".join([*lines, *self.notes])

    def _tell(self, counts: Mapping[str, int], word: str) -> str:
        total = sum(counts.values())
        share = f" ({100 * total / self.cells:.2g} %)" if self.cells else ""
        most = sorted(counts.items(), key=lambda item: (-item[1], item[0]))
        return f"{_count(total, word)}{share}: {_join([f'{name} {n:,}' for name, n in most])}"

    def to_dict(self) -> dict[str, Any]:
        """Return it in a form JSON can hold.

        Examples
        --------
        >>> PreparationReport(rows=3).to_dict()["rows"]
        3
        """
        return {
            "rows": self.rows,
            "prepared_rows": self.prepared_rows,
            "segments": self.segments,
            "gaps": [gap.to_dict() for gap in self.gaps],
            "late_rows": self.late_rows,
            "duplicate_rows": self.duplicate_rows,
            "cells": self.cells,
            "filled": dict(self.filled),
            "clipped": dict(self.clipped),
            "silent": list(self.silent),
            "constant": list(self.constant),
            "nearly_constant": list(self.nearly_constant),
            "dropped": dict(self.dropped),
            "notes": list(self.notes),
        }


def tell_moment(value: Any) -> str:
    """A time, or a row's number, for people.

    Examples
    --------
    >>> tell_moment(np.datetime64("2026-01-02T03:04")), tell_moment(7)
    ('2026-01-02 03:04:00', '7')
    """
    if isinstance(value, np.datetime64):
        text = str(value.astype("datetime64[us]")).replace("T", " ")
        return text.removesuffix(".000000")
    return f"{value:g}" if isinstance(value, float) else str(value)


def _plain(value: Any) -> str | float:
    return str(value) if isinstance(value, np.datetime64) else float(value)


def _count(number: int, word: str) -> str:
    return f"{number:,} {word}{'' if number == 1 else 's'}"


def _join(items: list[str]) -> str:
    rest = len(items) - _SHOWN
    return ", ".join(items[:_SHOWN]) + (f" and {rest} more" if rest > 0 else "")


def _shorten(lines: list[str], word: str) -> list[str]:
    rest = len(lines) - _SHOWN
    return lines[:_SHOWN] + ([f"… and {rest} more {word}"] if rest > 0 else [])
