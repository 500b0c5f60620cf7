"""Reading a delimited file in blocks of whole lines, so that its size does not matter."""

from __future__ import annotations

import csv
import io
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import replace
from pathlib import Path
from typing import IO, NoReturn

import polars as pl

from alora_ts.data.form import SEPARATORS, FileForm
from alora_ts.data.opening import Utf8, find_encoding, open_file
from alora_ts.data.times import is_unnamed, named_like_time
from alora_ts.data.words import EMPTY, Notes, find_marks, to_numbers
from alora_ts.errors import DataError

__all__ = ["BLOCK_BYTES", "find_form", "join_names", "read_csv_blocks", "settle_columns"]

Schema = dict[str, type[pl.DataType] | pl.DataType]
Text = IO[bytes] | Utf8
BLOCK_BYTES = 16 * 2**20
_HEAD_BYTES = 2**20
_HEAD_LINES = 50


def find_form(path: Path, given: FileForm, hint: FileForm, notes: Notes) -> FileForm:
    """Find out how a delimited file is written.

    Parameters
    ----------
    path : Path
    given : FileForm
        What the caller said, which holds.
    hint : FileForm
        How the file before, or the training file, was written.
    notes : Notes
        Takes what was found where it is not the usual.

    Returns
    -------
    FileForm
        With separator, marks, encoding and header lines said.

    Raises
    ------
    DataError
        When the file is empty or not text, or its numbers can be read in two ways.
    """
    form = given.or_else(hint)
    encoding = find_encoding(path, given.encoding, hint.encoding)
    with open_file(path) as content:
        file = _as_utf8(content.file, encoding)
        head, _ = _cut(file.read(_HEAD_BYTES) + b"\n")
    try:
        text = head.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        raise _not_utf8(path) from error
    rows = form.header_rows or 1
    separator = given.separator or _find_separator(text, hint.separator)
    lines = list(csv.reader(io.StringIO(text), delimiter=separator))
    names = [join_names(parts) for parts in zip(*lines[:rows], strict=False)]
    lines = lines[rows:]
    width = Counter(map(len, lines)).most_common(1)[0][0] if lines else 0
    cells = [line for line in lines if len(line) == width]
    columns = [
        pl.Series(names[at] if at < len(names) else "", column, pl.String)
        for at, column in enumerate(zip(*cells, strict=True))
    ]
    try:
        decimal, thousands = find_marks(columns, given, hint)
    except DataError as error:
        raise DataError(f"{path}: {error}") from error
    if separator != "," or encoding in ("cp1252", "utf-16") or (decimal, thousands) != (".", None):
        said = [f"cells separated by {SEPARATORS[separator]}"]
        said += ["decimal comma"] if decimal == "," else []
        said += [f"thousands grouped by {thousands!r}"] if thousands is not None else []
        said += ["Windows-1252 text, as it is not UTF-8"] if encoding == "cp1252" else []
        notes.say(f"read with {', '.join(said)}")
    return replace(
        form,
        separator=separator,
        decimal=decimal,
        thousands=thousands,
        encoding=encoding,
        header_rows=rows,
    )


def _find_separator(text: str, hint: str | None) -> str:
    """The separator that gives every line the same number of cells, the most of them."""
    best, most = ",", 1
    for separator in dict.fromkeys([hint or ";", ";", "\t", "|", ","]):
        lines = []
        for cells in csv.reader(io.StringIO(text), delimiter=separator):
            if cells:
                lines.append(len(cells))
            if len(lines) == _HEAD_LINES:
                break
        # A decimal comma gives lines of one length too, but seldom as long as the header.
        if lines and lines[0] > most and lines.count(lines[0]) >= 0.8 * len(lines):
            best, most = separator, lines[0]
    if most == 1:
        # No line agrees with the header: its own most frequent separator explains the most.
        first = text.split("\n", 1)[0]
        counts = {separator: first.count(separator) for separator in SEPARATORS}
        best = max(counts, key=lambda separator: counts[separator])
    return best


def read_csv_blocks(
    path: Path,
    form: FileForm | None = None,
    notes: Notes | None = None,
    *,
    block_bytes: int | None = None,
) -> Iterator[tuple[pl.DataFrame, float]]:
    """Yield the rows of a delimited file (packed when named ``.gz`` or ``.zip``) in blocks.

    The first block decides what each column holds. A column of a later block in which a cell is
    not that stays text, for whoever uses the column to name the cell.

    Parameters
    ----------
    path : Path
    form : FileForm, optional
        As :func:`find_form` gives it; by default it is found.
    notes : Notes, optional
        Takes what was done to words in columns of numbers.
    block_bytes : int, optional
        About how much text to hold at once.

    Yields
    ------
    polars.DataFrame, float
        Columns of numbers are Float64 (whole numbers stay Int64 in columns named like time),
        the rest String; and the share of the file that is read.

    Raises
    ------
    DataError
        When the file is empty, has no rows or no usable header, or cannot be read.
    """
    notes = Notes() if notes is None else notes
    form = find_form(path, FileForm(), FileForm(), notes) if form is None else form
    size = max(path.stat().st_size, 1)
    with open_file(path) as content:
        file = _as_utf8(content.file, form.encoding or "utf-8")
        for frame in _read(file, path, form, notes, block_bytes or BLOCK_BYTES):
            yield frame, min(1.0, content.raw.tell() / size)


def _as_utf8(file: IO[bytes], encoding: str) -> Text:
    # Bytes that are UTF-8 already are not decoded and encoded again.
    return file if encoding in ("utf-8", "utf-8-sig") else Utf8(file, encoding)


def _read(
    file: Text, path: Path, form: FileForm, notes: Notes, block_bytes: int
) -> Iterator[pl.DataFrame]:
    header, rest, before = _read_header(file, path, form)
    notes.header_lines = before
    schema: Schema | None = None
    rows = 0
    while True:
        fresh = file.read(block_bytes)
        # Empty lines at the end are how editors close a file, not rows.
        block, rest = _cut(rest + fresh) if fresh else (rest.rstrip(b"\r\n"), b"")
        if block.strip():
            if schema is None:
                schema = _decide_schema(block, header, form, path, before)
            frame = _parse(block, schema, form=form, notes=notes, path=path, before=before + rows)
            rows += len(frame)
            # Lines that end with a separator have a last column without a name and cells.
            yield frame.drop(name for name, kind in schema.items() if kind == pl.Null)
        if not fresh:
            break
    if not rows:
        raise DataError(f"{path}: there is a header but no rows below it; give at least one row")


def _cut(block: bytes) -> tuple[bytes, bytes]:
    """Split after the last line end that is not inside quotes, before any empty lines there."""
    end = len(block)
    while (end := block.rfind(b"\n", 0, end)) >= 0:
        if block.count(b'"', 0, end) % 2 == 0:
            last = len(block[:end].rstrip(b"\r\n"))
            cut = block.index(b"\n", last) + 1 if last else 0
            return block[:cut], block[cut:]
    return b"", block


def _read_header(file: Text, path: Path, form: FileForm) -> tuple[list[str], bytes, int]:
    """The names of the columns, the line read beyond them, and how many lines they take."""
    rows, separator = form.header_rows or 1, form.separator or ","
    lines = [_read_line(file, path, separator)[0] for _ in range(rows)]
    if not any(map(str.strip, lines[0])):
        raise DataError(
            f"{path}: the file is empty or begins with an empty line; the first line must name "
            "the columns"
        )
    rest = b""
    if rows > 1:
        # pandas writes the index's name into a line of its own, below the names of columns.
        cells, rest = _read_line(file, path, separator)
        if cells and not any(map(str.strip, cells[1:])) and not _is_number(cells[0]):
            lines = [["", *line[1:]] for line in lines] + [cells]
            rest = b""
    return name_columns(lines, path), rest, len(lines)


def _read_line(file: Text, path: Path, separator: str) -> tuple[list[str], bytes]:
    line = file.readline()
    while line.count(b'"') % 2 and (more := file.readline()):
        line += more
    try:
        text = line.decode("utf-8-sig").rstrip("\r\n")
    except UnicodeDecodeError as error:
        raise _not_utf8(path) from error
    return next(csv.reader([text], delimiter=separator), []), line


def name_columns(lines: Sequence[Sequence[str]], path: Path) -> list[str]:
    """Join header lines to one name a column, and refuse names that cannot be told apart.

    Examples
    --------
    >>> name_columns([["time", "pump", "pump"], ["", "flow", "speed"]], Path("x.csv"))
    ['time', 'pump flow', 'pump speed']
    """
    width = max(map(len, lines))
    padded = [[*line, *[""] * (width - len(line))] for line in lines]
    for line in padded[:-1]:
        # A name over several columns is written once where cells were merged.
        for at in range(1, width):
            line[at] = line[at] or line[at - 1]
    names = [join_names(parts) for parts in zip(*padded, strict=True)]
    twice = sorted({name for name in names if name and names.count(name) > 1})
    if twice:
        more = "" if len(lines) > 1 else ", or say how many lines name them (--header-rows)"
        raise DataError(
            f"{path}: the header names {', '.join(map(repr, twice[:10]))} more than once; give "
            f"each column its own name{more}"
        )
    if all(map(_is_number, names)) and names not in (
        [str(at) for at in range(len(names))],
        [str(at + 1) for at in range(len(names))],
    ):
        raise DataError(
            f"{path}: the first line holds numbers ({', '.join(names)[:60]!r}); it must name the "
            "columns"
        )
    # The first column without a name may be an index; others are told apart by their place.
    return [name or ("" if at == 0 else f"Unnamed: {at}") for at, name in enumerate(names)]


def join_names(parts: Sequence[str]) -> str:
    """One name from several, the empty ones left out.

    Examples
    --------
    >>> join_names(["pump", " ", "flow"])
    'pump flow'
    """
    if len(parts) == 1:
        return str(parts[0]).strip()
    kept = (str(part).strip() for part in parts)
    return " ".join(part for part in kept if part and not is_unnamed(part.split("_level_")[0]))


def _is_number(text: str) -> bool:
    try:
        float(text)
    except ValueError:
        return False
    return True


def _decide_schema(
    block: bytes, header: list[str], form: FileForm, path: Path, before: int
) -> Schema:
    everything: Schema = dict.fromkeys(header, pl.String)
    frame = _parse(block, everything, form=form, notes=Notes(), path=path, before=before)
    return {name: _kind(frame[name], form) for name in header}


def _kind(cells: pl.Series, form: FileForm) -> type[pl.DataType]:
    """What a column of text holds: Int64 for whole numbers that may be times, Float64, String.

    Null where it has neither a name nor a cell.
    """
    name = cells.name
    filled = cells.drop_nulls()
    if not len(filled) and name.startswith("Unnamed: "):
        return pl.Null
    numbers, strange = to_numbers(filled, replace(form, mapping={}), Notes())
    plain = not strange.any() and (not len(filled) or not _states(filled, numbers))
    if not plain:
        return pl.String
    timely = named_like_time(name) or is_unnamed(name)
    whole = filled.str.strip_chars().cast(pl.Int64, strict=False)
    return pl.Int64 if timely and not whole.null_count() else pl.Float64


def _states(cells: pl.Series, numbers: pl.Series) -> bool:
    """Whether the column holds words for states and no number at all."""
    return numbers.len() > 0 and not cells.str.contains(r"\d").any()


def _parse(
    block: bytes, schema: Schema, *, form: FileForm, notes: Notes, path: Path, before: int
) -> pl.DataFrame:
    text: Schema = dict.fromkeys(schema, pl.String)
    comma = form.decimal == ","
    # With a decimal comma the fast reader takes a point for one too, so it sees no points.
    if form.thousands is None and not (comma and b"." in block) and schema != text:
        try:
            kinds = {name: pl.String if k == pl.Null else k for name, k in schema.items()}
            return _read_csv(block, kinds, form)
        except pl.exceptions.PolarsError:
            pass  # a cell is not what its column holds: read as text, then each column alone
    try:
        frame = _read_csv(block, text, form)
    except pl.exceptions.PolarsError as error:
        _explain(block, len(schema), error, form=form, path=path, before=before)
    return pl.DataFrame(
        {name: settle(frame[name], kind, form, notes) for name, kind in schema.items()}
    )


def _read_csv(block: bytes, schema: Schema, form: FileForm) -> pl.DataFrame:
    return pl.read_csv(
        io.BytesIO(block),
        has_header=False,
        new_columns=list(schema),
        schema=schema,
        null_values=EMPTY,
        separator=form.separator or ",",
        decimal_comma=form.decimal == ",",
    )


def settle(
    cells: pl.Series, kind: type[pl.DataType] | pl.DataType, form: FileForm, notes: Notes
) -> pl.Series:
    """A column of text as the kind it should be, or as it is where a cell is not of that kind."""
    if kind == pl.Int64:
        whole = cells.str.strip_chars().cast(pl.Int64, strict=False)
        missing = cells.is_null() | cells.str.strip_chars().is_in(EMPTY)
        return cells if (whole.is_null() & ~missing).any() else whole
    if kind != pl.Float64:
        return cells
    met = Notes()
    numbers, strange = to_numbers(cells, form, met)
    if strange.any():
        return cells
    notes.missing.update(met.missing)
    notes.states.update(met.states)
    return numbers.alias(cells.name)


def settle_columns(frame: pl.DataFrame, form: FileForm, notes: Notes) -> pl.DataFrame:
    """Turn the text columns of a whole table into numbers, where they hold numbers."""
    kinds = {name: _kind(frame[name], form) for name in frame.columns}
    return pl.DataFrame(
        {name: settle(frame[name], k, form, notes) for name, k in kinds.items() if k != pl.Null}
    )


def _explain(
    block: bytes, width: int, error: Exception, *, form: FileForm, path: Path, before: int
) -> NoReturn:
    """Find the line that the fast reader stumbled over."""
    try:
        lines = csv.reader(io.StringIO(block.decode("utf-8")), delimiter=form.separator or ",")
    except UnicodeDecodeError as wrong:
        raise _not_utf8(path) from wrong
    for row, cells in enumerate(lines):
        if len(cells) > width:
            raise DataError(
                f"{path}, line {before + row + 1}: {len(cells)} cells where the header names "
                f"{width} columns; correct the line, and mind separators inside numbers or text"
            )
    raise DataError(f"{path}: cannot be read as CSV ({error})") from error


def _not_utf8(path: Path) -> DataError:
    return DataError(
        f"{path}: the text is not UTF-8; say its encoding (--encoding cp1252) or save it as UTF-8"
    )
