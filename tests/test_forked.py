"""Forked programs are programs like any other: words, surroundings, output, exit code, signals."""

from __future__ import annotations

import os
import signal
import subprocess
from pathlib import Path

import pytest

from alora_ts.version import __version__
from tests.forked import begin

pytest.importorskip("fastapi")
pytestmark = pytest.mark.skipif(not hasattr(os, "fork"), reason="this system has no fork")


def test_it_reads_its_words_and_ends_with_its_own_code(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("SAID", "here")
    told = begin(
        ["--version"], log=tmp_path / "told", prelude="import os; print(os.environ['SAID'])"
    )
    refused = begin(["info", "nothing.alora"], log=tmp_path / "refused")
    assert told.wait(120) == 0
    assert (tmp_path / "told").read_text().split()[0] == "here"
    assert __version__ in (tmp_path / "told").read_text()
    assert refused.wait(120) == 1
    assert "nothing.alora" in (tmp_path / "refused").read_text()
    assert refused.poll() == 1


@pytest.mark.skipif(not hasattr(signal, "SIGKILL"), reason="this system has no SIGKILL")
def test_it_can_be_killed_and_waited_for(tmp_path: Path) -> None:
    sleeping = begin([], log=tmp_path / "log", prelude="import time; time.sleep(600)")
    assert sleeping.poll() is None
    with pytest.raises(subprocess.TimeoutExpired):
        sleeping.wait(0.01)
    sleeping.kill()
    assert sleeping.wait(120) == -signal.SIGKILL
    sleeping.terminate()  # of no effect on one that has ended
