"""From any frame library to numbers: which columns are used, and how each is read."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from difflib import get_close_matches
from typing import Any

import narwhals as nw
import numpy as np
import polars as pl
from numpy.typing import NDArray

from alora_ts.data.form import AS_FOUND, FileForm
from alora_ts.data.times import find_time, is_unnamed
from alora_ts.data.words import Notes, find_marks, to_numbers
from alora_ts.errors import DataError, nearest

__all__ = [
    "Choices",
    "Known",
    "Layout",
    "blank_numbers",
    "decide_layout",
    "listed",
    "match_names",
    "read_values",
    "refuse_infinite",
    "told_names",
]

_SMALL_INTEGERS = (nw.Int8, nw.Int16, nw.UInt8, nw.UInt16, nw.Boolean)
_CHECKED_ROWS = 65_536
_NEAR = 0.75  # how alike names must be, of 1


@dataclass(frozen=True)
class Layout:
    """What each column of a source is for: decided once, then the same for every chunk.

    Attributes
    ----------
    variables : tuple of str
    time, label : str or None
    dropped : mapping of str to str
        Columns left out, with the reason.
    renamed : mapping of str to str
        The source's name of a variable, where it is another than the training data's.
    silenced : tuple of str
        Variables whose cells all count as missing.
    """

    variables: tuple[str, ...]
    time: str | None
    dropped: Mapping[str, str] = field(default_factory=dict)
    label: str | None = None
    renamed: Mapping[str, str] = field(default_factory=dict)
    silenced: tuple[str, ...] = ()

    def arrange(self, frame: nw.DataFrame[Any]) -> nw.DataFrame[Any]:
        """Give columns the variables' names, and empty those that are silenced."""
        if self.renamed:
            frame = frame.rename(dict(self.renamed))
        if self.silenced:
            empty = [nw.lit(None, nw.Float64).alias(name) for name in self.silenced]
            frame = frame.with_columns(empty)
        return frame


@dataclass(frozen=True)
class Known:
    """What a model knows of its training data's columns.

    Attributes
    ----------
    variables : tuple of str
        Never taken for the time.
    time, label : str or None
        The columns with the time and with the truth.
    named : bool
        Whether the variables have names of their own, so that other columns can be passed over.
    form : FileForm
        How the training data were read.
    """

    variables: tuple[str, ...]
    time: str | None
    label: str | None = None
    named: bool = True
    form: FileForm = AS_FOUND


@dataclass(frozen=True)
class Choices:
    """Which columns a caller wants, and how text is read.

    Attributes
    ----------
    time : str or None
        The time column; None finds it.
    columns : tuple of str or None
        The variables, in this order; None takes all that are left.
    ignore : tuple of str
        Columns to leave out.
    label : str or None
        The column that says which rows are anomalous.
    form : FileForm
        How text becomes columns, numbers and times.
    near : bool
        Take columns whose names are near to missing ones of the training data for them.
    silence : tuple of str
        Columns that a fitted preparation's caller leaves out: a variable's cells then all count
        as missing.
    known : Known or None
        What a fitted preparation knows of the columns; then ignored columns may be absent.
    """

    time: str | None = None
    columns: tuple[str, ...] | None = None
    ignore: tuple[str, ...] = ()
    label: str | None = None
    form: FileForm = AS_FOUND
    near: bool = False
    silence: tuple[str, ...] = ()
    known: Known | None = None

    @classmethod
    def of(
        cls,
        time: str | None,
        columns: Iterable[str] | None,
        ignore: Iterable[str],
        *,
        label: str | None = None,
        form: FileForm | None = None,
    ) -> Choices:
        """Take arguments as callers write them: a single name stands for a list of one.

        Examples
        --------
        >>> Choices.of(None, "flow", ["a", "b"]).columns
        ('flow',)
        """
        if columns is not None:
            columns = (columns,) if isinstance(columns, str) else tuple(columns)
        left_out = (ignore,) if isinstance(ignore, str) else tuple(ignore)
        return cls(time, columns, left_out, label, AS_FOUND if form is None else form)

    @property
    def hint(self) -> FileForm:
        """How the training data were read, where there are any."""
        return AS_FOUND if self.known is None else self.known.form


def decide_layout(
    schema: dict[str, nw.dtypes.DType], choices: Choices, *, find: bool = True
) -> Layout:
    """Choose the time column and the variables.

    Parameters
    ----------
    schema : dict of str to narwhals dtype
        All columns.
    choices : Choices
        What the caller wants.
    find : bool
        Whether to look for a time column when none is named (not needed where an index is it).

    Raises
    ------
    DataError
        When a named column does not exist, is named twice, or nothing is left.

    Examples
    --------
    >>> schema = {"time": nw.Datetime(), "a": nw.Float64(), "note": nw.String()}
    >>> decide_layout(schema, Choices(ignore=("note",))).variables
    ('a',)
    """
    time, columns, ignore, known = choices.time, choices.columns, choices.ignore, choices.known
    label = choices.label
    silenced: tuple[str, ...] = ()
    if known is not None:
        silenced = choices.silence
        ignore = tuple(name for name in dict.fromkeys(ignore) if name in schema)
        if time is None and find and known.time in schema:
            time = known.time
        if label is None and known.label in schema:
            label = known.label
    _refuse_unknown(schema, time=time, label=label, columns=columns, ignore=ignore)
    dropped = dict.fromkeys(ignore, "ignored on request")
    if label is not None:
        dropped[label] = "the label"
    left = {n: kind for n, kind in schema.items() if n not in dropped and n not in (columns or ())}
    if time is None and find:
        variables_known = () if known is None else known.variables
        time = find_time({n: kind for n, kind in left.items() if n not in variables_known})
    first = next(iter(schema), None)
    renamed: dict[str, str] = {}
    if columns is None:
        if first is not None and first in left and first != time and is_unnamed(first):
            # The time is elsewhere, so this is an index that was written along.
            dropped[first] = "row numbers without a name"
        variables = [name for name in left if name != time and name not in dropped]
        if known is not None and known.named:
            here = [*variables, *(name for name in silenced if name not in variables)]
            variables, renamed = match_names(known.variables, here, near=choices.near)
            taken = {*variables, *renamed.values(), *renamed, *dropped, time}
            dropped |= {n: "not in training" for n in left if n not in taken}
            variables = [renamed.get(name, name) for name in variables]
    else:
        variables = [name for name in columns if name not in dropped and name != time]
        dropped |= {name: "not among the columns asked for" for name in left if name != time}
    if not variables:
        raise DataError(
            "no column of numbers is left after taking out the time and the ignored columns "
            f"(found: {', '.join(schema) or 'no column at all'}); give at least one"
        )
    return Layout(tuple(variables), time, dropped, label, renamed, silenced)


def _refuse_unknown(
    schema: Iterable[str],
    *,
    time: str | None,
    label: str | None,
    columns: tuple[str, ...] | None,
    ignore: tuple[str, ...],
) -> None:
    named = {
        "time": () if time is None else (time,),
        "label": () if label is None else (label,),
        "columns": columns or (),
        "ignore": ignore,
    }
    for option, names in named.items():
        for name in names:
            if name not in schema:
                raise DataError(f"{option}= names {name!r}, no such column{nearest(name, schema)}")
            if names.count(name) > 1:
                raise DataError(f"{option}= names {name!r} twice; name it once")


def match_names(
    known: Sequence[str], given: Sequence[str], *, near: bool
) -> tuple[list[str], dict[str, str]]:
    """Find the training data's variables among the columns of a source.

    Parameters
    ----------
    known, given : sequence of str
        The training data's variables and the source's columns.
    near : bool
        Whether a column with a near name stands for a missing variable.

    Returns
    -------
    columns : list of str
        The source's columns to use, in the training data's order.
    renamed : dict of str to str
        The variable that a column with another name stands for.

    Raises
    ------
    DataError
        When a variable is missing; the message names it and what is near.

    Examples
    --------
    >>> match_names(["flow", "speed"], ["Flow", "speed", "note"], near=True)
    (['Flow', 'speed'], {'Flow': 'flow'})
    """
    missing = [name for name in known if name not in given]
    extra = [name for name in given if name not in known]
    proposals = _near(missing, extra)
    left = [name for name in missing if not (near and name in proposals)]
    if left:
        hints = [f"{at!r} is near {name!r}" for name, at in proposals.items() if name in left]
        raise DataError(
            f"not the variables of the training data; missing: {listed(left)}"
            + (f"; extra: {listed(extra)}" if extra else "")
            + "; give the same ones, in any order"
            + (f" ({'; '.join(hints[:5])}: --near-names takes near names)" if hints else "")
        )
    columns = [proposals[name] if name in missing else name for name in known]
    return columns, {proposals[name]: name for name in missing}


def _near(missing: Sequence[str], extra: Sequence[str]) -> dict[str, str]:
    """For each missing name the one near column that is near to no other missing name."""

    def bare(name: str) -> str:
        return "".join(letter for letter in name.lower() if letter.isalnum())

    found: dict[str, str] = {}
    for name in missing:
        same = [column for column in extra if bare(column) == bare(name)]
        if len(same) != 1:
            same = get_close_matches(name, extra, n=2, cutoff=_NEAR)
        if same and same[0] not in found.values():
            found[name] = same[0]
    return found


def told_names(renamed: Mapping[str, str]) -> str:
    """Which column stands for which variable, for a note.

    Examples
    --------
    >>> told_names({"Flow": "flow"})
    "'Flow' as 'flow'"
    """
    return ", ".join(f"{column!r} as {name!r}" for column, name in renamed.items())


def listed(names: Sequence[str]) -> str:
    """Names for a message, the first ten of them.

    Examples
    --------
    >>> listed(["a", "b"])
    "'a', 'b'"
    """
    shown = ", ".join(map(repr, names[:10]))
    return shown + (f" and {len(names) - 10} more" if len(names) > 10 else "")


def read_values(
    frame: nw.DataFrame[Any],
    variables: tuple[str, ...],
    place: Callable[[int], str],
    *,
    form: FileForm | None = None,
    hint: FileForm | None = None,
    notes: Notes | None = None,
) -> NDArray[Any]:
    """Copy the variables into one array; float32 where every column fits it exactly.

    Parameters
    ----------
    frame : narwhals DataFrame
    variables : tuple of str
    place : callable
        Names a row in messages.
    form, hint : FileForm, optional
        How text becomes numbers, as said and as remembered.
    notes : Notes, optional
        Takes what was done to words.

    Raises
    ------
    DataError
        When a column is not numeric, mixes numbers with other things, or holds an infinity.
    """
    form, hint = form or AS_FOUND, hint or AS_FOUND
    notes = Notes() if notes is None else notes
    schema = frame.schema
    wide = any(not isinstance(schema[n], (nw.Float32, *_SMALL_INTEGERS)) for n in variables)
    values = np.empty((len(frame), len(variables)), np.float64 if wide else np.float32)
    foreign = dict[str, str]()
    texts = [_as_text(frame[n]) for n in variables if isinstance(schema[n], nw.String)]
    if texts:
        decimal, thousands = find_marks(texts, form, hint)
        form = replace(form, decimal=decimal, thousands=thousands)
    for at, name in enumerate(variables):
        numbers = _read_column(frame[name], place, form, notes)
        if isinstance(numbers, str):
            foreign[name] = numbers
        else:
            values[:, at] = numbers
    if foreign:
        told = ", ".join(f"{name!r} ({what})" for name, what in foreign.items())
        names = list(foreign)
        raise DataError(
            f"not numeric: {told}; leave {'them' if len(names) > 1 else 'it'} out with "
            f"ignore={names} (--ignore {','.join(names)}), or say which numbers the words stand "
            "for with mapping= (--map WORD=1)"
        )
    blank_numbers(values, variables, form, notes)
    refuse_infinite(values, variables, place)
    return values


def blank_numbers(
    values: NDArray[Any], variables: Sequence[str], form: FileForm, notes: Notes
) -> None:
    """Blank numbers that mean a missing value, such as -999, in place; count them.

    Examples
    --------
    >>> cells = np.array([[1.0], [-999.0]])
    >>> blank_numbers(cells, ["flow"], FileForm(na=("-999",)), Notes())
    >>> cells[:, 0]
    array([ 1., nan])
    """
    for word in form.na:
        try:
            number = float(word)
        except ValueError:
            continue
        for at, name in enumerate(variables):
            hit = values[:, at] == number
            if hit.any():
                notes.missing[name, word] += int(hit.sum())
                values[hit, at] = np.nan


def refuse_infinite(
    values: NDArray[Any], variables: tuple[str, ...], place: Callable[[int], str]
) -> None:
    """Raise a DataError that names the first infinite cell, if there is one.

    Examples
    --------
    >>> refuse_infinite(np.array([[1.0], [np.inf]]), ("flow",), "row {}".format)
    Traceback (most recent call last):
    ...
    alora_ts.errors.DataError: column 'flow', row 1: inf is not a usable value; ...
    """
    for start in range(0, len(values), _CHECKED_ROWS):
        bad = np.isinf(values[start : start + _CHECKED_ROWS])
        if bad.any():
            row, at = (int(i) for i in np.argwhere(bad)[0])
            raise DataError(
                f"column {variables[at]!r}, {place(start + row)}: {values[start + row, at]} is not "
                "a usable value; correct it, or leave the cell empty to have it filled"
            )


def _read_column(
    column: nw.Series[Any], place: Callable[[int], str], form: FileForm, notes: Notes
) -> NDArray[Any] | str:
    """The column as floats with NaN for missing cells, or in words what it holds instead."""
    kind = column.dtype
    if kind.is_float():
        return np.asarray(column.to_numpy())
    if kind.is_numeric() or isinstance(kind, nw.Boolean):
        return np.asarray(column.cast(nw.Float64).to_numpy())
    if isinstance(kind, nw.String):
        return _read_text(column, place, form, notes)
    if isinstance(kind, nw.Object):
        return _read_objects(column, place)
    if column.null_count() == len(column):
        return np.full(len(column), np.nan)
    return str(kind).lower()


def _as_text(column: nw.Series[Any]) -> pl.Series:
    native = column.to_native()
    if isinstance(native, pl.Series):
        return native
    return pl.Series(column.name, column.to_list(), dtype=pl.String)


def _read_text(
    column: nw.Series[Any], place: Callable[[int], str], form: FileForm, notes: Notes
) -> NDArray[Any] | str:
    text = _as_text(column)
    numbers, strange = to_numbers(text, form, notes)
    if not strange.any():
        return numbers.to_numpy()
    row = int(strange.arg_max() or 0)
    if strange.sum() == len(text) - text.str.strip_chars().is_in(["", None]).sum():
        return f"text such as {text[row]!r}"
    raise _mixed(column.name, place(row), text[row])


def _read_objects(column: nw.Series[Any], place: Callable[[int], str]) -> NDArray[Any] | str:
    cells = column.to_list()
    numbers = np.full(len(cells), np.nan)
    strange = list[int]()
    for row, cell in enumerate(cells):
        try:
            # Text is never a number here: a column of objects says itself what each cell is.
            numbers[row] = np.nan if _is_missing(cell) else _as_number(cell)
        except (TypeError, ValueError):
            strange.append(row)
    if not strange:
        return numbers
    if len(strange) == sum(not _is_missing(cell) for cell in cells):
        return f"values such as {cells[strange[0]]!r}"
    raise _mixed(column.name, place(strange[0]), cells[strange[0]])


def _is_missing(cell: object) -> bool:
    return cell is None or type(cell).__name__ in ("NAType", "NaTType")


def _as_number(cell: Any) -> float:
    if isinstance(cell, str | bytes):
        raise TypeError
    return float(cell)


def _mixed(name: str, where: str, cell: object) -> DataError:
    return DataError(
        f"column {name!r}, {where}: {cell!r} stands among numbers; correct the cell, say that it "
        f"means a missing value (--na {cell!r}) or a number (--map {cell}=0), or leave the column "
        f"out with ignore=[{name!r}] (--ignore {name})"
    )
