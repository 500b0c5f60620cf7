"""Where in a TOML file a setting stands."""

from __future__ import annotations

import re
from collections.abc import Sequence

__all__ = ["line_of"]

_HEADER = re.compile(r"\s*(\[\[?)\s*([^\]]+?)\s*\]")
_KEY = re.compile(r"\s*([A-Za-z0-9_.\"'-]+)\s*=")


def line_of(text: str, place: Sequence[str | int]) -> int:
    r"""The line of a setting, or of the section that lacks it; 1 where neither is found.

    Parameters
    ----------
    text : str
        A TOML file that could be read.
    place : sequence of str or int
        Such as ("connect", "mqtt", 0, "port").

    Examples
    --------
    >>> text = 'port = 1\n[[notify.webhook]]\nname = "a"\n[[notify.webhook]]\nurl = "x"\n'
    >>> line_of(text, ("port",)), line_of(text, ("notify", "webhook", 1, "url"))
    (1, 5)
    >>> line_of(text, ("notify", "webhook", 0, "url"))
    2
    """
    found: dict[tuple[str | int, ...], int] = {(): 1}
    section: tuple[str | int, ...] = ()
    counts: dict[tuple[str | int, ...], int] = {}
    for number, line in enumerate(text.splitlines(), start=1):
        header, key = _HEADER.match(line), _KEY.match(line)
        if header:
            names = _split(header[2])
            section = _within(names, counts)
            if header[1] == "[[":
                counts[section] = counts.get(section, -1) + 1
                section = (*section, counts[section])
            found.setdefault(section, number)
        elif key:
            found.setdefault((*section, *_split(key[1])), number)
    # The longest beginning that stands in the file says best where to look.
    for length in range(len(place), -1, -1):
        if tuple(place[:length]) in found:
            return found[tuple(place[:length])]
    return 1


def _split(dotted: str) -> list[str]:
    return [part.strip().strip("\"'") for part in dotted.split(".")]


def _within(
    names: Sequence[str], counts: dict[tuple[str | int, ...], int]
) -> tuple[str | int, ...]:
    """The place of a section, inside the newest of each list of sections on the way."""
    place: tuple[str | int, ...] = ()
    for at, name in enumerate(names):
        place = (*place, name)
        if at < len(names) - 1 and place in counts:
            place = (*place, counts[place])
    return place
