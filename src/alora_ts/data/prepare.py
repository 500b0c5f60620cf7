"""Preparation: learned from training data, applied to all others, saved with the model."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from alora_ts.data.align import Clock, Rules, align
from alora_ts.data.fitted import Fitted, Tally
from alora_ts.data.flow import Flow, FlowRules, aligned_rows, refuse_empty
from alora_ts.data.frames import Choices, Known
from alora_ts.data.options import PreparationOptions
from alora_ts.data.prepared import Prepared
from alora_ts.data.record import Table
from alora_ts.data.scaling import Standardiser, fit_standardiser
from alora_ts.data.table import Source, read_table
from alora_ts.data.ticks import as_ticks, as_timestamps, median_step, ticks_per_unit, time_kind
from alora_ts.errors import DataError, NotFittedError
from alora_ts.progress import Progress, Step, reporting

__all__ = ["Preparation"]

_AUTO_GAP_STEPS = 10
_DAY = 86_400.0
_SHOWN_CELLS = 50_000_000  # smaller tables take less than two seconds


class Preparation:
    """Bring tables into the form the network was trained on, and say what was done.

    Parameters
    ----------
    **options
        The choices of :class:`~alora_ts.data.options.PreparationOptions`, by their names.

    Notes
    -----
    A variable without a single value in the training data is an error; in later data it is
    allowed, takes its usual level (or last value) throughout, and is reported as silent.

    Examples
    --------
    >>> from alora_ts.data import as_table
    >>> train = as_table(np.array([[0.0], [2.0], [0.0], [2.0]]))
    >>> prepared = Preparation().fit(train).apply(as_table(np.array([[3.0], [np.nan]])))
    >>> prepared.values[:, 0]
    array([2., 2.], dtype=float32)
    >>> print(prepared.report)
    2 rows in 1 segment
    filled 1 missing cell (50 %): x0 1
    """

    def __init__(self, **options: Any) -> None:
        self.options = PreparationOptions(**options)
        self._fitted: Fitted | None = None

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Preparation):
            return NotImplemented
        return self.to_dict() == other.to_dict()

    __hash__ = None  # type: ignore[assignment]  # fitting changes it

    @property
    def fitted(self) -> Fitted:
        """What was learned; an error before ``fit``."""
        if self._fitted is None:
            raise NotFittedError("this Preparation has learned nothing yet; call fit first")
        return self._fitted

    @property
    def variables(self) -> tuple[str, ...]:
        """The variables of the training data, in their order there."""
        return self.fitted.variables

    @property
    def standardiser(self) -> Standardiser:
        """Centre and scale of each variable."""
        return self.fitted.standardiser

    @property
    def step(self) -> float | None:
        """The training data's median step, in seconds (or time units); None without times."""
        return self.fitted.step

    @property
    def rows_per_day(self) -> float | None:
        """How many prepared rows a day has; None where rows have no times of day."""
        step = self.options.resample or self.step
        if self.fitted.time != "datetime" or not step:
            return None
        return _DAY / (step * (self.options.downsample or 1))

    @property
    def gap(self) -> float | None:
        """The gap in use, in seconds (or time units, or rows)."""
        return self.fitted.gap

    def fit(self, table: Table, *, progress: Progress = None) -> Self:
        """Learn columns, time step, gap and scales.

        Parameters
        ----------
        table : Table
            Training data.
        progress : bool, callable or None
            Shown for large tables; see :mod:`alora_ts.progress`.

        Raises
        ------
        DataError
            When a variable has no value at all, or the times break a rule.
        """
        if table.timestamps is None and self.options.resample is not None:
            raise DataError(
                f"{table.source}: resample= needs a time column; name it with time= (--time), or "
                "use downsample= to average rows"
            )
        step, gap = median_step(table), self.options.gap
        if gap is None and step is not None:
            gap = _AUTO_GAP_STEPS * max(step, self.options.resample or 0.0)
        known = Fitted(
            variables=table.variables,
            named=table.kind != "numpy",
            time=time_kind(table),
            time_name=table.time_name,
            step=step,
            gap=gap,
            standardiser=Standardiser(np.zeros(0), np.ones(0)),
            dropped=tuple(table.dropped),
        )
        plan = align(
            as_ticks(table),
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
        refuse_empty(values, table)
        with reporting(progress if values.size >= _SHOWN_CELLS else False) as report:
            standardiser = fit_standardiser(
                values,
                scaling=self.options.scaling,
                report=lambda done, total: report(Step("measuring", done, total)),
            )
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
        >>> from alora_ts.data import as_table
        >>> train = as_table(pl.DataFrame({"a": [1.0, 2.0], "note": ["x", "y"]}), ignore=["note"])
        >>> later = pl.DataFrame({"note": ["z"], "a": [3.0]})
        >>> Preparation().fit(train).read(later).variables
        ('a',)
        """
        return read_table(source, self.choices(time=time))

    def choices(self, *, time: str | None = None) -> Choices:
        """Say how sources are read as the training data were.

        Parameters
        ----------
        time : str, optional
            The time column, where it has another name than in training.
        """
        known = self.fitted
        return Choices(time, None, known.dropped, Known(known.variables, known.time_name))

    def apply(
        self, table: Table, *, overwrite: bool = False, progress: Progress = None
    ) -> Prepared:
        """Prepare a whole table.

        Parameters
        ----------
        table : Table
            Rows with the training data's variables, in any order (arrays: as many).
        overwrite : bool
            Allow the result to take the table's own memory (possible for float32 in row order), so
            that large data are held once; the table must not be used afterwards.
        progress : bool, callable or None
            Shown for large tables; see :mod:`alora_ts.progress`.

        Raises
        ------
        DataError
            When variables are missing or extra, or the times or cells break a rule.
        """
        matched = self.match(table)
        flow = self.flow(matched)
        with reporting(progress if table.values.size >= _SHOWN_CELLS else False) as report:
            piece = flow.push(
                matched, as_ticks(matched), final=True, overwrite=overwrite, report=report
            )
        tally = Tally(self.fitted)
        gaps = tally.add(piece, matched)
        stamps = as_timestamps(piece.ticks, matched)
        told = tally.report(matched, self._notes(matched))
        return Prepared(piece.values, piece.segments, stamps, piece.rows, piece.mask, gaps, told)

    def match(self, table: Table) -> Table:
        """Put a table's variables into the training order.

        Raises
        ------
        DataError
            When variables are missing or extra; the message names them.

        Examples
        --------
        >>> import polars as pl
        >>> from alora_ts.data import as_table
        >>> fitted = Preparation().fit(as_table(pl.DataFrame({"a": [1.0], "b": [2.0]})))
        >>> fitted.match(as_table(pl.DataFrame({"b": [4.0], "a": [3.0]}))).values
        array([[3., 4.]])
        """
        known = self.fitted
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
        known = self.fitted
        if self.options.resample is not None and time_kind(first) != known.time:
            raise DataError(
                f"{first.source}: resample= needs a time column like that of the training data "
                f"({known.time_name!r}, a {known.time}); name it with time= (--time)"
            )
        if chunked and self.options.missing == "interpolate" and self.options.missing_limit is None:
            raise DataError(
                'missing="interpolate" in chunks needs missing_limit=, which says how far ahead to '
                "look"
            )
        rules = FlowRules(
            self._rules(known, timed=time_kind(first) == known.time),
            known.standardiser,
            self.options.missing,
            self.options.missing_limit,
            chunked,
        )
        return Flow(rules)

    def to_dict(self) -> dict[str, Any]:
        """Return options and what was learned in a form JSON can hold.

        Examples
        --------
        >>> from alora_ts.data import as_table
        >>> fitted = Preparation(gap=60).fit(as_table(np.arange(4.0)))
        >>> Preparation.from_dict(fitted.to_dict()) == fitted
        True
        """
        fitted = None if self._fitted is None else self._fitted.to_dict()
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
        if saved["fitted"] is not None:
            preparation._fitted = Fitted.from_dict(saved["fitted"])
        return preparation

    def _rules(self, known: Fitted, *, timed: bool) -> Rules:
        """The options in ticks; without comparable times nothing says what a gap is."""
        unit = ticks_per_unit(known.time)
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

    def _notes(self, table: Table) -> tuple[str, ...]:
        known, kind = self.fitted, time_kind(table)
        if kind != known.time:
            said = {None: "no times", "datetime": "dates", "number": "numbers as times"}
            return (
                f"gaps were not looked for: the training data had {said[known.time]}, these have "
                f"{said[kind]}",
            )
        step = median_step(table)
        if kind and step and known.step and not 0.5 < step / known.step < 2:
            return (f"the median step is {step:g}, in the training data it was {known.step:g}",)
        return ()


def _list(names: tuple[str, ...] | list[str]) -> str:
    shown = ", ".join(map(repr, names[:10]))
    return shown + (f" and {len(names) - 10} more" if len(names) > 10 else "")
