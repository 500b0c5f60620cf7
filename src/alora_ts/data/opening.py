"""What kind of file a name means, and its bytes: unpacked, and as UTF-8 where they are text."""

from __future__ import annotations

import codecs
import gzip
import io
import zipfile
import zlib
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import IO, Literal

from alora_ts.errors import DataError

__all__ = [
    "FOLDER_SUFFIXES",
    "SUFFIXES",
    "Content",
    "Kind",
    "Utf8",
    "find_encoding",
    "kind_of",
    "open_file",
]

Kind = Literal["text", "json", "excel", "parquet"]
_KINDS: dict[str, Kind] = {
    ".csv": "text", ".tsv": "text", ".txt": "text", ".tab": "text", ".dat": "text",
    ".jsonl": "json", ".ndjson": "json", ".json": "json",
    ".xlsx": "excel", ".xlsm": "excel", ".xlsb": "excel", ".xls": "excel", ".ods": "excel",
    ".parquet": "parquet",
}  # fmt: skip
_PACKED = ("text", "json")
SUFFIXES = (
    *_KINDS,
    *(f"{suffix}.gz" for suffix, kind in _KINDS.items() if kind in _PACKED),
    ".zip",
)
"""Files that are read when they are named."""

FOLDER_SUFFIXES = (".csv", ".csv.gz", ".tsv", ".tsv.gz", ".jsonl", ".ndjson", ".parquet")
"""Files that are taken from a folder: others there are often notes or settings."""

_HEAD = 2**20
_MARKS = ((codecs.BOM_UTF8, "utf-8-sig"), (codecs.BOM_UTF16_LE, "utf-16"),
          (codecs.BOM_UTF16_BE, "utf-16"))  # fmt: skip


def kind_of(name: str) -> Kind | None:
    """What a file's name says it holds; None for names that say nothing known.

    Examples
    --------
    >>> kind_of("Day.CSV"), kind_of("day.tsv.gz"), kind_of("notes.doc")
    ('text', 'text', None)
    """
    path = Path(name.lower())
    if path.suffix == ".gz":
        inner = _KINDS.get(Path(path.stem).suffix)
        return inner if inner in _PACKED else None
    return _KINDS.get(path.suffix)


@dataclass(frozen=True)
class Content:
    """An open file.

    Attributes
    ----------
    kind : {"text", "json", "excel", "parquet"}
    file : binary file
        Unpacked.
    raw : binary file
        The file itself, whose position says how much is read.
    """

    kind: Kind
    file: IO[bytes]
    raw: IO[bytes]


@contextmanager
def open_file(path: Path) -> Iterator[Content]:
    """Open a file, and the one in it where it is a zip.

    Raises
    ------
    DataError
        When it cannot be opened or unpacked, or a zip does not hold exactly one table.
    """
    try:
        with path.open("rb") as raw:
            if path.name.lower().endswith(".zip"):
                with zipfile.ZipFile(raw) as packed:
                    name = _only(packed, path)
                    with packed.open(name) as inside:
                        kind = kind_of(name)
                        assert kind is not None, "only readable names are chosen"
                        yield Content(kind, inside, raw)
                return
            kind = kind_of(path.name)
            assert kind is not None, "find_files lets only readable names through"
            unpacked = gzip.GzipFile(fileobj=raw) if path.name.lower().endswith(".gz") else raw
            yield Content(kind, unpacked, raw)  # type: ignore[arg-type]  # a GzipFile is one
    except UnicodeDecodeError as error:
        raise DataError(
            f"{path}: the text is not {error.encoding} ({error.reason} at byte {error.start}); say "
            "its encoding (--encoding)"
        ) from error
    except (OSError, EOFError, zlib.error, zipfile.BadZipFile, RuntimeError) as error:
        if isinstance(error, RuntimeError) and "password" not in str(error):
            raise
        raise DataError(
            f"{path}: cannot be read ({error}); check that the file is whole and may be read"
        ) from error


def _only(packed: zipfile.ZipFile, path: Path) -> str:
    inside = [
        entry.filename
        for entry in packed.infolist()
        if not entry.is_dir() and not entry.filename.startswith(("__MACOSX/", "."))
    ]
    tables = [name for name in inside if kind_of(name) is not None]
    if len(tables) != 1:
        held = ", ".join(inside[:10]) or "nothing"
        raise DataError(
            f"{path}: a zip must hold exactly one table, this one holds {held}; unpack it and "
            "give the files or the folder"
        )
    return tables[0]


def find_encoding(path: Path, given: str | None, hint: str | None = None) -> str:
    """The encoding of a text file: by its mark, as said, UTF-8, as remembered, or Windows-1252.

    Raises
    ------
    DataError
        When the file is not text.
    """
    with open_file(path) as content:
        head = content.file.read(_HEAD)
    for mark, name in _MARKS:
        if head.startswith(mark):
            return name
    if given is not None:
        return given
    if b"\0" in head:
        raise DataError(
            f"{path}: this is not text (it holds zero bytes); give a table, or say the encoding "
            "(--encoding utf-16-le) if it is one"
        )
    try:
        codecs.getincrementaldecoder("utf-8")().decode(head)
    except UnicodeDecodeError:
        return hint if hint is not None and not hint.startswith("utf") else "cp1252"
    return "utf-8"


class Utf8:
    """A text file of any encoding, read as UTF-8 bytes."""

    def __init__(self, file: IO[bytes], encoding: str) -> None:
        self._file = io.TextIOWrapper(file, encoding, newline="", errors="strict")

    def read(self, size: int) -> bytes:
        """About ``size`` bytes; none at the end."""
        return self._file.read(size).encode()

    def readline(self) -> bytes:
        """One line with its end."""
        return self._file.readline().encode()
