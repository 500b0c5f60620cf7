"""From the text of cells to numbers: decimal marks, missing values and words for states."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass, field

import polars as pl

from alora_ts.data.form import FileForm
from alora_ts.errors import DataError

__all__ = ["EMPTY", "Notes", "find_marks", "to_numbers"]

EMPTY = ["", "NA", "N/A", "n/a", "NaN", "nan", "NAN", "NULL", "null", "None", "<NA>"]
"""What common exports write into an empty cell."""

# What plant historians and spreadsheets write where there is no value. Told when met.
_NO_VALUE = {
    "#n/a", "#na", "#value!", "#div/0!", "#ref!", "#num!", "#name?", "#null!", "bad", "bad input",
    "bad data", "bad quality", "no data", "no value", "nodata", "not available", "i/o timeout",
    "pt created", "calc failed", "scan off", "scan timeout", "comm fail", "not connect",
    "configure", "shutdown", "out of serv", "missing", "-", "--", "---", "?",
}  # fmt: skip
_STATES = (
    {"true": 1.0, "false": 0.0},
    {"on": 1.0, "off": 0.0},
    {"yes": 1.0, "no": 0.0},
    {"open": 1.0, "closed": 0.0},
    {"open": 1.0, "close": 0.0},
    {"opened": 1.0, "closed": 0.0},
    {"running": 1.0, "stopped": 0.0},
    {"run": 1.0, "stop": 0.0},
    {"enabled": 1.0, "disabled": 0.0},
    {"active": 1.0, "inactive": 0.0},
)
_MARKS = (
    (".", None), (",", None), (".", ","), (",", "."),
    (".", " "), (",", " "), (".", "'"), (",", "'"),
)  # fmt: skip
_MOST_WORDS = 1_000  # more different words than this are free text
_BLANKS = "[\u00a0\u202f\u2009]"
_SHOWN = 5


@dataclass
class Notes:
    """What reading did that the reader of a result should know; told column by column.

    Attributes
    ----------
    missing : Counter of (column, word)
        Words taken for missing cells.
    states : dict of column to dict of word to number
        Words taken for numbers.
    said : dict of str to None
        Other lines, in order.
    header_lines : int
        How many lines of the last file name its columns.
    """

    missing: Counter[tuple[str, str]] = field(default_factory=Counter)
    states: dict[str, dict[str, float]] = field(default_factory=dict)
    said: dict[str, None] = field(default_factory=dict)
    header_lines: int = 1

    def say(self, line: str) -> None:
        """Keep a line, once."""
        self.said[line] = None

    def lines(self, variables: Iterable[str]) -> tuple[str, ...]:
        """Everything, as far as it concerns these variables.

        Examples
        --------
        >>> notes = Notes()
        >>> _ = to_numbers(pl.Series("pump", ["ON", "off", "Bad Input"]), FileForm(), notes)
        >>> notes.lines(["pump"])
        ("read 'Bad Input' as missing: pump 1", 'read on as 1, off as 0: pump')
        """
        used = set(variables)
        words: dict[str, list[str]] = {}
        for (column, word), count in self.missing.items():
            if column in used:
                words.setdefault(word, []).append(f"{column} {count:,}")
        told = [f"read {word!r} as missing: {_listed(where)}" for word, where in words.items()]
        mapped: dict[str, list[str]] = {}
        for column, values in self.states.items():
            if column in used:
                pairs = ", ".join(f"{word} as {value:g}" for word, value in values.items())
                mapped.setdefault(pairs, []).append(column)
        told += [f"read {pairs}: {_listed(where)}" for pairs, where in mapped.items()]
        return (*self.said, *told)


def to_numbers(text: pl.Series, form: FileForm, notes: Notes) -> tuple[pl.Series, pl.Series]:
    """Read cells as numbers.

    Parameters
    ----------
    text : polars Series of String
    form : FileForm
        Decimal mark, thousands, words for missing values and for numbers.
    notes : Notes
        Takes what was done to words.

    Returns
    -------
    numbers : polars Series of Float64
        Null where a cell is missing or strange.
    strange : polars Series of Boolean
        Cells that are neither a number nor a known word.

    Examples
    --------
    >>> form = FileForm(decimal=",", thousands=".", mapping={"full": 100})
    >>> numbers, strange = to_numbers(pl.Series(["1.234,5", " 7 ", "", "Full", "x"]), form, Notes())
    >>> numbers.to_list(), strange.to_list()
    ([1234.5, 7.0, None, 100.0, None], [False, False, False, False, True])
    """
    cells = text.str.strip_chars()
    cells = cells.set(cells.is_in(EMPTY).fill_null(value=False), None)
    numbers = _parse(cells, form.decimal or ".", form.thousands)
    given: dict[str, float | None] = {word.strip().lower(): None for word in form.na}
    given |= {word.strip().lower(): value for word, value in form.mapping.items()}
    left = cells.is_not_null() & numbers.is_null()
    if not given and not left.any():
        return numbers, left
    lower = cells.str.to_lowercase()
    words = lower.filter(left | lower.is_in(list(given)).fill_null(value=False)).unique().to_list()
    if len(words) > _MOST_WORDS:
        return numbers, left
    known = given | {word: None for word in words if word not in given and word in _NO_VALUE}
    unknown = {word for word in words if word not in known}
    for pair in _STATES:
        if unknown and unknown <= pair.keys() and numbers.null_count() == len(numbers):
            known |= pair
            unknown = set()
    met = {word: known[word] for word in words if word in known}
    if not met:
        return numbers, left
    _tell(text, lower, met, known, notes)
    hit = lower.is_in(list(met)).fill_null(value=False)
    values = lower.replace_strict(met, default=None, return_dtype=pl.Float64)
    numbers = values.zip_with(hit, numbers)
    return numbers.alias(text.name), left & ~hit


def _tell(
    text: pl.Series,
    lower: pl.Series,
    met: dict[str, float | None],
    known: dict[str, float | None],
    notes: Notes,
) -> None:
    for word, value in met.items():
        same = lower.eq(word).fill_null(value=False)
        if value is None:
            notes.missing[text.name, text.filter(same)[0].strip()] += int(same.sum())
    stands = {w: v for w, v in known.items() if v is not None and (w in met or _paired(w, met))}
    if stands:
        notes.states.setdefault(text.name, {}).update(stands)


def _paired(word: str, met: dict[str, float | None]) -> bool:
    return any(word in pair and pair.keys() & met.keys() for pair in _STATES)


def find_marks(
    columns: Iterable[pl.Series], given: FileForm, hint: FileForm
) -> tuple[str, str | None]:
    """Find the decimal mark and what groups thousands, from columns of text.

    Parameters
    ----------
    columns : iterable of polars Series of String
        Those that may hold numbers.
    given, hint : FileForm
        What the caller said, which holds; what is remembered, which decides where both ``1,234``
        as a fraction and as a thousand are possible.

    Raises
    ------
    DataError
        When both are possible and nothing decides.

    Examples
    --------
    >>> find_marks([pl.Series(["1,5", "12"]), pl.Series(["pump"])], FileForm(), FileForm())
    (',', None)
    >>> find_marks([pl.Series("flow", ["1,234"])], FileForm(), FileForm())
    Traceback (most recent call last):
    ...
    alora_ts.errors.DataError: column 'flow': '1,234' can be read as 1.234 and as 1234; ...
    """
    if given.decimal is not None or given.thousands is not None:
        return given.decimal or ("," if given.thousands == "." else "."), given.thousands
    possible, unclear = list(_MARKS), ("", "")
    for column in columns:
        cells = column.str.strip_chars()
        cells = cells.filter(~cells.is_in(EMPTY) & cells.str.contains(r"^[+-]?[\d.,]"))
        if not len(cells) or not _parse(cells, ".", None).null_count():
            continue
        fit = [marks for marks in possible if not _parse(cells, *marks).null_count()]
        if fit:
            possible = fit
            unclear = column.name, cells.filter(_parse(cells, ".", None).is_null())[0]
    best = possible[0]
    if (",", None) in possible and (".", ",") in possible and best != (".", None):
        remembered = (hint.decimal or ".", hint.thousands)
        if remembered in possible and hint.decimal is not None:
            return remembered
        name, cell = unclear
        raise DataError(
            f"column {name!r}: {cell!r} can be read as {cell.replace(',', '.')} and as "
            f"{cell.replace(',', '')}; say which with decimal=',' (--decimal ,) or thousands=',' "
            "(--thousands ,)"
        )
    return best


def _parse(cells: pl.Series, decimal: str, thousands: str | None) -> pl.Series:
    if decimal == "." and thousands is None:
        return cells.cast(pl.Float64, strict=False)
    if thousands is not None:
        if thousands == " ":
            cells = cells.str.replace_all(_BLANKS, " ")
        mark, group = re.escape(decimal), re.escape(thousands)
        grouped = rf"^[+-]?\d{{1,3}}({group}\d{{3}})+({mark}\d*)?$"
        plain = cells.str.replace_all(thousands, "", literal=True)
        cells = plain.zip_with(cells.str.contains(grouped).fill_null(value=False), cells)
    if decimal == ",":
        pointed = cells.str.replace(",", ".", literal=True)
        # A point is no decimal mark here, so that 1.234 is not silently a fraction.
        cells = pointed.set(cells.str.contains(".", literal=True).fill_null(value=False), None)
    return cells.cast(pl.Float64, strict=False)


def _listed(items: list[str]) -> str:
    rest = len(items) - _SHOWN
    return ", ".join(items[:_SHOWN]) + (f" and {rest} more" if rest > 0 else "")
