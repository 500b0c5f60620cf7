"""Ctrl-C in the middle of the work."""

from __future__ import annotations

import os
import pty
import re
import select
import signal
import subprocess
import sys
import time
from pathlib import Path

import alora_ts
from tests.cli.invoke import files, plant

_COMMAND = [sys.executable, "-c", "from alora_ts.cli.main import run; run()"]
_FIT = ["fit", "normal.csv", "-o", "m.alora", "--epochs", "500", "--window", "8"]


def _interrupt(arguments: list[str], at: str, folder: Path) -> tuple[int, str]:
    """Start the command on a terminal and press Ctrl-C when ``at`` is shown: code and output."""
    ours, theirs = pty.openpty()
    process = subprocess.Popen(
        [*_COMMAND, *arguments],
        stdin=theirs,
        stdout=theirs,
        stderr=theirs,
        cwd=folder,
        env={**os.environ, "TERM": "xterm", "COLUMNS": "200", "OMP_NUM_THREADS": "1"},
    )
    os.close(theirs)
    seen, sent, limit = b"", False, time.monotonic() + 180
    while time.monotonic() < limit:
        if select.select([ours], [], [], 0.2)[0]:
            try:
                seen += os.read(ours, 65536)
            except OSError:  # what reading from a terminal says when its other end has closed
                break
        if not sent and re.search(at.encode(), seen):
            process.send_signal(signal.SIGINT)
            sent = True
    os.close(ours)
    return process.wait(timeout=60), seen.decode(errors="replace")


def test_before_the_first_epoch_there_is_nothing_to_keep(tmp_path: Path) -> None:
    plant(2000).write_csv(tmp_path / "normal.csv")
    code, text = _interrupt(_FIT, r"fitting", tmp_path)
    assert (code, "Traceback" in text) == (130, False)
    assert "interrupted; nothing was left half-written" in text
    assert files(tmp_path) == {"normal.csv"}


def test_later_the_best_weights_so_far_are_kept(tmp_path: Path) -> None:
    plant(2400).write_csv(tmp_path / "normal.csv")
    # 50 steps are an epoch, and no fit stops by itself before the third.
    code, text = _interrupt(_FIT, r"\b(5[1-9]|[6-9]\d|1[0-3]\d)/25000", tmp_path)
    assert (code, "Traceback" in text) == (0, False)
    assert "best weights so far were kept" in text
    assert files(tmp_path) == {"normal.csv", "m.alora"}
    assert alora_ts.load(tmp_path / "m.alora").score(plant(30)).shape == (30,)
