"""The one interface between a fleet and whatever runs its work."""

from __future__ import annotations

from collections.abc import Callable, Generator, Iterable
from dataclasses import dataclass
from typing import Generic, Protocol, TypeVar

__all__ = ["Engine", "Finished", "Memory"]

Task = TypeVar("Task")
Result = TypeVar("Result")

Memory = Callable[[Task], int]
"""Bytes of memory that a task needs."""


@dataclass(frozen=True)
class Finished(Generic[Task, Result]):
    """A task that is over.

    Attributes
    ----------
    task
        What was asked for.
    result
        What the work gave; None if it gave nothing.
    error : str or None
        Why there is no result: the work raised, or its worker was lost more often than allowed.
    node : str
        Which computer or process it ran on.
    """

    task: Task
    result: Result | None
    error: str | None
    node: str


class Engine(Protocol):
    """Runs one function over many tasks, somewhere else."""

    def map(
        self, work: Callable[[Task], Result], tasks: Iterable[Task], *, memory: Memory[Task]
    ) -> Generator[Finished[Task, Result], None, None]:
        """Run ``work`` on every task and return each when it is over, in any order.

        Parameters
        ----------
        work : callable
            A function of a module that workers can import. Tasks whose worker is lost are run
            again, so running twice must do no harm.
        tasks : iterable
            Taken as workers become free, so that a long list need not be held.
        memory : callable
            Bytes that a task needs; workers are given no more at once than they have.

        Yields
        ------
        Finished
            Exactly one for each task.

        Notes
        -----
        Closing the iterator (an interrupt does) ends all running work before it returns.
        """
        ...
