"""Progress of long work, shown to people and silent elsewhere.

Library code never prints. It takes ``progress``: ``None`` (show a bar when standard error is a
terminal), ``True``, ``False``, or a callback that receives :class:`Step` objects.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field

__all__ = ["Progress", "Report", "Step", "reporting"]


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
    if progress is False or (progress is None and not sys.stderr.isatty()):
        yield lambda _: None
        return
    with _bars() as report:
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
