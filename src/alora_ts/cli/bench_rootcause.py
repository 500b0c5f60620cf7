"""`alora-ts bench rootcause`."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from alora_ts.cli.common import refuse_early

__all__ = ["rootcause"]


def rootcause(
    cases: Annotated[
        list[Path] | None,
        typer.Argument(
            metavar="[CASES]...",
            help="Folders of cases (FAULT/RUN/normal.csv and anomalous.csv); by default sock-shop "
            "and petshop in the data folder, as far as they are there, and simulated systems.",
        ),
    ] = None,
    *,
    data: Annotated[
        Path | None,
        typer.Option(help="Folder with sock-shop/ and petshop/; else ALORA_TS_DATA."),
    ] = None,
    out: Annotated[
        Path | None, typer.Option("--out", "-o", help="Write the page (Markdown) here.")
    ] = None,
    verdicts: Annotated[
        Path | None, typer.Option(help="Write every verdict (JSON lines) here.")
    ] = None,
    simulated: Annotated[
        int, typer.Option(help="Simulated systems of each of two families.", min=0)
    ] = 6,
) -> None:
    """Count how often the cause of a known fault is named, beside simple yardsticks.

    Examples: `alora-ts bench rootcause --data ~/datasets -o rootcause.md` ·
    `alora-ts bench rootcause mycases --simulated 0`
    """
    import json

    from alora_ts.bench.rootcause import judge_cases
    from alora_ts.bench.rootcause_page import rootcause_page
    from alora_ts.datasets import data_root
    from alora_ts.datasets.rootcause import SIMULATED, load_cases, simulated_cases
    from alora_ts.errors import AloraError
    from alora_ts.files import write_atomically
    from alora_ts.progress import reporting

    for path in (out, verdicts):
        refuse_early(path)
    if cases:
        folders = list(cases)
    else:
        folders = [data_root(data) / name for name in ("sock-shop", "petshop")]
        folders = [folder for folder in folders if folder.is_dir()]
    found = [case for folder in folders for case in load_cases(folder)]
    if simulated:
        found += [case for system in SIMULATED for case in simulated_cases(system, count=simulated)]
    if not found:
        raise AloraError("there is no case; give a folder of cases, --data, or --simulated 1")
    with reporting(None) as report:
        judged = list(judge_cases(found, total=len(found), report=report))
    asked = [*map(str, cases or []), f"--simulated {simulated}"]
    page = rootcause_page(judged, command=f"alora-ts bench rootcause {' '.join(asked)}")
    if verdicts is not None:
        with write_atomically(verdicts) as part:
            lines = (json.dumps(one.to_dict()) for one in judged if one.method != "random")
            part.write_text("\n".join(lines) + "\n")
    if out is not None:
        with write_atomically(out) as part:
            part.write_text(page)
    typer.echo(page)
