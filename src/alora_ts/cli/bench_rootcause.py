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
    method: Annotated[
        list[str] | None,
        typer.Option(help="Compared methods that localize, such as cnn; repeatable."),
    ] = None,
    affected: Annotated[
        bool, typer.Option(help="Also the affected sets of SMD and ASD, as far as they are there.")
    ] = False,
) -> None:
    """Count how often the cause of a known fault is named, beside simple yardsticks.

    Examples: `alora-ts bench rootcause --data ~/datasets -o rootcause.md` ·
    `alora-ts bench rootcause mycases --simulated 0 --method cnn --method daemon`

    `alora-ts bench run rootcause` is all of it: every compared method that localizes and runs on
    two cores, and the affected sets.
    """
    import json

    from alora_ts.bench.affected import judge_affected
    from alora_ts.bench.rootcause import judge_cases, refuse_silent
    from alora_ts.bench.rootcause_page import rootcause_page
    from alora_ts.datasets import data_root
    from alora_ts.datasets.rootcause import SIMULATED, load_cases, simulated_cases
    from alora_ts.errors import AloraError
    from alora_ts.files import write_atomically
    from alora_ts.progress import reporting

    for path in (out, verdicts):
        refuse_early(path)
    methods = method or []
    refuse_silent(methods)
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
        judged = list(judge_cases(found, total=len(found), report=report, methods=methods))
        sets = judge_affected(data_root(data), report=report) if affected else []
    asked = [*map(str, cases or []), f"--simulated {simulated}"]
    asked += [f"--method {name}" for name in methods] + ["--affected"] * affected
    command = f"alora-ts bench rootcause {' '.join(asked)}"
    page = rootcause_page(judged, command=command, affected=sets)
    if verdicts is not None:
        with write_atomically(verdicts) as part:
            lines = (json.dumps(one.to_dict()) for one in judged if one.method != "random")
            part.write_text("\n".join(lines) + "\n")
    if out is not None:
        with write_atomically(out) as part:
            part.write_text(page)
    typer.echo(page)
