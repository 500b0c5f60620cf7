"""What a run did: counts, and the reasons of what failed."""

from __future__ import annotations

from dataclasses import dataclass, field

from alora_ts.fleet.work import Outcome
from alora_ts.progress import Step

__all__ = ["Tally"]


@dataclass
class Tally:
    """Counts of a run, kept by the driver.

    Attributes
    ----------
    total : int
        Entities in the run.
    done, skipped, failed : int
        Entities worked on, found done before, and not to be done.
    seconds : float
        CPU time of all workers together.
    reasons : dict of str to str
        Why each failed entity failed.
    nodes : set of str
        Where the work ran.

    Examples
    --------
    >>> tally = Tally(2)
    >>> tally.add("a", Outcome("done", None, 1.5), "node")
    >>> tally.add("b", Outcome("failed", "too few rows", 0.1), "node")
    >>> tally.done, tally.failed, tally.reasons
    (1, 1, {'b': 'too few rows'})
    """

    total: int
    done: int = 0
    skipped: int = 0
    failed: int = 0
    seconds: float = 0.0
    reasons: dict[str, str] = field(default_factory=dict)
    nodes: set[str] = field(default_factory=set)

    def add(self, entity: str, outcome: Outcome, node: str) -> None:
        """Count one entity."""
        self.done += outcome.state == "done"
        self.skipped += outcome.state == "skipped"
        self.failed += outcome.state == "failed"
        self.seconds += outcome.seconds
        if outcome.state == "failed":
            self.reasons[entity] = outcome.reason or "no reason was given"
        if node:
            self.nodes.add(node)

    def step(self, task: str) -> Step:
        """As progress."""
        over = self.done + self.skipped + self.failed
        facts = {"skipped": self.skipped, "failed": self.failed, "workers": len(self.nodes)}
        return Step(task, over, self.total, {name: float(n) for name, n in facts.items() if n})
