"""The runner's progress: a live table on a terminal, a line for each run elsewhere."""

from __future__ import annotations

import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING

from alora_ts.bench.estimate import Estimate, spoken
from alora_ts.bench.record import Record
from alora_ts.bench.runner import Moment

if TYPE_CHECKING:
    from rich.table import Table

__all__ = ["describe_record", "watching"]

_RECENT = 6
_SHOWN = "best threshold / affiliation F1"


@contextmanager
def watching(
    total: int, estimate: Estimate, *, workers: int, quiet: bool = False
) -> Iterator[Callable[[Moment], None]]:
    """Show what is running.

    Parameters
    ----------
    total : int
        How many runs there are to do.
    estimate : Estimate
        Says how long is left.
    workers : int
        How many go at once.
    quiet : bool
        Say nothing.

    Yields
    ------
    callable
        For :func:`~alora_ts.bench.runner.run_all`.
    """
    if quiet:
        yield lambda _: None
        return
    if not sys.stderr.isatty():
        yield _lines(total)
        return
    from rich.console import Console
    from rich.live import Live

    began = time.monotonic()
    with Live(console=Console(stderr=True), refresh_per_second=4) as live:

        def show(moment: Moment) -> None:
            left = estimate.left(moment, workers=workers)
            live.update(_table(moment, total, time.monotonic() - began, left))

        yield show


def describe_record(record: Record) -> str:
    """One line about a run that is over."""
    what = f"{record.label} on {record.place}, seed {record.seed}"
    if record.status != "done":
        return f"{what}: {record.status}: {record.error}"
    said = []
    if _SHOWN in record.detection:
        said.append(f"F1 {record.detection[_SHOWN].value:.3f}")
    if "HR@100" in record.localization:
        said.append(f"HR@100 {record.localization['HR@100'].value:.3f}")
    said.append(spoken(record.measured.get("run_seconds", 0.0)))
    return f"{what}: {', '.join(said)}"


def _lines(total: int) -> Callable[[Moment], None]:
    told = 0

    def tell(moment: Moment) -> None:
        nonlocal told
        for record in moment.over[told:]:
            told += 1
            sys.stderr.write(f"{told}/{total} {describe_record(record)}\n")
            sys.stderr.flush()

    return tell


def _table(moment: Moment, total: int, elapsed: float, left: float | None) -> Table:
    from rich.table import Table

    failures = sum(record.status == "failed" for record in moment.over)
    times = spoken(elapsed) + ("" if left is None else f", about {spoken(left)} left")
    table = Table(
        title=f"{len(moment.over)} of {total} runs, {failures} failed, {times}",
        title_justify="left",
        expand=False,
    )
    for name in ("method", "data", "seed", "doing", "time", "memory"):
        table.add_column(name, justify="right" if name in {"time", "memory"} else "left")
    for record in moment.over[-_RECENT:]:
        colour = {"done": "green", "failed": "red"}.get(record.status, "yellow")
        outcome: str = record.status
        if _SHOWN in record.detection:
            outcome = f"F1 {record.detection[_SHOWN].value:.3f}"
        table.add_row(
            record.label,
            record.place,
            str(record.seed),
            f"[{colour}]{outcome}[/]",
            spoken(record.measured.get("run_seconds", 0.0)),
            f"{record.measured.get('peak_mib') or 0.0:.0f} MiB",
        )
    for one in moment.active.values():
        share = "" if one.share is None else f" {100 * one.share:.0f} %"
        table.add_row(
            one.run.label,
            one.run.place,
            str(one.run.seed),
            f"{one.step}{share}",
            spoken(one.seconds),
            f"{one.memory_mib:.0f} MiB",
            style="bold",
        )
    return table
