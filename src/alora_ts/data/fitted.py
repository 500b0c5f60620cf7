"""What a preparation has learned, and its form in a saved model."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from alora_ts.data.flow import Piece
from alora_ts.data.form import AS_FOUND, FileForm
from alora_ts.data.record import Table
from alora_ts.data.report import Gap, PreparationReport
from alora_ts.data.scaling import Standardiser
from alora_ts.data.ticks import TimeKind, as_moment, time_kind

__all__ = ["Fitted", "Tally"]


@dataclass(frozen=True)
class Fitted:
    """Columns, times and scales of the training data.

    Attributes
    ----------
    variables : tuple of str
    named : bool
        Whether the variables had names of their own (arrays have none).
    time : {"datetime", "number", None}
    time_name : str or None
    step, gap : float or None
        In seconds, time units, or rows.
    standardiser : Standardiser
    dropped : tuple of str
        Columns that were left out.
    empty : tuple of str
        Columns left out because they held no value.
    label : str or None
        The column with the truth, which is no variable.
    form : FileForm
        How the training data were read; later data are read the same way.
    low, high : ndarray of shape (d,), or None
        The range of each variable in training; None in a model saved before it was kept.
    """

    variables: tuple[str, ...]
    named: bool
    time: TimeKind
    time_name: str | None
    step: float | None
    gap: float | None
    standardiser: Standardiser
    dropped: tuple[str, ...]
    empty: tuple[str, ...] = ()
    label: str | None = None
    form: FileForm = AS_FOUND
    low: NDArray[np.float64] | None = None
    high: NDArray[np.float64] | None = None

    def to_dict(self) -> dict[str, Any]:
        """Return it in a form JSON can hold."""
        scaler = self.standardiser
        return {
            "variables": list(self.variables),
            "named": self.named,
            "time": self.time,
            "time_name": self.time_name,
            "step": self.step,
            "gap": self.gap,
            "center": scaler.center.tolist(),
            "scale": scaler.scale.tolist(),
            "constant": list(scaler.constant),
            "nearly_constant": list(scaler.nearly_constant),
            "dropped": list(self.dropped),
            "empty": list(self.empty),
            "label": self.label,
            "form": self.form.to_dict(),
            "low": None if self.low is None else self.low.tolist(),
            "high": None if self.high is None else self.high.tolist(),
        }

    @classmethod
    def from_dict(cls, saved: Mapping[str, Any]) -> Fitted:
        """Rebuild what :meth:`to_dict` gave."""
        scaler = Standardiser(
            np.array(saved["center"], np.float64),
            np.array(saved["scale"], np.float64),
            tuple(saved["constant"]),
            tuple(saved["nearly_constant"]),
        )
        return cls(
            variables=tuple(saved["variables"]),
            named=saved["named"],
            time=saved["time"],
            time_name=saved["time_name"],
            step=saved["step"],
            gap=saved["gap"],
            standardiser=scaler,
            dropped=tuple(saved["dropped"]),
            # Models saved before these were kept read times that are numbers as numbers.
            empty=tuple(saved.get("empty", ())),
            label=saved.get("label"),
            form=FileForm.from_dict(
                saved.get("form", {"time_format": "number"} if saved["time"] == "number" else {})
            ),
            low=_array(saved.get("low")),
            high=_array(saved.get("high")),
        )


def _array(saved: list[float] | None) -> NDArray[np.float64] | None:
    return None if saved is None else np.array(saved, np.float64)


@dataclass
class Tally:
    """Counts over the pieces of a flow, for the report."""

    fitted: Fitted
    rows: int = 0
    prepared_rows: int = 0
    segments: int = 0
    late: int = 0
    duplicates: int = 0
    gaps: list[Gap] = field(default_factory=list)
    filled: NDArray[np.int64] | int = 0
    clipped: NDArray[np.int64] | int = 0

    def add(self, piece: Piece, table: Table) -> tuple[Gap, ...]:
        """Count a piece of the table; return the gaps that ended in it, as times."""
        kind = time_kind(table)
        fresh = tuple(Gap(as_moment(g.start, kind), as_moment(g.end, kind)) for g in piece.gaps)
        self.rows += len(piece.rows)
        self.prepared_rows += len(piece.values)
        if len(piece.segments):
            self.segments = int(piece.segments[-1]) + 1
        self.late += piece.late
        self.duplicates += piece.duplicates
        self.gaps += fresh
        self.filled = self.filled + piece.filled
        self.clipped = self.clipped + piece.clipped
        return fresh

    def report(self, table: Table, notes: tuple[str, ...] = ()) -> PreparationReport:
        """Say what was done so far."""
        names, scaler = self.fitted.variables, self.fitted.standardiser
        filled, clipped = np.asarray(self.filled), np.asarray(self.clipped)
        silent = np.flatnonzero(filled == self.prepared_rows) if self.prepared_rows else ()
        return PreparationReport(
            rows=self.rows,
            prepared_rows=self.prepared_rows,
            segments=self.segments,
            gaps=tuple(self.gaps),
            late_rows=self.late,
            duplicate_rows=self.duplicates,
            cells=self.prepared_rows * len(names),
            filled={names[at]: int(filled[at]) for at in np.flatnonzero(filled)},
            clipped={names[at]: int(clipped[at]) for at in np.flatnonzero(clipped)},
            silent=tuple(names[at] for at in silent),
            constant=tuple(names[at] for at in scaler.constant),
            nearly_constant=tuple(names[at] for at in scaler.nearly_constant),
            dropped=dict(table.dropped),
            notes=(*table.notes, *notes),
        )
