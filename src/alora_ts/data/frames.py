"""From any frame library to numbers: which columns are used, and how each is read."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any

import narwhals as nw
import numpy as np
import polars as pl
from numpy.typing import NDArray

from alora_ts.data.times import find_time, is_unnamed
from alora_ts.errors import DataError, nearest

__all__ = ["Choices", "Known", "Layout", "decide_layout", "read_values", "refuse_infinite"]

_SMALL_INTEGERS = (nw.Int8, nw.Int16, nw.UInt8, nw.UInt16, nw.Boolean)
_CHECKED_ROWS = 65_536


@dataclass(frozen=True)
class Layout:
    """What each column of a source is for: decided once, then the same for every chunk."""

    variables: tuple[str, ...]
    time: str | None
    dropped: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True)
class Choices:
    """Which columns a caller wants.

    Attributes
    ----------
    time : str or None
        The time column; None finds it.
    columns : tuple of str or None
        The variables, in this order; None takes all that are left.
    ignore : tuple of str
        Columns to leave out.
    known : Known or None
        What a fitted preparation knows of the columns; then ignored columns may be absent.
    """

    time: str | None = None
    columns: tuple[str, ...] | None = None
    ignore: tuple[str, ...] = ()
    known: Known | None = None

    @classmethod
    def of(cls, time: str | None, columns: Iterable[str] | None, ignore: Iterable[str]) -> Choices:
        """Take arguments as callers write them: a single name stands for a list of one.

        Examples
        --------
        >>> Choices.of(None, "flow", ["a", "b"]).columns
        ('flow',)
        """
        if columns is not None:
            columns = (columns,) if isinstance(columns, str) else tuple(columns)
        return cls(time, columns, (ignore,) if isinstance(ignore, str) else tuple(ignore))


@dataclass(frozen=True)
class Known:
    """The training data's variables, which are never taken for the time, and their time column."""

    variables: tuple[str, ...]
    time: str | None


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
    if known is not None:
        ignore = tuple(name for name in ignore if name in schema)
        if time is None and find and known.time in schema:
            time = known.time
    named = {"time": () if time is None else (time,), "columns": columns or (), "ignore": ignore}
    for option, names in named.items():
        for name in names:
            if name not in schema:
                raise DataError(f"{option}= names {name!r}, no such column{nearest(name, schema)}")
            if names.count(name) > 1:
                raise DataError(f"{option}= names {name!r} twice; name it once")
    dropped = dict.fromkeys(ignore, "ignored on request")
    left = {n: kind for n, kind in schema.items() if n not in dropped and n not in (columns or ())}
    if time is None and find:
        variables_known = () if known is None else known.variables
        time = find_time({n: kind for n, kind in left.items() if n not in variables_known})
    first = next(iter(schema), None)
    if columns is None:
        if first is not None and first in left and first != time and is_unnamed(first):
            # The time is elsewhere, so this is an index that was written along.
            dropped[first] = "row numbers without a name"
        variables = [name for name in left if name != time and name not in dropped]
    else:
        variables = [name for name in columns if name not in dropped and name != time]
        dropped |= {name: "not among the columns asked for" for name in left if name != time}
    if not variables:
        raise DataError(
            "no column of numbers is left after taking out the time and the ignored columns "
            f"(found: {', '.join(schema) or 'no column at all'}); give at least one"
        )
    return Layout(tuple(variables), time, dropped)


def read_values(
    frame: nw.DataFrame[Any], variables: tuple[str, ...], place: Callable[[int], str]
) -> NDArray[Any]:
    """Copy the variables into one array; float32 where every column fits it exactly.

    Raises
    ------
    DataError
        When a column is not numeric, mixes numbers with other things, or holds an infinity.
    """
    schema = frame.schema
    wide = any(not isinstance(schema[n], (nw.Float32, *_SMALL_INTEGERS)) for n in variables)
    values = np.empty((len(frame), len(variables)), np.float64 if wide else np.float32)
    foreign = dict[str, str]()
    for at, name in enumerate(variables):
        numbers = _read_column(frame[name], place)
        if isinstance(numbers, str):
            foreign[name] = numbers
        else:
            values[:, at] = numbers
    if foreign:
        listed = ", ".join(f"{name!r} ({what})" for name, what in foreign.items())
        names = list(foreign)
        raise DataError(
            f"not numeric: {listed}; leave {'them' if len(names) > 1 else 'it'} out with "
            f"ignore={names} (--ignore {','.join(names)}), or convert to numbers first"
        )
    refuse_infinite(values, variables, place)
    return values


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


def _read_column(column: nw.Series[Any], place: Callable[[int], str]) -> NDArray[Any] | str:
    """The column as floats with NaN for missing cells, or in words what it holds instead."""
    kind = column.dtype
    if kind.is_float():
        return np.asarray(column.to_numpy())
    if kind.is_numeric() or isinstance(kind, nw.Boolean):
        return np.asarray(column.cast(nw.Float64).to_numpy())
    if isinstance(kind, nw.String):
        return _read_text(column, place)
    if isinstance(kind, nw.Object):
        return _read_objects(column, place)
    if column.null_count() == len(column):
        return np.full(len(column), np.nan)
    return str(kind).lower()


def _read_text(column: nw.Series[Any], place: Callable[[int], str]) -> NDArray[Any] | str:
    native = column.to_native()
    text = native if isinstance(native, pl.Series) else pl.Series(column.to_list(), dtype=pl.String)
    numbers = text.str.strip_chars().cast(pl.Float64, strict=False)
    missing = text.is_null() | text.str.strip_chars().eq("").fill_null(value=True)
    strange = numbers.is_null() & ~missing
    if not strange.any():
        return numbers.to_numpy()
    row = int(strange.arg_max() or 0)
    if strange.sum() == len(text) - missing.sum():
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
        f"column {name!r}, {where}: {cell!r} stands among numbers; correct the cell or leave it "
        f"empty, or leave the column out with ignore=[{name!r}] (--ignore {name})"
    )
