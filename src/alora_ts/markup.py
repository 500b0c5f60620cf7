"""Small HTML for notebooks: it takes the colours of the page around it and needs no script."""

from __future__ import annotations

from collections.abc import Sequence
from html import escape

__all__ = ["STYLE", "boxed", "html_table"]

STYLE = (
    "<style>.alora-ts{max-width:64em;font-size:13px;line-height:1.45}"
    ".alora-ts .scroll{overflow-x:auto}"
    ".alora-ts table{border-collapse:collapse;margin:.4em 0}"
    ".alora-ts th,.alora-ts td{padding:.15em .7em .15em 0;text-align:left;vertical-align:top;"
    "white-space:nowrap;border:0;background:none}"
    ".alora-ts th{font-weight:600;opacity:.7}.alora-ts .n{text-align:right}"
    ".alora-ts .high{color:#c02530;font-weight:600}.alora-ts .medium{color:#b06a00}"
    ".alora-ts p{margin:.3em 0}.alora-ts svg{display:block;width:100%;height:70px}</style>"
)


def html_table(
    headings: Sequence[str], rows: Sequence[Sequence[str]], *, numbers: Sequence[int] = ()
) -> str:
    """A table of text; the columns in ``numbers`` stand to the right.

    Examples
    --------
    >>> html_table(["name"], [["a<b"]])
    '<div class="scroll"><table><tr><th>name</th></tr><tr><td>a&lt;b</td></tr></table></div>'
    """

    def line(cells: Sequence[str], tag: str) -> str:
        marks = (' class="n"' if at in numbers else "" for at in range(len(cells)))
        inside = (
            f"<{tag}{mark}>{escape(cell)}</{tag}>" for cell, mark in zip(cells, marks, strict=True)
        )
        return f"<tr>{''.join(inside)}</tr>"

    body = line(headings, "th") + "".join(line(row, "td") for row in rows)
    return f'<div class="scroll"><table>{body}</table></div>'


def boxed(*parts: str) -> str:
    """Parts of a notebook's output with the style they need.

    Examples
    --------
    >>> boxed("<p>one</p>").endswith('<div class="alora-ts"><p>one</p></div>')
    True
    """
    return f'{STYLE}<div class="alora-ts">{"".join(parts)}</div>'
