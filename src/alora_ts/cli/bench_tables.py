"""`alora-ts bench tables` and `bench page`: results for people."""

from __future__ import annotations

from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

if TYPE_CHECKING:
    from alora_ts.bench.tables.table import ResultTable


class Format(StrEnum):
    """How a table is shown."""

    terminal = "terminal"
    markdown = "markdown"
    latex = "latex"
    csv = "csv"
    html = "html"


_ENDINGS = {".md": "markdown", ".tex": "latex", ".csv": "csv", ".html": "html", ".txt": "terminal"}
_WIDE = 240  # columns where no terminal says how many there are

Results = Annotated[
    list[Path],
    typer.Argument(metavar="RESULTS...", help="Folders that `alora-ts bench run` wrote."),
]

Common = Annotated[
    bool,
    typer.Option("--common", help="Leave out entities that not every method has been run on."),
]


def tables(
    results: Results,
    *,
    table: Annotated[
        str | None, typer.Option(help="Only this one: detection, range, …", show_default=False)
    ] = None,
    kind: Annotated[
        Format | None,
        typer.Option("--format", help="By default what --out ends in, or terminal."),
    ] = None,
    out: Annotated[
        Path | None,
        typer.Option("--out", "-o", help="A file for all of them, or a folder for a file each."),
    ] = None,
    common: Common = False,
) -> None:
    """Show results as tables, with chance and the published numbers beside them.

    Tables: detection, range, tsb-ad, localization, waiting, significance, deviations, entities,
    datasets, cost, paired, ablations, embedding.

    Example: `alora-ts bench tables results/cpu --table detection`

    Example: `alora-ts bench tables results/cpu results/ablation --format latex --out tables/`
    """
    from alora_ts.bench.common import common_ground
    from alora_ts.bench.record import read_records
    from alora_ts.bench.tables.catalogue import build_tables
    from alora_ts.errors import AloraError

    records = list(read_records(*results))
    built = build_tables(common_ground(records)[0] if common else records, table)
    if not built:
        raise AloraError(
            f"the results in {', '.join(map(str, results))} have no numbers for the table "
            f"{table!r}; run a plan that measures them, or leave out --table to see what there is"
        )
    chosen = kind.value if kind is not None else _by_ending(out)
    if out is None:
        _print(built, chosen)
    elif out.is_dir() or not out.suffix:
        _write_each(built, chosen, out)
    else:
        _write(out, _joined(built, chosen))


def page(
    results: Results,
    *,
    out: Annotated[Path, typer.Option("--out", "-o", help="The Markdown file to write.")],
    common: Common = False,
) -> None:
    """Write the page of results: tables, ranks, and in words where ALoRa wins, ties and loses.

    Example: `alora-ts bench page results/cpu results/ablation --out docs/results.md`
    """
    from alora_ts.bench.page import write_page

    write_page(results, out, common=common)
    typer.echo(f"wrote {out}")


def _by_ending(out: Path | None) -> str:
    if out is None:
        return "terminal"
    if not out.suffix:
        return "markdown"
    if out.suffix not in _ENDINGS:
        from alora_ts.errors import AloraError

        raise AloraError(
            f"cannot tell from {out} how to write the tables; give --format, or end the name in "
            f"{', '.join(_ENDINGS)}"
        )
    return _ENDINGS[out.suffix]


def _print(built: list[ResultTable], kind: str) -> None:
    if kind != "terminal":
        typer.echo(_joined(built, kind), nl=False)
        return
    from rich.console import Console

    from alora_ts.bench.tables.as_terminal import as_terminal

    console = Console(highlight=False)
    if not console.is_terminal:
        console = Console(highlight=False, width=_WIDE)
    for one in built:
        console.print(as_terminal(one, width=console.width))


def _joined(built: list[ResultTable], kind: str) -> str:
    return "\n".join(_text(one, kind) for one in built)


def _text(one: ResultTable, kind: str) -> str:
    from alora_ts.bench.tables.as_csv import as_csv
    from alora_ts.bench.tables.as_html import as_html
    from alora_ts.bench.tables.as_latex import as_latex
    from alora_ts.bench.tables.as_markdown import as_markdown

    if kind == "terminal":
        from rich.console import Console

        from alora_ts.bench.tables.as_terminal import as_terminal

        console = Console(width=_WIDE, color_system=None, highlight=False)
        with console.capture() as capture:
            console.print(as_terminal(one, width=_WIDE))
        return "\n".join(line.rstrip() for line in capture.get().splitlines()) + "\n"
    written = {"markdown": as_markdown, "latex": as_latex, "csv": as_csv, "html": as_html}
    return written[kind](one)


def _write_each(built: list[ResultTable], kind: str, folder: Path) -> None:
    import re

    from alora_ts.errors import AloraError

    ending = next(end for end, name in _ENDINGS.items() if name == kind)
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise AloraError(f"cannot make the folder {folder}: {error.strerror}") from error
    taken: dict[str, int] = {}
    for one in built:
        words = re.sub(r"[^a-z0-9]+", "-", one.title.lower()).strip("-")
        name = f"{one.name}-{words}"
        # Two plans on the same data have tables of the same title.
        taken[name] = taken.get(name, 0) + 1
        number = "" if taken[name] == 1 else f"-{taken[name]}"
        _write(folder / f"{name}{number}{ending}", _text(one, kind))
    typer.echo(f"wrote {len(built)} tables into {folder}")


def _write(path: Path, text: str) -> None:
    from alora_ts.files import write_atomically

    with write_atomically(path) as part:
        part.write_text(text, encoding="utf-8")
