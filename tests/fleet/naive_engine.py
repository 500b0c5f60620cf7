"""The slow, obvious engine: one task after the other, here."""

from __future__ import annotations

from collections.abc import Callable, Generator, Iterable

from alora_ts.fleet.engine import Finished, Memory, Result, Task


class OneByOne:
    """Runs tasks in this process, in their order."""

    def map(
        self, work: Callable[[Task], Result], tasks: Iterable[Task], *, memory: Memory[Task]
    ) -> Generator[Finished[Task, Result], None, None]:
        for task in tasks:
            assert memory(task) >= 0
            try:
                yield Finished(task, work(task), None, "here")
            except Exception as error:
                yield Finished(task, None, f"{type(error).__name__}: {error}", "here")
