"""How tests are dealt out to the workers of `pytest -n`.

The tests of a file share fixtures (fitted models, a database), so they stay on one worker; so do
those of a folder whose fixtures are the folder's. What is long begins first: nothing long is left
to one worker at the end while the other has nothing to do.
"""

from __future__ import annotations

from collections.abc import Sequence

import pytest
from xdist.scheduler import LoadScopeScheduling

__all__ = ["Scheduling", "group_of", "long_first"]

# One browser and one service are shared by the folder.
FOLDERS = ("tests/serve/browser/",)

# By the clock in a run of all (`--durations=0`): many of them mostly wait. A file that is not here
# begins later.
LONGEST = (
    "tests/serve/browser/",
    "tests/serve/core/test_workers_soak.py",
    "tests/serve/core/test_workers.py",
    "tests/serve/connect/test_kafka.py",
    "tests/docs/test_code_blocks.py",
    "tests/serve/core/test_proxied.py",
    "tests/serve/core/test_scoring.py",
    "tests/serve/core/test_replay.py",
    "tests/bench/test_runner.py",
    "tests/fleet/test_fleet.py",
    "tests/fleet/test_cli.py",
    "tests/fast/test_library.py",
    "tests/serve/core/test_security.py",
    "tests/serve/connect/test_nothing_lost.py",
    "tests/metrics/test_twins.py",
    "tests/serve/core/test_models.py",
    "tests/test_without_posix.py",
    "tests/integration/test_files.py",
    "tests/fleet/test_long.py",
)


def group_of(nodeid: str) -> str:
    """The tests that stay together: a folder or a file.

    Examples
    --------
    >>> group_of("tests/serve/browser/test_pages.py::test_names[a::b]")
    'tests/serve/browser/'
    >>> group_of("tests/data/test_flow.py::test_names[a::b]")
    'tests/data/test_flow.py'
    """
    file = nodeid.split("::", 1)[0]
    return next((folder for folder in FOLDERS if file.startswith(folder)), file)


def long_first(items: Sequence[pytest.Item]) -> list[pytest.Item]:
    """The items with the groups of `LONGEST` first; otherwise in their order."""
    rank = {group: number for number, group in enumerate(LONGEST)}
    return sorted(items, key=lambda item: rank.get(group_of(item.nodeid), len(rank)))


class Scheduling(LoadScopeScheduling):
    """Gives whole groups to workers, in the order in which they were collected."""

    def _split_scope(self, nodeid: str) -> str:
        return group_of(nodeid)
