"""How a file is read: said by the caller, found in the file, or remembered by a model."""

from __future__ import annotations

import codecs
from collections.abc import Mapping
from dataclasses import dataclass, field, fields, replace
from typing import Any

from alora_ts.errors import AloraError

__all__ = ["AS_FOUND", "EPOCHS", "SEPARATORS", "FileForm"]

SEPARATORS = {",": "commas", ";": "semicolons", "\t": "tabs", "|": "bars"}
EPOCHS = {"s": 1, "ms": 1_000, "us": 1_000_000, "ns": 1_000_000_000}
"""Units of time since 1970, and how many of them are a second."""

_THOUSANDS = ",. '"


@dataclass(frozen=True, kw_only=True)
class FileForm:
    r"""How text becomes columns, numbers and times; None where that is to be found out.

    Attributes
    ----------
    separator : {",", ";", "\\t", "|"} or None
        What stands between two cells.
    decimal, thousands : str or None
        The decimal mark and what groups thousands, as in ``1.234,5``.
    encoding : str or None
        By default a byte order mark decides, then UTF-8, then Windows-1252.
    header_rows : int or None
        How many lines name the columns; several are joined to one name. By default 1.
    sheet : str or None
        The sheet of an Excel file; by default its first.
    time_format : str or None
        How times are written, such as ``%d/%m/%y %H``; ``s``, ``ms``, ``us`` or ``ns`` for
        numbers since 1970; ``number`` for numbers that are no dates.
    long : (str, str) or None
        The columns with the signal's name and its value, where each line holds one reading.
    na : tuple of str
        Cells that mean a missing value, beside the usual ones. A number such as ``-999`` may be
        one.
    mapping : mapping of str to float
        Words that stand for numbers, beside on/off, open/closed, true/false and the like.

    Examples
    --------
    >>> FileForm(separator=";").to_dict()
    {'separator': ';'}
    >>> FileForm(decimal=";")
    Traceback (most recent call last):
    ...
    alora_ts.errors.AloraError: decimal=';' must be '.' or ','
    """

    separator: str | None = None
    decimal: str | None = None
    thousands: str | None = None
    encoding: str | None = None
    header_rows: int | None = None
    sheet: str | None = None
    time_format: str | None = None
    long: tuple[str, str] | None = None
    na: tuple[str, ...] = ()
    mapping: Mapping[str, float] = field(default_factory=dict)

    def __post_init__(self) -> None:
        if self.separator is not None and self.separator not in SEPARATORS:
            listed = ", ".join(map(repr, SEPARATORS))
            raise AloraError(f"separator={self.separator!r} must be one of {listed}")
        if self.decimal not in (None, ".", ","):
            raise AloraError(f"decimal={self.decimal!r} must be '.' or ','")
        if self.thousands is not None and (
            self.thousands not in _THOUSANDS or self.thousands == self.decimal
        ):
            raise AloraError(
                f"thousands={self.thousands!r} must be ',', '.', a blank or ', and not the "
                "decimal mark"
            )
        if self.encoding is not None:
            try:
                codecs.lookup(self.encoding)
            except LookupError as error:
                raise AloraError(
                    f"encoding={self.encoding!r} is unknown; common ones are utf-8, cp1252, "
                    "latin-1 and utf-16"
                ) from error
        if self.header_rows is not None and self.header_rows < 1:
            raise AloraError(f"header_rows={self.header_rows} must be at least 1")
        given = self.time_format
        if given is not None and given not in (*EPOCHS, "number") and "%" not in given:
            raise AloraError(
                f"time_format={given!r} is no format; write one such as %d/%m/%Y %H:%M, or s, ms, "
                "us or ns for numbers since 1970"
            )

    def or_else(self, other: FileForm) -> FileForm:
        """What is said here, and where nothing is said, what the other says.

        Examples
        --------
        >>> FileForm(decimal=",").or_else(FileForm(decimal=".", separator=";")).to_dict()
        {'separator': ';', 'decimal': ','}
        """
        return replace(other, **self._said())

    def to_dict(self) -> dict[str, Any]:
        """What is said, in a form JSON can hold."""
        said = self._said()
        return said | {name: list(said[name]) for name in ("long", "na") if name in said}

    @classmethod
    def from_dict(cls, saved: Mapping[str, Any]) -> FileForm:
        """Rebuild what :meth:`to_dict` gave.

        Examples
        --------
        >>> form = FileForm(long=("tag", "value"), na=("-999",))
        >>> FileForm.from_dict(form.to_dict()) == form
        True
        """
        plain: dict[str, Any] = {
            name: tuple(value) if isinstance(value, list) else value
            for name, value in saved.items()
        }
        return cls(**plain)

    def _said(self) -> dict[str, Any]:
        each = {one.name: getattr(self, one.name) for one in fields(self)}
        return {name: value for name, value in each.items() if value not in (None, (), {})}


AS_FOUND = FileForm()
"""Everything is found out."""
