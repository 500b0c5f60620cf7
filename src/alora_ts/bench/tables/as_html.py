"""Tables as HTML fragments that carry their own style."""

from __future__ import annotations

from html import escape

from alora_ts.bench.tables.table import Cell, ResultTable, Row

__all__ = ["as_html"]

_STYLE = """<style>
.alora-table{margin:1.5em 0;overflow-x:auto;font:14px/1.4 system-ui,sans-serif}
.alora-table table{border-collapse:collapse;font-variant-numeric:tabular-nums}
.alora-table caption{text-align:left;font-weight:600;padding:.3em 0}
.alora-table th,.alora-table td{padding:.2em .7em;text-align:right;white-space:nowrap}
.alora-table th:first-child{text-align:left}
.alora-table thead th{border-top:2px solid;border-bottom:1px solid;white-space:normal;
vertical-align:bottom}
.alora-table tbody th{font-weight:400}
.alora-table tr.apart th{font-style:italic}
.alora-table tr.border>*{border-top:1px solid}
.alora-table tbody tr:last-child>*{border-bottom:2px solid}
.alora-table .best{font-weight:700}
.alora-table .second{text-decoration:underline}
.alora-table p{margin:.4em 0;max-width:60em;font-size:.9em;opacity:.8}
</style>"""


def as_html(table: ResultTable) -> str:
    """Write a table as one ``figure`` element with the style it needs; nothing is loaded.

    Examples
    --------
    >>> row = Row("KNN", (Cell(value=0.5),))
    >>> table = ResultTable("detection", "A & B", ("method", "F1"), (row,))
    >>> "<caption>A &amp; B</caption>" in as_html(table)
    True
    """
    head = "".join(f'<th scope="col">{escape(name)}</th>' for name in table.columns)
    notes = [escape(note) for note in table.notes]
    if any(cell.mark for row in table.rows for cell in row.cells):
        notes.append('<span class="best">Best</span>, <span class="second">second best</span>.')
    return "\n".join(
        [
            '<figure class="alora-table">',
            _STYLE,
            f"<table><caption>{escape(table.title)}</caption>",
            f"<thead><tr>{head}</tr></thead>",
            "<tbody>",
            *_body(table.rows),
            "</tbody></table>",
            *(f"<p>{note}</p>" for note in notes),
            "</figure>",
            "",
        ]
    )


def _body(rows: tuple[Row, ...]) -> list[str]:
    lines = []
    for number, row in enumerate(rows):
        border = number > 0 and rows[number - 1].apart != row.apart
        kinds = [name for name, is_so in (("apart", row.apart), ("border", border)) if is_so]
        kind = f' class="{" ".join(kinds)}"' if kinds else ""
        cells = "".join(_cell(cell) for cell in row.cells)
        lines.append(f'<tr{kind}><th scope="row">{escape(row.name)}</th>{cells}</tr>')
    return lines


def _cell(cell: Cell) -> str:
    kind = f' class="{cell.mark}"' if cell.mark else ""
    return f"<td{kind}>{escape(cell.text)}</td>"
