"""Progress of long work, shown to people and silent elsewhere.

Library code never prints. It takes ``progress``: ``None`` (show a bar on a terminal or in a
notebook), ``True``, ``False``, or a callback that receives :class:`Step` objects.
"""

from __future__ import annotations

import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from html import escape
from typing import Any

__all__ = ["Progress", "Report", "Step", "in_notebook", "reporting"]


@dataclass(frozen=True)
class Step:
    """One moment of a long computation.

    Attributes
    ----------
    task : str
        What is being done, in words ("fitting", "scoring").
    done, total : int
        How many units of how many are finished.
    facts : dict of str to float
        Numbers worth showing beside the bar, such as the terms of the loss.
    """

    task: str
    done: int
    total: int
    facts: dict[str, float] = field(default_factory=dict)


_SHOWN_EVERY = 0.2  # seconds: a notebook's page need not move faster

Report = Callable[[Step], None]
Progress = bool | Report | None


@contextmanager
def reporting(progress: Progress) -> Iterator[Report]:
    """Turn a ``progress`` argument into a function to call with each :class:`Step`.

    Parameters
    ----------
    progress : bool, callable or None
        See the module's description.

    Yields
    ------
    callable
        Takes a :class:`Step`; does nothing where no progress is wanted.

    Examples
    --------
    >>> seen = []
    >>> with reporting(seen.append) as report:
    ...     report(Step("scoring", 1, 2))
    >>> seen[0].done
    1
    """
    if callable(progress):
        yield progress
        return
    notebook = in_notebook()
    if progress is False or (progress is None and not notebook and not sys.stderr.isatty()):
        yield lambda _: None
        return
    with _notebook_bars() if notebook else _bars() as report:
        yield report


@contextmanager
def _bars() -> Iterator[Report]:
    from rich.console import Console
    from rich.progress import (
        BarColumn,
        MofNCompleteColumn,
        TextColumn,
        TimeElapsedColumn,
        TimeRemainingColumn,
    )
    from rich.progress import Progress as RichProgress

    bars = RichProgress(
        TextColumn("{task.description:<12}"),
        BarColumn(),
        MofNCompleteColumn(),
        TimeElapsedColumn(),
        TextColumn("left"),
        TimeRemainingColumn(),
        TextColumn("{task.fields[facts]}"),
        console=Console(stderr=True),
    )
    with bars:
        known = {}

        def report(step: Step) -> None:
            facts = "  ".join(f"{name} {value:.4g}" for name, value in step.facts.items())
            if step.task not in known:
                known[step.task] = bars.add_task(step.task, total=step.total, facts=facts)
            bars.update(known[step.task], completed=step.done, total=step.total, facts=facts)

        yield report


def in_notebook() -> bool:
    """Whether this code runs in the kernel of a notebook."""
    ipython = sys.modules.get("IPython")
    shell = None if ipython is None else ipython.get_ipython()
    return shell is not None and "ipykernel" in type(shell).__module__


@contextmanager
def _notebook_bars() -> Iterator[Report]:
    """Bars in a notebook's output, gone when the work is done; rich would need ipywidgets."""
    from IPython import display as page

    html: Any = page.HTML
    shown: Any = page.display(html(""), display_id=True)  # type: ignore[no-untyped-call]
    known: dict[str, Step] = {}
    last = 0.0

    def report(step: Step) -> None:
        nonlocal last
        known[step.task] = step
        now = time.monotonic()
        if now - last >= _SHOWN_EVERY:
            last = now
            shown.update(html("".join(map(_bar, known.values()))))

    try:
        yield report
    finally:
        shown.update(html(""))


def _bar(step: Step) -> str:
    facts = "  ".join(f"{name} {value:.4g}" for name, value in step.facts.items())
    return (
        f'<div style="font-size:13px">{escape(step.task)} <progress max="{step.total}" '
        f'value="{step.done}" style="width:20em"></progress> {step.done:,}/{step.total:,} '
        f"{escape(facts)}</div>"
    )
