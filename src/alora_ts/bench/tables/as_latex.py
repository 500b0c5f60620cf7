"""Tables as LaTeX with booktabs."""

from __future__ import annotations

from itertools import pairwise

from alora_ts.bench.tables.table import Cell, ResultTable, Row

__all__ = ["as_latex"]

_CHARACTERS = {
    "\\": r"\textbackslash{}",
    "&": r"\&",
    "%": r"\%",
    "$": r"\$",
    "#": r"\#",
    "_": r"\_",
    "{": r"\{",
    "}": r"\}",
    "~": r"\textasciitilde{}",
    "^": r"\textasciicircum{}",
    "<": r"\textless{}",
    ">": r"\textgreater{}",
    "‖": r"$\Vert$",
    "³": r"\textsuperscript{3}",
    "²": r"\textsuperscript{2}",
    "₁": r"\textsubscript{1}",
    "±": r"$\pm$",
    "−": "$-$",
    "–": "--",
    "†": r"$^\dagger$",
    "χ": r"$\chi$",
    "·": r"$\cdot$",
    "’": "'",
    "…": r"\dots{}",
}
_MARKS = {"best": r"\textbf", "second": r"\underline"}


def as_latex(table: ResultTable) -> str:
    r"""Write a table as a ``table`` environment; it needs the package booktabs.

    Examples
    --------
    >>> row = Row("KNN", (Cell(value=0.5),))
    >>> table = ResultTable("detection", "A & B", ("method", "F1"), (row,))
    >>> print(as_latex(table))
    \begin{table}
    \centering
    \caption{A \& B}
    \begin{tabular}{lr}
    \toprule
    method & F1 \\
    \midrule
    KNN & 0.500 \\
    \bottomrule
    \end{tabular}
    \end{table}
    <BLANKLINE>
    """
    lines = [
        r"\begin{table}",
        r"\centering",
        rf"\caption{{{_escaped(table.title)}}}",
        rf"\begin{{tabular}}{{l{'r' * (len(table.columns) - 1)}}}",
        r"\toprule",
        _line([_escaped(name) for name in table.columns]),
        r"\midrule",
        *_body(table.rows),
        r"\bottomrule",
        r"\end{tabular}",
    ]
    if table.notes:
        notes = " ".join(_escaped(note) for note in table.notes)
        lines.append(rf"\par\smallskip\footnotesize {notes}")
    return "\n".join([*lines, r"\end{table}", ""])


def _body(rows: tuple[Row, ...]) -> list[str]:
    lines = [_line([_escaped(row.name), *(_cell(cell) for cell in row.cells)]) for row in rows]
    # A thin line sets the yardsticks apart.
    borders = [at for at, (one, two) in enumerate(pairwise(rows)) if one.apart != two.apart]
    for at in reversed(borders):
        lines.insert(at + 1, r"\midrule")
    return lines


def _line(cells: list[str]) -> str:
    return rf"{' & '.join(cells)} \\"


def _cell(cell: Cell) -> str:
    said = _escaped(cell.text)
    return said if cell.mark is None else f"{_MARKS[cell.mark]}{{{said}}}"


def _escaped(text: str) -> str:
    return "".join(_CHARACTERS.get(character, character) for character in text)
