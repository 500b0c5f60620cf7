"""`alora-ts fleet`: fit, detect, status, and Ctrl-C in between."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import polars as pl
import pytest

from alora_ts.fleet import Fleet
from tests.cli.invoke import invoke
from tests.fleet.machines import write_machines

QUICK = ("--window", "4", "--epochs", "1")
COMMANDS = [("fleet",), ("fleet", "fit"), ("fleet", "detect"), ("fleet", "status")]


@pytest.mark.parametrize("command", COMMANDS, ids=" ".join)
def test_every_help_has_an_example(command: tuple[str, ...]) -> None:
    outcome = invoke(*command, "--help")
    assert outcome.code == 0
    assert f"Example: alora-ts {' '.join(command)}" in " ".join(outcome.out.split())
    assert invoke(*command, "--hepl").code == 2


@pytest.mark.slow
def test_fit_detect_status(tmp_path: Path) -> None:
    source = write_machines(tmp_path / "in", 2, bad=True)
    later = write_machines(tmp_path / "later", 2, fault=60)
    fleet, page, table = (tmp_path / name for name in ("fleet", "fleet.html", "fleet.csv"))
    fitted = invoke("fleet", "fit", source, "-o", fleet, *QUICK, "--workers", "1")
    assert fitted.code == 0, fitted.err
    assert "2 fitted, 3 failed" in fitted.out
    assert "12 rows are too few" in " ".join(fitted.out.split())
    detect = ("fleet", "detect", fleet, later, "--page", page, "--workers", "1")
    found = invoke(*detect, "--fail-on-anomaly", "-q")
    assert (found.code, found.out) == (3, "")
    assert "Misbehaving together" in page.read_text()
    told = invoke("fleet", "status", fleet, "-o", table)
    assert told.code == 0
    said = " ".join(told.out.split())
    assert "5 machine(s)" in said
    assert "Together from 2026-03-01" in said
    assert "heat leads incidents of 2 machines" in said
    states = dict(pl.read_csv(table).select("entity", "state").iter_rows())
    assert states["m0"] == "diagnosed"
    assert states["short"] == "failed"


def test_mistakes_are_one_paragraph(tmp_path: Path) -> None:
    for arguments, said in (
        (("fit", tmp_path / "none", "-o", tmp_path / "f"), "no such folder"),
        (("fit", tmp_path, "-o", tmp_path / "f", "--address", "auto"), "add --engine ray"),
        (("detect", tmp_path, tmp_path), "holds no fleet"),
        (("status", tmp_path, "--page", tmp_path / "no" / "x.html"), "does not exist"),
        (("status", tmp_path, "-o", tmp_path / "x.xlsx"), "names no known form"),
    ):
        outcome = invoke("fleet", *arguments)
        assert outcome.code == 1
        assert said in " ".join(outcome.err.split())
        assert "Traceback" not in outcome.err


@pytest.mark.slow
def test_an_interrupt_leaves_whole_files_and_the_next_run_goes_on(tmp_path: Path) -> None:
    source = write_machines(tmp_path / "in", 12)
    fleet = tmp_path / "fleet"
    command = [sys.executable, "-c", "from alora_ts.cli.main import run; run()"]
    process = subprocess.Popen(
        [*command, "fleet", "fit", str(source), "-o", str(fleet), "--workers", "1", *QUICK],
        env={**os.environ, "OMP_NUM_THREADS": "1"},
        stderr=subprocess.PIPE,
        stdout=subprocess.DEVNULL,
        text=True,
        start_new_session=True,
    )
    limit = time.monotonic() + 180
    while not list(fleet.glob("entities/*/fit.json")) and time.monotonic() < limit:
        time.sleep(0.05)
    os.killpg(process.pid, signal.SIGINT)  # as a terminal does: to the whole group
    _, err = process.communicate(timeout=120)
    assert process.returncode == 130, err
    assert "interrupted" in err
    assert "Traceback" not in err
    assert not [path for path in fleet.rglob("*") if ".part" in path.name]
    done = len(list(fleet.glob("entities/*/fit.json")))
    assert 1 <= done < 12
    assert done == len(list(fleet.glob("entities/*/model.alora")))
    again = invoke("fleet", "fit", source, "-o", fleet, *QUICK, "--workers", "1")
    assert again.code == 0, again.err
    assert f"{12 - done} fitted, {done} were done already" in again.out
    assert not Fleet.load(fleet).status().failed
