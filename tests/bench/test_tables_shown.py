"""Five ways to show a table, with hostile names in it."""

from __future__ import annotations

import csv
import io
from html.parser import HTMLParser

import pytest
from rich.console import Console, Group

from alora_ts.bench.tables.as_csv import as_csv
from alora_ts.bench.tables.as_html import as_html
from alora_ts.bench.tables.as_latex import as_latex
from alora_ts.bench.tables.as_markdown import as_markdown
from alora_ts.bench.tables.as_terminal import as_terminal
from alora_ts.bench.tables.catalogue import build_tables
from alora_ts.bench.tables.table import Cell, ResultTable, Row
from tests.bench.records import tournament

HOSTILE = ResultTable(
    "odd",
    "50 % of <b>a_b</b> & c",
    ("method", "F1 | x", "n"),
    (
        Row("‖x‖", (Cell(value=1 / 3), Cell()), apart=True),
        Row(
            "a|b_[red]c",
            (
                Cell(value=0.5, deviation=0.25, part="1/2 entities", mark="best"),
                Cell(words="left out", mark=None),
            ),
        ),
        Row(
            "D³R",
            (Cell(value=-0.0001, interval=(-1.0, 2.0), mark="second"), Cell(value=1e6, digits=0)),
        ),
    ),
    ("A note with 5 % and <script>.",),
)
EMPTY = ResultTable("empty", "Nothing", ("method",), ())


class _Cells(HTMLParser):
    def __init__(self) -> None:
        super().__init__()
        self.rows: list[list[str]] = []
        self.opened: list[str] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        del attrs
        self.opened.append(tag)
        if tag == "tr":
            self.rows.append([])
        elif tag in {"td", "th"}:
            self.rows[-1].append("")

    def handle_data(self, data: str) -> None:
        if self.opened and self.opened[-1] in {"td", "th"} and data.strip():
            self.rows[-1][-1] += data


def test_csv_is_exact_and_has_columns_for_what_belongs_to_a_number() -> None:
    rows = list(csv.reader(io.StringIO(as_csv(HOSTILE))))
    assert rows[0] == [
        "method", "F1 | x", "F1 | x std", "F1 | x low", "F1 | x high", "F1 | x covers", "n",
    ]  # fmt: skip
    assert float(rows[1][1]) == 1 / 3
    assert rows[1][6] == ""
    assert rows[2] == ["a|b_[red]c", "0.5", "0.25", "", "", "1/2 entities", "left out"]
    assert rows[3][3:5] == ["-1.0", "2.0"]


def test_markdown_keeps_its_columns() -> None:
    lines = [line for line in as_markdown(HOSTILE).splitlines() if line.startswith("|")]
    assert {line.replace(r"\|", "").count("|") for line in lines} == {4}
    assert r"| **0.500 ±0.250 (1/2 entities)** | left out |" in as_markdown(HOSTILE)
    assert "*0.000 [-1.000, 2.000]*" in as_markdown(HOSTILE)
    assert "| *‖x‖* | 0.333 | – |" in as_markdown(HOSTILE)
    assert as_markdown(HOSTILE, level=2).startswith("## 50 %")


def test_latex_escapes_and_sets_yardsticks_apart() -> None:
    said = as_latex(HOSTILE)
    assert r"50 \% of \textless{}b\textgreater{}a\_b" in said
    assert r"$\Vert$x$\Vert$ & 0.333 & -- \\" + "\n" + r"\midrule" in said
    assert r"\textbf{0.500 $\pm$0.250 (1/2 entities)}" in said
    assert r"\underline{" in said
    assert said.isascii()


def test_html_is_a_whole_fragment_and_escapes() -> None:
    said = as_html(HOSTILE)
    assert "<script>" not in said
    assert "<b>" not in said
    assert "http" not in said
    parser = _Cells()
    parser.feed(said)
    assert parser.rows[0] == ["method", "F1 | x", "n"]
    assert parser.rows[2] == ["a|b_[red]c", "0.500 ±0.250 (1/2 entities)", "left out"]
    assert said.count("<tr") == said.count("</tr>") == 4


def test_the_terminal_shows_names_as_they_are() -> None:
    console = Console(width=120, color_system=None)
    with console.capture() as capture:
        console.print(as_terminal(HOSTILE, width=120))
    assert "a|b_[red]c" in capture.get()
    assert "A note with 5 %" in capture.get()


def test_narrow_terminals_lose_nothing() -> None:
    table = build_tables(tournament(), "waiting")[0]
    console = Console(width=60, color_system=None)
    with console.capture() as capture:
        console.print(as_terminal(table, width=60))
    lines = capture.get().splitlines()
    assert max(map(len, lines)) <= 60
    for row in table.rows:
        begun = " ".join(line for line in lines if line.startswith(row.name))
        assert all(cell.text in begun for cell in row.cells)


def _in_terminal(table: ResultTable) -> Group:
    return as_terminal(table, width=80)


@pytest.mark.parametrize("show", [as_csv, as_markdown, as_latex, as_html, _in_terminal])
def test_empty_tables_and_all_real_ones_can_be_shown(show) -> None:  # type: ignore[no-untyped-def]
    assert show(EMPTY)
    for table in build_tables(tournament()):
        assert show(table)
        if show is as_latex:
            assert as_latex(table).isascii()
