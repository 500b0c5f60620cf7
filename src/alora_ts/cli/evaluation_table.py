"""An evaluation on the terminal."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING

from alora_ts.cli.common import console

if TYPE_CHECKING:
    from alora_ts.metrics import Evaluation

__all__ = ["print_evaluation"]

_SHORT = {"precision": "prec.", "above chance": "above"}


def print_evaluation(found: Evaluation, *, said: Iterable[str], alarms: str) -> None:
    """Print a table with chance beside every number, incidents first.

    Parameters
    ----------
    found : Evaluation
    said : iterable of str
        What to say above it.
    alarms : str
        What the alarms are that were raised without labels.
    """
    from rich.table import Table

    from alora_ts.metrics.evaluation import COLUMNS
    from alora_ts.metrics.measures import BEST, GIVEN, is_of_incidents

    out = console()
    for line in said:
        out.print(line, markup=False)
    table = Table(box=None, pad_edge=False, padding=(0, 1, 0, 0), header_style="bold")
    # Where there is little room, names are wrapped and numbers never cut.
    table.add_column("", overflow="fold")
    for name in COLUMNS:
        table.add_column(_SHORT.get(name, name), justify="right", no_wrap=True)
    shown = None
    for measure in found.measures:
        heading = alarms if measure.choice == GIVEN else measure.choice
        if measure.choice in (GIVEN, BEST):
            heading += ", incidents" if is_of_incidents(measure.name) else ", rows"
        if heading != shown:
            shown = heading
            table.add_row(f"[bold]{heading}[/]")
        table.add_row(f"  {measure.name}", *measure.cells())
    out.print(table)
    out.print(
        "random: mean ± standard deviation of random scores; always: an alarm that never ends; "
        "above: 0 is the better of the two, 1 is perfect. The best threshold is chosen with the "
        f"labels. {found.said_of_incidents}",
        style="dim",
    )
