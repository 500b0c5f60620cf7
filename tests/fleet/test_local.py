"""Local processes: results, losses, memory, interrupts."""

from __future__ import annotations

import itertools
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import psutil
import pytest

from alora_ts.errors import AloraError
from alora_ts.fleet import LocalEngine
from tests.conftest import REPOSITORY
from tests.fleet.naive_engine import OneByOne
from tests.fleet.work import die_once, double, note, write_slowly


def _nothing(_: object) -> int:
    return 0


def test_gives_what_running_one_by_one_gives() -> None:
    tasks = [3, 1, 13, 0]
    expected = [(f.task, f.result, f.error) for f in OneByOne().map(double, tasks, memory=_nothing)]
    found = LocalEngine(workers=2).map(double, iter(tasks), memory=_nothing)
    assert sorted((f.task, f.result, f.error) for f in found) == sorted(expected)
    assert not list(LocalEngine().map(double, [], memory=_nothing))


def test_a_lost_worker_costs_only_its_running_task(tmp_path: Path) -> None:
    names = ["a", "b", "dies-c", "d", "always-e", "f"]
    engine = LocalEngine(workers=2, retries=1)
    finished = list(engine.map(die_once, [str(tmp_path / name) for name in names], memory=_nothing))
    by_name = {Path(each.task).name: each for each in finished}
    assert sorted(by_name) == sorted(names)
    lost = by_name.pop("always-e")
    assert lost.result is None
    assert lost.error is not None
    assert "died 2 times" in lost.error
    assert all(each.result == name for name, each in by_name.items())
    tries = {name: len(list(tmp_path.glob(f"{name}.*"))) for name in names}
    assert tries == {"a": 1, "b": 1, "dies-c": 2, "d": 1, "always-e": 2, "f": 1}


def test_tasks_wait_until_there_is_memory_for_them(tmp_path: Path) -> None:
    tasks = [(str(tmp_path / f"{number}"), 0.2) for number in range(4)]
    engine = LocalEngine(workers=2, memory=100)
    spans = [each.result for each in engine.map(note, tasks, memory=lambda _: 60)]
    ordered = sorted(span for span in spans if span is not None)
    assert len(ordered) == 4
    assert all(before[1] <= after[0] for before, after in itertools.pairwise(ordered))
    # A task beyond the budget runs alone instead of never.
    alone = LocalEngine(memory=1).map(note, tasks[:1], memory=lambda _: 10**15)
    assert [each.error for each in alone] == [None]


def test_closing_ends_the_workers_and_leaves_nothing_half_written(tmp_path: Path) -> None:
    tasks = [str(tmp_path / f"out-{number}.txt") for number in range(4)]
    running = LocalEngine(workers=2).map(write_slowly, tasks, memory=_nothing)

    def interrupt(*_: object) -> None:
        if (tmp_path / "out-0.txt.begun").exists():
            # Once: a second one would interrupt the closing itself.
            signal.setitimer(signal.ITIMER_REAL, 0)
            raise KeyboardInterrupt

    before = signal.signal(signal.SIGALRM, interrupt)
    try:
        signal.setitimer(signal.ITIMER_REAL, 0.2, 0.2)
        with pytest.raises(KeyboardInterrupt):
            next(running)
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, before)
    assert not [path.name for path in tmp_path.iterdir() if ".part" in path.name]
    assert not list(tmp_path.glob("out-?.txt"))


def test_workers_end_with_a_driver_that_is_killed(tmp_path: Path) -> None:
    code = (
        "import sys\n"
        "from alora_ts.fleet import local\n"
        "from tests.fleet.work import note\n"
        "local._PATIENCE = 1.0\n"  # workers import this file too
        "if __name__ == '__main__':\n"
        "    engine = local.LocalEngine(workers=1)\n"
        "    list(engine.map(note, [(sys.argv[1], 60.0)], memory=lambda _: 0))\n"
    )
    script, noted = tmp_path / "driver.py", tmp_path / "noted"
    script.write_text(code)
    driver = subprocess.Popen(
        [sys.executable, script, noted], env={**os.environ, "PYTHONPATH": str(REPOSITORY)}
    )
    limit = time.monotonic() + 60
    while not (noted.exists() and noted.read_text()) and time.monotonic() < limit:
        time.sleep(0.05)
    worker = int(noted.read_text())
    driver.kill()
    driver.wait()
    while Path(f"/proc/{worker}/cmdline").exists() and time.monotonic() < limit:
        if not Path(f"/proc/{worker}/cmdline").read_bytes():  # a zombie that nobody waits for
            break
        time.sleep(0.05)
    assert time.monotonic() < limit


def test_an_idle_worker_that_was_killed_is_replaced(tmp_path: Path) -> None:
    def tasks() -> list[tuple[str, float]]:
        return [(str(tmp_path / f"{number}"), 0.0) for number in range(2)]

    running = LocalEngine(workers=1).map(note, tasks(), memory=_nothing)
    assert next(running).error is None
    psutil.Process(int((tmp_path / "0").read_text())).kill()
    time.sleep(0.5)
    assert [each.error for each in running] == [None]


def test_numbers_that_make_no_sense_are_refused() -> None:
    with pytest.raises(AloraError, match="workers=0"):
        LocalEngine(workers=0)
