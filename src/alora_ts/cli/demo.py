"""`alora-ts demo`: a simulated plant with known faults, from data to report in a minute."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from alora_ts.cli.common import console
from alora_ts.errors import AloraError

if TYPE_CHECKING:
    from alora_ts.datasets.synthetic_dataset import SyntheticDataset
    from alora_ts.diagnosis import Diagnosis, Incident


def demo(
    folder: Annotated[
        Path, typer.Argument(metavar="FOLDER", help="Where to write data, model and report.")
    ] = Path("alora-demo"),
    *,
    serve: Annotated[
        bool,
        typer.Option(
            "--serve", help="Let the plant run on, watch it live and show it in the browser."
        ),
    ] = False,
    port: Annotated[
        int | None,
        typer.Option(
            help="Where --serve listens; another where it is taken.", show_default="8080", min=1
        ),
    ] = None,
    seed: Annotated[int, typer.Option(help="Seed of the simulation.")] = 0,
) -> None:
    """Simulate a plant with faults of known origin, fit, diagnose, compare, write a report.

    With --serve the plant runs on, a row a second, and is watched live until Ctrl-C.

    Example: `alora-ts demo` and then `alora-ts demo --serve`
    """
    if serve:
        from alora_ts.cli.demo_live import serve_plant

        serve_plant(_make(folder), port=port, seed=seed)
        return
    if port is not None:
        raise typer.BadParameter("only --serve listens anywhere", param_hint="--port")
    import polars as pl

    from alora_ts.data.write import write_table
    from alora_ts.datasets.synthetic import make
    from alora_ts.estimator import ALoRa

    out = console()
    _make(folder)
    plant = make("plant", seed=seed)
    for name, rows, stamps in (
        ("normal.csv", plant.train, plant.train_timestamps),
        ("today.csv", plant.test, plant.test_timestamps),
    ):
        columns = dict(zip(plant.variables, rows.T, strict=True))
        write_table(pl.DataFrame({"time": stamps, **columns}), folder / name)
    out.print(
        f"A simulated plant in {folder}/: {len(plant.variables)} signals, one row a minute;\n"
        f"normal.csv has {len(plant.train):,} normal rows, today.csv {len(plant.test):,} rows with "
        f"{len(plant.faults)} faults."
    )
    # Somebody is called for every incident: one false one in three days will do.
    model = ALoRa(seed=seed, false_alarms="1 per 3 days").fit(folder / "normal.csv")
    model.save(folder / "plant.alora")
    diagnosis = model.diagnose(folder / "today.csv")
    _compare(plant, diagnosis)
    page = diagnosis.report(folder / "report.html", title="A plant with faults")
    out.print(f"Report: {page.resolve()}", markup=False, soft_wrap=True)
    out.print(
        "\nNext, watch it live in the browser:\n"
        "  alora-ts demo --serve\n"
        "or let a file run as if it came in now:\n"
        f"  alora-ts serve --model {folder / 'plant.alora'}\n"
        f"  alora-ts replay {folder / 'today.csv'} --to http://127.0.0.1:8080 --speed 60",
        markup=False,
        soft_wrap=True,
    )


def _make(folder: Path) -> Path:
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise AloraError(
            f"cannot write into {folder}: {error.strerror}; give the name of a new folder"
        ) from error
    return folder


def _compare(plant: SyntheticDataset, diagnosis: Diagnosis) -> None:
    """Print what was injected beside what was found."""
    from rich.table import Table

    table = Table(title="what was injected, and what was found", show_lines=True)
    for heading in (
        "fault and its origin",
        "found after",
        "culprits of the worst incident",
        "origin",
    ):
        table.add_column(heading, overflow="fold")
    matched: set[int] = set()
    for fault in plant.faults:
        found = {
            number: incident
            for number, incident in enumerate(diagnosis.incidents)
            if incident.start < fault.end and incident.end > fault.start
        }
        matched |= set(found)
        origin = plant.variables[fault.origin]
        begin = str(plant.test_timestamps[fault.start])[:16].replace("T", " ")
        what = f"{fault.kind}\n{origin}\n{begin}"
        if not found:
            table.add_row(what, "missed", "", "")
            continue
        delay = max(0, min(incident.start for incident in found.values()) - fault.start)
        worst = max(found.values(), key=lambda incident: incident.score)
        names = [culprit.variable for culprit in worst.culprits]
        place = f"no. {names.index(origin) + 1}" if origin in names else "not listed"
        table.add_row(what, f"{delay} min", _leading(worst), place)
    console().print(table)
    others = [one for at, one in enumerate(diagnosis.incidents) if at not in matched]
    after = sum(
        any(one.start < fault.recovered and one.end > fault.end for fault in plant.faults)
        for one in others
    )
    console().print(
        f"{len(others) - after} incident(s) while the plant was healthy, "
        f"{after} while it recovered from a fault."
    )


def _leading(incident: Incident) -> str:
    return "\n".join(f"{c.share:>4.0%} {c.variable} {c.direction}" for c in incident.culprits[:3])
