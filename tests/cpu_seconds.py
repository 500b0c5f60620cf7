"""Lists the tests that cost most CPU, with all processes they start: ``-p tests.cpu_seconds``.

The clock says more about what else the machine does. Counted are user and system seconds of this
process and of all below it, ended ones included, from the end of one test to the end of the next:
a fixture counts for the first test that needs it, and so does what an earlier test left running.
"""

from __future__ import annotations

import contextlib
import ctypes
import sys
from collections.abc import Generator

import psutil
import pytest

_SHOWN = 40
_NAME = "cpu_seconds"
_BEFORE = pytest.StashKey[float]()
_BECOME_SUBREAPER = 36

if sys.platform == "linux":
    # Processes whose parent was killed become children of this one; nobody waits for them, so that
    # what they spent can still be read.
    ctypes.CDLL(None).prctl(_BECOME_SUBREAPER, 1, 0, 0, 0)


def _spent() -> float:
    this = psutil.Process()
    total = 0.0
    for process in [this, *this.children(recursive=True)]:
        with contextlib.suppress(psutil.NoSuchProcess):
            total += sum(process.cpu_times()[:4])  # its own, and those of children that ended
    return total


def pytest_runtestloop(session: pytest.Session) -> None:
    """Leave out what importing and collecting the tests took."""
    session.stash[_BEFORE] = _spent()


@pytest.hookimpl(wrapper=True)
def pytest_runtest_teardown(item: pytest.Item) -> Generator[None]:
    """Add the seconds to the last report of a test."""
    yield
    spent = _spent()
    item.user_properties.append((_NAME, spent - item.session.stash[_BEFORE]))
    item.session.stash[_BEFORE] = spent


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    """Print the list, most seconds first."""
    seconds = {
        report.nodeid: value
        for report in terminalreporter.stats.get("", [])
        if report.when == "teardown"
        for name, value in report.user_properties
        if name == _NAME
    }
    terminalreporter.section(f"CPU seconds, {sum(seconds.values()):.1f} in all")
    for name in sorted(seconds, key=seconds.__getitem__, reverse=True)[:_SHOWN]:
        terminalreporter.line(f"{seconds[name]:7.1f} {name}")
