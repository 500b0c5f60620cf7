"""Markdown whose prose is wrapped, so that changes of a page can be read line by line."""

from __future__ import annotations

import re
import textwrap

__all__ = ["wrap_markdown"]

_WIDTH = 100
_ITEM = re.compile(r"^(\s*)([-*]|\d+\.) ")
_AS_IT_IS = ("#", "|", "!", "<")
# A line that began so would be read as a list, a heading, a table or a quotation.
_MARKS = re.compile(r"^\s*([-*+>] |\d+\. |#|\|)")


def wrap_markdown(page: str) -> str:
    r"""Wrap paragraphs and list items at 100 characters; leave code, tables and pictures alone.

    Examples
    --------
    >>> page = "# A heading\n\n- " + "many words " * 12 + "\n- few words\n\n| a | table |\n"
    >>> print(wrap_markdown(page))
    # A heading
    <BLANKLINE>
    - many words many words many words many words many words many words many words many words many
      words many words many words many words
    - few words
    <BLANKLINE>
    | a | table |
    <BLANKLINE>
    """
    lines: list[str] = []
    waiting: list[str] = []
    fenced = False
    for line in page.split("\n"):
        fence = line.startswith("```")
        if fenced or fence or not line.strip() or line.startswith(_AS_IT_IS):
            lines += _wrapped(waiting)
            waiting = []
            lines.append(line)
            fenced ^= fence
        else:
            if _ITEM.match(line):
                lines += _wrapped(waiting)
                waiting = []
            waiting.append(line)
    return "\n".join(lines + _wrapped(waiting))


def _wrapped(paragraph: list[str]) -> list[str]:
    if not paragraph:
        return []
    item = _ITEM.match(paragraph[0])
    first = item[0] if item else ""
    text = " ".join(line.strip() for line in paragraph)[len(first.lstrip()) :]
    lines = textwrap.wrap(
        text,
        _WIDTH,
        initial_indent=first,
        subsequent_indent=" " * len(first),
        break_long_words=False,
        break_on_hyphens=False,
    )
    for at in range(1, len(lines)):
        if _MARKS.match(lines[at]):
            lines[at - 1], last = lines[at - 1].rsplit(" ", 1)
            lines[at] = f"{' ' * len(first)}{last} {lines[at].lstrip()}"
    return lines
