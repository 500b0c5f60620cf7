"""Preparation: learned from training data, applied to all others, saved with the model."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import replace
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from alora_ts.data.align import Clock, Rules, align
from alora_ts.data.fitted import Fitted, Tally
from alora_ts.data.flow import Flow, FlowRules, aligned_rows, with_values
from alora_ts.data.form import FileForm
from alora_ts.data.frames import Choices, Known, listed, match_names
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
    A variable without a single value in the training data is left out, and said to be; in later
    data it takes its usual level (or last value) throughout, and is reported as silent.

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
            dropped=tuple(name for name in table.dropped if name != table.label_name),
            label=table.label_name,
            form=table.form,
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
        filled = with_values(values, table)
        if not filled.all():
            known = replace(
                known,
                variables=_chosen(table.variables, filled),
                empty=_chosen(table.variables, ~filled),
            )
            values = values[:, filled]
        with reporting(progress if values.size >= _SHOWN_CELLS else False) as report:
            standardiser = fit_standardiser(
                values,
                scaling=self.options.scaling,
                report=lambda done, total: report(Step("measuring", done, total)),
            )
        low, high = _range(values)
        self._fitted = replace(known, standardiser=standardiser, low=low, high=high)
        return self

    def read(
        self,
        source: Source,
        *,
        time: str | None = None,
        label: str | None = None,
        ignore: Iterable[str] = (),
        form: FileForm | None = None,
        near: bool = False,
        progress: Progress = None,
    ) -> Table:
        """Read a source as the training data were read: same time column, same form of text.

        Columns that the training data did not have are passed over.

        Parameters
        ----------
        source : array, frame or path
            See :func:`alora_ts.data.table.as_table`.
        time, label : str, optional
            The time column and the one with the truth, where they have other names than in
            training.
        ignore : iterable of str
            Columns to leave out; a variable left out counts as missing in every row.
        form : FileForm, optional
            How text becomes numbers and times, where it is not as in training.
        near : bool
            Take columns whose names are near to missing ones for them.
        progress : bool, callable or None
            See :mod:`alora_ts.progress`.

        Examples
        --------
        >>> import polars as pl
        >>> from alora_ts.data import as_table
        >>> train = as_table(pl.DataFrame({"a": [1.0, 2.0], "note": ["x", "y"]}), ignore=["note"])
        >>> later = pl.DataFrame({"note": ["z"], "a": [3.0]})
        >>> Preparation().fit(train).read(later).variables
        ('a',)
        """
        choices = self.choices(time=time, label=label, ignore=ignore, form=form, near=near)
        return read_table(source, choices, progress=progress)

    def choices(
        self,
        *,
        time: str | None = None,
        label: str | None = None,
        ignore: Iterable[str] = (),
        form: FileForm | None = None,
        near: bool = False,
    ) -> Choices:
        """Say how sources are read as the training data were; parameters as for :meth:`read`."""
        fitted = self.fitted
        known = Known(
            variables=fitted.variables,
            time=fitted.time_name,
            label=fitted.label,
            named=fitted.named,
            form=fitted.form,
        )
        said = FileForm() if form is None else form
        silence = (ignore,) if isinstance(ignore, str) else tuple(ignore)
        unknown = [name for name in silence if name not in fitted.variables]
        return Choices(
            time=time,
            ignore=(*fitted.dropped, *unknown),
            label=label,
            form=said,
            near=near,
            silence=tuple(name for name in silence if name in fitted.variables),
            known=known,
        )

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
            When variables are missing, or the times or cells break a rule.
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
        """Put a table's variables into the training order; pass over those it did not have.

        Raises
        ------
        DataError
            When variables are missing; the message names them.

        Examples
        --------
        >>> import polars as pl
        >>> from alora_ts.data import as_table
        >>> fitted = Preparation().fit(as_table(pl.DataFrame({"a": [1.0], "b": [2.0]})))
        >>> fitted.match(as_table(pl.DataFrame({"b": [4.0], "a": [3.0]}))).values
        array([[3., 4.]])
        """
        known = self.fitted
        if known.empty and set(known.variables) < set(table.variables):
            pass  # named by their place: those without a value in training are among them
        elif table.kind == "numpy" or not known.named:
            if table.values.shape[1] != len(known.variables):
                raise DataError(
                    f"{table.source}: {table.values.shape[1]} variables where the training data "
                    f"had {len(known.variables)} ({listed(known.variables)}); give the same ones"
                )
            return replace(table, variables=known.variables)
        if table.variables == known.variables:
            return table
        try:
            match_names(known.variables, table.variables, near=False)
        except DataError as error:
            raise DataError(f"{table.source}: {error}") from error
        extra = [name for name in table.variables if name not in known.variables]
        why = {
            name: "no value at all in training" if name in known.empty else "not in training"
            for name in extra
        }
        return replace(table.select(known.variables), dropped={**table.dropped, **why})

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


def _chosen(names: tuple[str, ...], which: NDArray[np.bool_]) -> tuple[str, ...]:
    return tuple(name for name, taken in zip(names, which, strict=True) if taken)


def _range(values: NDArray[Any]) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """The least and the greatest value of each variable, missing cells left out."""
    low = np.fmin.reduce(values, axis=0, initial=np.inf).astype(np.float64)
    high = np.fmax.reduce(values, axis=0, initial=-np.inf).astype(np.float64)
    return low, high
