"""How files are read, as options that every command which reads a table takes."""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable
from typing import TYPE_CHECKING, Annotated, Any, get_type_hints

import typer

from alora_ts.errors import AloraError

if TYPE_CHECKING:
    from alora_ts.data.form import FileForm

__all__ = ["LabelOption", "NearNamesOption", "reads_files", "split_names"]

_PANEL = "How the file is read"

LabelOption = Annotated[
    str | None,
    typer.Option(
        "--label",
        metavar="COLUMN",
        help="The column that says which rows were anomalous: no signal, used to judge the alarms.",
    ),
]
NearNamesOption = Annotated[
    bool,
    typer.Option(
        "--near-names",
        help="Take columns with names near to missing ones for them.",
        rich_help_panel=_PANEL,
    ),
]


def _option(help_: str, metavar: str | None = None) -> Any:
    return typer.Option(help=help_, metavar=metavar, rich_help_panel=_PANEL, show_default=False)


# The options in which `form` of a command comes apart; each is found out where it is not given.
_OPTIONS: dict[str, Any] = {
    "separator": Annotated[str | None, _option("Between cells: , ; | or tab.", "CHARACTER")],
    "decimal": Annotated[str | None, _option("The decimal mark: . or ,", "CHARACTER")],
    "thousands": Annotated[
        str | None, _option("What groups thousands: , . ' or a blank.", "CHARACTER")
    ],
    "encoding": Annotated[str | None, _option("Such as utf-8, cp1252 or utf-16.", "NAME")],
    "header_rows": Annotated[
        int | None, _option("Lines that name the columns; joined to one name each.", "COUNT")
    ],
    "sheet": Annotated[str | None, _option("The sheet of an Excel file.", "NAME")],
    "time_format": Annotated[
        str | None,
        _option("How times are written: '%d/%m/%y %H', or s, ms, us, ns since 1970.", "FORMAT"),
    ],
    "long": Annotated[
        str | None,
        _option("One reading a line: the columns with the signal and its value.", "TAG,VALUE"),
    ],
    "na": Annotated[
        list[str] | None, _option("Cells that mean missing (comma-separated, repeatable).", "WORDS")
    ],
    "map": Annotated[
        list[str] | None,
        _option("Words that stand for numbers: AUTO=1,MANUAL=0 (repeatable).", "WORD=NUMBER"),
    ],
}


def reads_files(command: Callable[..., None]) -> Callable[..., None]:
    """Give a command the options of a ``FileForm``, which it takes as its argument ``form``."""

    @functools.wraps(command)
    def wrapped(**given: Any) -> None:
        form = _as_form({name: given.pop(name) for name in _OPTIONS})
        command(**given, form=form)

    kept = [one for one in inspect.signature(command).parameters.values() if one.name != "form"]
    hints = get_type_hints(command, include_extras=True, localns={"FileForm": object})
    more = [
        inspect.Parameter(name, inspect.Parameter.KEYWORD_ONLY, default=None, annotation=kind)
        for name, kind in _OPTIONS.items()
    ]
    typed = [one.replace(annotation=hints[one.name]) for one in kept]
    wrapped.__signature__ = inspect.Signature([*typed, *more])  # type: ignore[attr-defined]
    wrapped.__annotations__ = {one.name: one.annotation for one in (*typed, *more)}
    del wrapped.__wrapped__  # or the command's own signature is seen
    return wrapped


def _as_form(given: dict[str, Any]) -> FileForm:
    from alora_ts.data.form import FileForm

    separator = given["separator"]
    return FileForm(
        separator="\t" if separator in ("tab", "\\t") else separator,
        decimal=given["decimal"],
        thousands=given["thousands"],
        encoding=given["encoding"],
        header_rows=given["header_rows"],
        sheet=given["sheet"],
        time_format=given["time_format"],
        long=_pair(given["long"]),
        na=tuple(split_names(given["na"])),
        mapping=dict(map(_equation, split_names(given["map"]))),
    )


def _pair(text: str | None) -> tuple[str, str] | None:
    if text is None:
        return None
    tag, comma, value = text.partition(",")
    if not comma or not tag.strip() or not value.strip():
        raise AloraError(f"--long {text}: name two columns, as in --long tag,value")
    return tag.strip(), value.strip()


def _equation(text: str) -> tuple[str, float]:
    word, sign, number = text.rpartition("=")
    try:
        if not sign:
            raise ValueError
        return word.strip(), float(number)
    except ValueError as error:
        raise AloraError(f"--map {text}: write a word and its number, as in AUTO=1") from error


def split_names(given: list[str] | None) -> list[str]:
    """Names given as ``--ignore a,b --ignore c``.

    Examples
    --------
    >>> split_names(["a,b", " c "])
    ['a', 'b', 'c']
    """
    return [name.strip() for part in given or [] for name in part.split(",") if name.strip()]
