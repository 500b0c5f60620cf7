"""Tables in JSON and Excel files."""

from __future__ import annotations

import io
from collections.abc import Iterator
from pathlib import Path

import polars as pl

from alora_ts.data import csv_blocks
from alora_ts.data.form import FileForm
from alora_ts.data.opening import open_file
from alora_ts.data.words import Notes, find_marks
from alora_ts.errors import DataError

__all__ = ["read_excel", "read_json_blocks"]


def read_json_blocks(path: Path) -> Iterator[tuple[pl.DataFrame, float]]:
    """Yield the rows of a JSON file: one object a line, in blocks, or a list of objects.

    Yields
    ------
    polars.DataFrame, float
        The columns of the first block; and the share of the file that is read.

    Raises
    ------
    DataError
        When it is not JSON of that form, or holds no rows.
    """
    size = max(path.stat().st_size, 1)
    columns: list[str] | None = None
    with open_file(path) as content:
        rest, whole, final = b"", False, False
        while not final:
            fresh = content.file.read(csv_blocks.BLOCK_BYTES)
            rest, final = rest + fresh, not fresh
            whole = whole or (columns is None and rest.lstrip()[:1] == b"[")
            cut = len(rest) if final else 0 if whole else rest.rfind(b"\n") + 1
            block, rest = rest[:cut], rest[cut:]
            if not block.strip():
                continue
            frame = _parse(block, path, whole=whole)
            columns = columns or frame.columns
            absent = [pl.lit(None).alias(name) for name in columns if name not in frame.columns]
            yield frame.with_columns(absent).select(columns), content.raw.tell() / size
    if columns is None:
        raise DataError(f"{path}: the file holds no rows; give at least one")


def _parse(block: bytes, path: Path, *, whole: bool) -> pl.DataFrame:
    read = pl.read_json if whole else pl.read_ndjson
    try:
        frame = read(io.BytesIO(block), infer_schema_length=None)
    except pl.exceptions.PolarsError as error:
        raise DataError(
            f"{path}: cannot be read as JSON ({str(error).splitlines()[0]}); give one object with "
            "a row's values in each line, or a list of such objects"
        ) from error
    nested = [name for name, kind in frame.schema.items() if kind.is_nested()]
    if nested:
        raise DataError(
            f"{path}: {', '.join(map(repr, nested))} holds lists or objects; give each row as one "
            "flat object"
        )
    return frame


def read_excel(path: Path, form: FileForm, notes: Notes) -> pl.DataFrame:
    """Read one sheet of an Excel or OpenDocument file.

    Raises
    ------
    DataError
        When the extra ``excel`` is missing, or the sheet does not exist or holds no rows.
    """
    try:
        import fastexcel
    except ImportError as error:
        raise DataError(
            f'{path}: reading Excel files needs one more package; pip install "alora-ts[excel]"'
        ) from error
    with open_file(path) as content:
        data = content.file.read()
    try:
        book = fastexcel.read_excel(data)
        sheet = book.load_sheet(form.sheet or 0, header_row=None, dtypes="string").to_polars()
    except fastexcel.FastExcelError as error:
        names = ""
        if "book" in locals() and form.sheet is not None and form.sheet not in book.sheet_names:
            names = f"; it has the sheets {', '.join(book.sheet_names)} (--sheet)"
        raise DataError(f"{path}: cannot be read as Excel ({error}){names}") from error
    rows = form.header_rows or 1
    if len(sheet) <= rows:
        raise DataError(f"{path}: the sheet has no rows below its header; give at least one")
    header = [[cell or "" for cell in line] for line in sheet.head(rows).rows()]
    names_ = csv_blocks.name_columns(header, path)
    body = sheet.slice(rows).rename(dict(zip(sheet.columns, names_, strict=True)))
    body = body.filter(~pl.all_horizontal(pl.all().is_null()))
    notes.header_lines = rows
    # Numbers come with a point, whatever the spreadsheet shows; text cells may have a comma.
    decimal, thousands = find_marks(body.iter_columns(), FileForm(), form)
    settled = FileForm(decimal=decimal, thousands=thousands).or_else(form)
    return csv_blocks.settle_columns(body, settled, notes)
