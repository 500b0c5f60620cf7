"""What a user may know of a system beside its signals: which belong together, which act on which.

Neither is ever needed. Groups rank whole services, machines or lines; known influences say along
which ways an incident may have spread.
"""

from __future__ import annotations

import csv
import difflib
import os
import re
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path

from alora_ts.errors import DataError, nearest

__all__ = ["Edges", "group_names", "keep_known", "rank_groups", "read_edges", "tell_unknown"]

Edges = tuple[tuple[str, str], ...]
"""Known influences, each from a cause to an effect."""

_FORM = "give two columns (cause, effect) with a header, or a square table of numbers"
_SHOWN = 5
_RULE = re.compile(r"(prefix before|suffix after) (.+)")


def group_names(variables: Sequence[str], rule: str | Mapping[str, str]) -> tuple[str, ...]:
    """The group of each variable.

    Parameters
    ----------
    variables : sequence of str
    rule : str or mapping
        ``"prefix before _"`` takes what stands before the first ``_`` of a name, ``"suffix after
        _"`` what stands after the last; any other separator will do. A mapping gives each
        variable's group. A variable without one is a group of its own.

    Returns
    -------
    tuple of str

    Raises
    ------
    DataError
        When the rule cannot be read, matches no variable, or a mapping names an unknown one.

    Examples
    --------
    >>> group_names(["carts_cpu", "carts_mem", "load"], "prefix before _")
    ('carts', 'carts', 'load')
    >>> group_names(["a", "b"], {"a": "pumps", "b": "pumps"})
    ('pumps', 'pumps')
    """
    if isinstance(rule, Mapping):
        unknown = [name for name in rule if name not in variables]
        if unknown:
            raise DataError(
                f"groups: there is no variable {unknown[0]!r}{nearest(unknown[0], variables)}"
            )
        return tuple(rule.get(name, name) for name in variables)
    read = _RULE.fullmatch(rule.lstrip())  # a separator may be a space
    if read is None:
        raise DataError(
            f"groups: cannot read the rule {rule!r}; write 'prefix before _', 'suffix after _' "
            "(with your own separator) or give a mapping from variables to groups"
        )
    side, separator = read[1], read[2]
    if not any(separator in name for name in variables):
        raise DataError(
            f"groups: {rule!r} matches none of the {len(variables)} variables, such as "
            f"{variables[0]!r}; none of them contains {separator!r}"
        )
    if side == "prefix before":
        return tuple(name.partition(separator)[0] for name in variables)
    return tuple(name.rpartition(separator)[2] for name in variables)


def rank_groups(ranked: Iterable[str], groups: Mapping[str, str]) -> tuple[str, ...]:
    """Groups in the order in which their first variables appear in a ranking.

    Examples
    --------
    >>> rank_groups(["a_cpu", "b_mem", "a_mem"], {"a_cpu": "a", "a_mem": "a", "b_mem": "b"})
    ('a', 'b')
    """
    return tuple(dict.fromkeys(groups[name] for name in ranked))


def read_edges(path: str | os.PathLike[str]) -> Edges:
    r"""Read known influences from a CSV file.

    Parameters
    ----------
    path : path-like
        Two columns, cause and effect, with a header; or a square table with the names in its
        first row and first column and a number other than 0 where the row's name acts on the
        column's.

    Returns
    -------
    tuple of (str, str)

    Raises
    ------
    DataError
        When the file is no such table.

    Examples
    --------
    >>> import tempfile
    >>> path = Path(tempfile.mkdtemp()) / "edges.csv"
    >>> _ = path.write_text("cause,effect\nvalve,flow\nflow,level\n")
    >>> read_edges(path)
    (('valve', 'flow'), ('flow', 'level'))
    """
    place = Path(path)
    if not place.is_file():
        raise DataError(f"{place} does not exist; give a CSV file of influences")
    with place.open(newline="", encoding="utf-8-sig") as file:
        rows = [row for row in csv.reader(file) if row]
    if not rows:
        raise DataError(f"{place} is empty; {_FORM}")
    head, body = rows[0], rows[1:]
    if len(head) == 2 and head[0].strip():
        edges = _listed(place, body)
    else:
        edges = _square(place, head[1:], body)
    if not edges:
        raise DataError(f"{place} names no influence; {_FORM}")
    return edges


def keep_known(edges: Edges, known: Iterable[str], *, where: str) -> tuple[Edges, tuple[str, ...]]:
    """Keep the influences between variables and groups that there are.

    A graph of a whole system names parts that nobody measures; they are told, not refused.

    Parameters
    ----------
    edges : tuple of (str, str)
    known : iterable of str
        Variables and groups.
    where : str
        Where they were given, for the error.

    Returns
    -------
    kept : tuple of (str, str)
    unknown : tuple of str
        Names that are neither, in the order of their appearance.

    Raises
    ------
    DataError
        When no influence is left.

    Examples
    --------
    >>> keep_known((("valve", "flow"), ("flow", "sky")), ["valve", "flow"], where="edges.csv")
    ((('valve', 'flow'),), ('sky',))
    >>> keep_known((("cart", "load"),), ["cart_cpu", "load"], where="edges.csv")
    Traceback (most recent call last):
    alora_ts.errors.DataError: edges.csv: unknown name 'cart'; if it is a group, give ...
    """
    names = set(known)
    unknown = dict.fromkeys(one for edge in edges for one in edge if one not in names)
    kept = tuple(edge for edge in edges if names.issuperset(edge))
    if unknown and not kept:
        name = next(iter(unknown))
        grouped = any(name in one for one in names)
        hint = "; if it is a group, give the rule of groups too" if grouped else ""
        raise DataError(f"{where}: unknown name {name!r}{hint}{nearest(name, names)}")
    return kept, tuple(unknown)


def tell_unknown(unknown: Sequence[str], known: Iterable[str]) -> str:
    """What to say of names that no influence is drawn for.

    Examples
    --------
    >>> tell_unknown(["flwo", "sky"], ["flow", "valve"])
    "influences: no signal or group is called 'flwo' (did you mean 'flow'?), 'sky'; left out"
    """
    names = sorted(set(known))

    def said(name: str) -> str:
        close = difflib.get_close_matches(name, names, n=1)
        return f"{name!r} (did you mean {close[0]!r}?)" if close else repr(name)

    shown = ", ".join(map(said, unknown[:_SHOWN]))
    more = f" and {len(unknown) - _SHOWN} more" if len(unknown) > _SHOWN else ""
    return f"influences: no signal or group is called {shown}{more}; left out"


def _listed(place: Path, body: list[list[str]]) -> Edges:
    for number, row in enumerate(body, start=2):
        if len(row) != 2 or not all(cell.strip() for cell in row):
            raise DataError(f"{place}, line {number}: expected a cause and an effect, got {row}")
    return tuple((row[0].strip(), row[1].strip()) for row in body)


def _square(place: Path, names: list[str], body: list[list[str]]) -> Edges:
    edges = []
    for number, row in enumerate(body, start=2):
        if len(row) != len(names) + 1:
            raise DataError(
                f"{place}, line {number}: {len(row) - 1} numbers under {len(names)} names; {_FORM}"
            )
        for name, cell in zip(names, row[1:], strict=True):
            try:
                acts = float(cell or 0) != 0
            except ValueError:
                raise DataError(
                    f"{place}, line {number}: {cell!r} is not a number; {_FORM}"
                ) from None
            if acts:
                edges.append((row[0], name))
    return tuple(edges)
