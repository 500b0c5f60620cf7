"""Preparation: learned from training data, applied to all others, saved with the model."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any, Literal, Self

import numpy as np
from numpy.typing import NDArray

from alora_ts.data.align import Clock, Duplicates, OutOfOrder, Rules, align
from alora_ts.data.flow import Flow, FlowRules, Piece, aligned_rows
from alora_ts.data.options import PrepareOptions
from alora_ts.data.prepared import Prepared
from alora_ts.data.record import Table
from alora_ts.data.report import Gap, PreparationReport
from alora_ts.data.scaling import Standardiser, fit_standardiser
from alora_ts.data.table import Source, as_table
from alora_ts.errors import DataError, NotFittedError

__all__ = ["Preparation", "Prepared"]

_AUTO_GAP_STEPS = 10
_SECOND = 1_000_000  # datetimes are kept in microseconds


@dataclass(frozen=True)
class _Fitted:
    """What a preparation has learned."""

    variables: tuple[str, ...]
    named: bool
    time: Literal["datetime", "number"] | None
    time_name: str | None
    step: float | None
    gap: float | None
    standardiser: Standardiser
    dropped: tuple[str, ...]


class Preparation:
    """Bring tables into the form the network was trained on, and say what was done.

    Parameters
    ----------
    missing : {"hold", "interpolate", "mark", "error"}
        What a missing cell becomes: the variable's last value in the same segment ("hold", the
        only choice that gives a stream the same values as a table); a point on the line between
        its neighbours ("interpolate"); its usual level, marked in ``Prepared.filled`` so that
        scoring can leave it out ("mark"); or an error. Where none of them has a value to offer, a
        cell takes the variable's usual level in training.
    missing_limit : int, optional
        After how many missing rows in a row "hold" stops holding, and how long a run
        "interpolate" bridges; beyond it cells take the usual level. By default there is no limit.
    gap : float, optional
        The longest time without any value, in seconds, that does not split the series (in the
        times' own unit when they are numbers, in rows when there are none). By default ten times
        the median step of the training data, or of the grid where that is wider.
    resample : float, optional
        Average onto a regular grid of this many seconds (or time units). A step without readings
        is missing; each variable is averaged over its own readings, so irregular ones align.
    downsample : int, optional
        Average blocks of this many rows, from each segment's beginning; its last block may be
        shorter.
    duplicates : {"last", "mean", "error"}
        What to do with rows at the same time.
    out_of_order : {"late", "sort", "error"}
        "late" puts rows that come late into their place, but refuses a table in which more than a
        tenth of the rows do; "sort" sorts any table; "error" refuses every late row.
    scaling : {"standard", "robust"}
        See :func:`alora_ts.data.scaling.fit_standardiser`.

    Notes
    -----
    A variable without a single value in the training data is an error; in later data it is
    allowed, takes its usual level (or last value) throughout, and is reported as silent.

    Examples
    --------
    >>> train = as_table(np.array([[0.0], [2.0], [0.0], [2.0]]))
    >>> prepared = Preparation().fit(train).apply(as_table(np.array([[3.0], [np.nan]])))
    >>> prepared.values[:, 0]
    array([2., 2.], dtype=float32)
    >>> print(prepared.report)
    2 rows in 1 segment
    filled 1 missing cell (50 %): x0 1
    """

    def __init__(
        self,
        *,
        missing: Literal["hold", "interpolate", "mark", "error"] = "hold",
        missing_limit: int | None = None,
        gap: float | None = None,
        resample: float | None = None,
        downsample: int | None = None,
        duplicates: Duplicates = "last",
        out_of_order: OutOfOrder = "late",
        scaling: Literal["standard", "robust"] = "standard",
    ) -> None:
        self.options = PrepareOptions(
            missing=missing,
            missing_limit=missing_limit,
            gap=gap,
            resample=resample,
            downsample=downsample,
            duplicates=duplicates,
            out_of_order=out_of_order,
            scaling=scaling,
        )
        self._fitted: _Fitted | None = None

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Preparation):
            return NotImplemented
        return self.to_dict() == other.to_dict()

    __hash__ = None  # type: ignore[assignment]  # fitting changes it

    @property
    def variables(self) -> tuple[str, ...]:
        """The variables of the training data, in their order there."""
        return self._known().variables

    @property
    def standardiser(self) -> Standardiser:
        """Centre and scale of each variable."""
        return self._known().standardiser

    @property
    def step(self) -> float | None:
        """The training data's median step, in seconds (or time units); None without times."""
        return self._known().step

    @property
    def gap(self) -> float | None:
        """The gap in use, in seconds (or time units, or rows)."""
        return self._known().gap

    def fit(self, table: Table) -> Self:
        """Learn columns, time step, gap and scales.

        Parameters
        ----------
        table : Table
            Training data.

        Raises
        ------
        DataError
            When a variable has no value at all, or the times break a rule.
        """
        empty = [
            name for at, name in enumerate(table.variables) if np.isnan(table.values[:, at]).all()
        ]
        if empty:
            raise DataError(
                f"{table.source}: no value at all in {', '.join(map(repr, empty))}; leave "
                f"{'them' if len(empty) > 1 else 'it'} out with ignore={empty} "
                f"(--ignore {','.join(empty)})"
            )
        time: Literal["datetime", "number"] | None = None
        if table.timestamps is not None:
            time = "datetime" if table.timestamps.dtype.kind == "M" else "number"
        elif self.options.resample is not None:
            raise DataError(
                f"{table.source}: resample= needs a time column; name it with time= (--time), or "
                "use downsample= to average rows"
            )
        unit = _SECOND if time == "datetime" else 1
        step = _median_step(table, unit)
        gap = self.options.gap
        if gap is None and step is not None:
            gap = _AUTO_GAP_STEPS * max(step, self.options.resample or 0.0)
        known = _Fitted(
            variables=table.variables,
            named=table.kind != "numpy",
            time=time,
            time_name=table.time_name,
            step=step,
            gap=gap,
            standardiser=Standardiser(np.zeros(0), np.ones(0)),
            dropped=tuple(table.dropped),
        )
        ticks = _ticks(table, 0)
        plan = align(
            ticks,
            None,
            np.array([part.start for part in table.parts], np.intp),
            self._rules(known, timed=True),
            Clock(),
            final=True,
            may_sort=True,
            place=table.place,
            time_name=table.time_name or "time",
        )
        values: NDArray[Any] = table.values
        if plan.kept is not None:
            values = np.empty((len(plan.ticks), len(table.variables)), values.dtype)
            for start, stop, rows in aligned_rows(table.values, plan):
                values[start:stop] = rows
        standardiser = fit_standardiser(values, scaling=self.options.scaling)
        self._fitted = replace(known, standardiser=standardiser)
        return self

    def read(self, source: Source, *, time: str | None = None) -> Table:
        """Read a source as the training data were read: same time column, same columns left out.

        Parameters
        ----------
        source : array, frame or path
            See :func:`alora_ts.data.table.as_table`.
        time : str, optional
            The time column, where it has another name than in training.

        Examples
        --------
        >>> import polars as pl
        >>> train = as_table(pl.DataFrame({"a": [1.0, 2.0], "note": ["x", "y"]}), ignore=["note"])
        >>> later = pl.DataFrame({"note": ["z"], "a": [3.0]})
        >>> Preparation().fit(train).read(later).variables
        ('a',)
        """
        known = self._known()
        return as_table(source, time=time, ignore=known.dropped, optional=True)

    def apply(self, table: Table, *, overwrite: bool = False) -> Prepared:
        """Prepare a whole table.

        Parameters
        ----------
        table : Table
            Rows with the training data's variables, in any order (arrays: as many).
        overwrite : bool
            Allow the result to take the table's own memory (possible for float32 in row order), so
            that large data are held once; the table must not be used afterwards.

        Raises
        ------
        DataError
            When variables are missing or extra, or the times or cells break a rule.
        """
        known = self._known()
        matched = self.match(table)
        flow = self.flow(matched)
        piece = flow.push(matched, _ticks(matched, 0), final=True, overwrite=overwrite)
        return self.finish(piece, matched, note=self._note(matched, known))

    def match(self, table: Table) -> Table:
        """Put a table's variables into the training order.

        Raises
        ------
        DataError
            When variables are missing or extra; the message names them.

        Examples
        --------
        >>> import polars as pl
        >>> fitted = Preparation().fit(as_table(pl.DataFrame({"a": [1.0], "b": [2.0]})))
        >>> fitted.match(as_table(pl.DataFrame({"b": [4.0], "a": [3.0]}))).values
        array([[3., 4.]])
        """
        known = self._known()
        if table.kind == "numpy" or not known.named:
            if table.values.shape[1] != len(known.variables):
                raise DataError(
                    f"{table.source}: {table.values.shape[1]} variables where the training data "
                    f"had {len(known.variables)} ({_list(known.variables)}); give the same ones"
                )
            return replace(table, variables=known.variables)
        missing = [name for name in known.variables if name not in table.variables]
        extra = [name for name in table.variables if name not in known.variables]
        if missing or extra:
            raise DataError(
                f"{table.source}: not the variables of the training data"
                + (f"; missing: {_list(missing)}" if missing else "")
                + (f"; extra: {_list(extra)}" if extra else "")
                + "; give the same ones, in any order"
                + (" (ignore= or --ignore leaves columns out)" if extra else "")
            )
        return table.select(known.variables)

    def flow(self, first: Table, *, chunked: bool = False) -> Flow:
        """Begin to prepare rows piece by piece.

        Parameters
        ----------
        first : Table
            The first rows, which show whether there are times.
        chunked : bool
            Whether more pieces will follow, so that late rows cannot be sorted any more.

        Raises
        ------
        DataError
            When the times are not of the kind of the training data and have to be, or
            interpolation in chunks has no limit.
        """
        known = self._known()
        if self.options.resample is not None and first.timestamps is None:
            raise DataError(
                f"{first.source}: resample= needs a time column; name it with time= (--time)"
            )
        if chunked and self.options.missing == "interpolate" and self.options.missing_limit is None:
            raise DataError(
                'missing="interpolate" in chunks needs missing_limit=, which says how far ahead to '
                "look"
            )
        rules = FlowRules(
            self._rules(known, timed=_time_kind(first) == known.time),
            known.standardiser,
            self.options.missing,
            self.options.missing_limit,
            chunked,
        )
        return Flow(rules)

    def finish(self, piece: Piece, table: Table, *, note: tuple[str, ...] = ()) -> Prepared:
        """Turn a flow's piece into what callers use, with its report.

        Parameters
        ----------
        piece : Piece
            What the flow gave.
        table : Table
            The table that was pushed (for its times and left-out columns).
        note : tuple of str
            What else to say.
        """
        known = self._known()
        dated = _time_kind(table) == "datetime"
        gaps = tuple(
            Gap(_moment(gap.start, dated=dated), _moment(gap.end, dated=dated))
            for gap in piece.gaps
        )
        at = known.standardiser
        names = known.variables
        total = len(piece.values)
        report = PreparationReport(
            rows=len(piece.rows),
            prepared_rows=total,
            segments=len(np.unique(piece.segments)),
            gaps=gaps,
            late_rows=piece.late,
            duplicate_rows=piece.duplicates,
            cells=piece.values.size,
            filled={names[i]: int(piece.filled[i]) for i in np.flatnonzero(piece.filled)},
            clipped={names[i]: int(piece.clipped[i]) for i in np.flatnonzero(piece.clipped)},
            silent=tuple(names[i] for i in np.flatnonzero(piece.filled == total)) if total else (),
            constant=tuple(names[i] for i in at.constant),
            nearly_constant=tuple(names[i] for i in at.nearly_constant),
            dropped=dict(table.dropped),
            notes=note,
        )
        stamps: NDArray[Any] | None = None
        if table.timestamps is not None:
            stamps = piece.ticks.view("datetime64[us]") if dated else piece.ticks
        return Prepared(piece.values, piece.segments, stamps, piece.rows, piece.mask, gaps, report)

    def to_dict(self) -> dict[str, Any]:
        """Give options and what was learned in a form JSON can hold.

        Examples
        --------
        >>> fitted = Preparation(gap=60).fit(as_table(np.arange(4.0)))
        >>> Preparation.from_dict(fitted.to_dict()) == fitted
        True
        """
        fitted = None
        if self._fitted is not None:
            known = self._fitted
            scaler = known.standardiser
            fitted = {
                "variables": list(known.variables),
                "named": known.named,
                "time": known.time,
                "time_name": known.time_name,
                "step": known.step,
                "gap": known.gap,
                "center": scaler.center.tolist(),
                "scale": scaler.scale.tolist(),
                "constant": list(scaler.constant),
                "nearly_constant": list(scaler.nearly_constant),
                "dropped": list(known.dropped),
            }
        return {"options": self.options.to_dict(), "fitted": fitted}

    @classmethod
    def from_dict(cls, saved: Mapping[str, Any]) -> Preparation:
        """Rebuild what :meth:`to_dict` gave.

        Examples
        --------
        >>> Preparation.from_dict(Preparation(missing="mark").to_dict()).options.missing
        'mark'
        """
        preparation = cls(**saved["options"])
        fitted = saved["fitted"]
        if fitted is not None:
            preparation._fitted = _Fitted(
                variables=tuple(fitted["variables"]),
                named=fitted["named"],
                time=fitted["time"],
                time_name=fitted["time_name"],
                step=fitted["step"],
                gap=fitted["gap"],
                standardiser=Standardiser(
                    np.array(fitted["center"], np.float64),
                    np.array(fitted["scale"], np.float64),
                    tuple(fitted["constant"]),
                    tuple(fitted["nearly_constant"]),
                ),
                dropped=tuple(fitted["dropped"]),
            )
        return preparation

    def _known(self) -> _Fitted:
        if self._fitted is None:
            raise NotFittedError("this Preparation has learned nothing yet; call fit first")
        return self._fitted

    def _rules(self, known: _Fitted, *, timed: bool) -> Rules:
        """The options in ticks; without comparable times nothing says what a gap is."""
        unit = _SECOND if known.time == "datetime" else 1
        options = self.options
        step: float | None = None
        if options.resample is not None:
            step = options.resample * unit
            step = round(step) if float(step).is_integer() or unit > 1 else step
        return Rules(
            # Rounding in sums of float times must not make one step a gap.
            gap=known.gap * unit * (1 + 1e-9) if timed and known.gap is not None else None,
            step=step,
            block=options.downsample or 1,
            duplicates=options.duplicates,
            out_of_order=options.out_of_order,
        )

    def _note(self, table: Table, known: _Fitted) -> tuple[str, ...]:
        kind = _time_kind(table)
        if kind != known.time:
            said = {None: "no times", "datetime": "dates", "number": "numbers as times"}
            return (
                f"gaps were not looked for: the training data had {said[known.time]}, these have "
                f"{said[kind]}",
            )
        step = _median_step(table, _SECOND if kind == "datetime" else 1)
        if kind and step and known.step and not 0.5 < step / known.step < 2:
            return (f"the median step is {step:g}, in the training data it was {known.step:g}",)
        return ()


def _time_kind(table: Table) -> Literal["datetime", "number"] | None:
    if table.timestamps is None:
        return None
    return "datetime" if table.timestamps.dtype.kind == "M" else "number"


def _ticks(table: Table, before: int) -> NDArray[Any]:
    """Times as plain numbers; without times, row numbers."""
    if table.timestamps is None:
        return np.arange(before, before + len(table))
    return table.timestamps.view(np.int64) if _time_kind(table) == "datetime" else table.timestamps


def _median_step(table: Table, unit: int) -> float | None:
    """The usual time between neighbours, in seconds or the times' unit; rows without times."""
    if len(table) < 2:
        return None
    if table.timestamps is None:
        return 1.0
    steps = np.diff(_ticks(table, 0))
    forward = steps[steps > 0]
    return float(np.median(forward)) / unit if len(forward) else None


def _moment(tick: Any, *, dated: bool) -> Any:
    return np.datetime64(int(tick), "us") if dated else float(tick)


def _list(names: tuple[str, ...] | list[str]) -> str:
    shown = ", ".join(map(repr, names[:10]))
    return shown + (f" and {len(names) - 10} more" if len(names) > 10 else "")
