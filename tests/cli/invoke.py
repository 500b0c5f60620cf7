"""Run the command as a user does, inside the test's process, and small tables to run it on."""

from __future__ import annotations

import contextlib
import io
import sys
from dataclasses import dataclass
from pathlib import Path
from unittest import mock

import numpy as np
import polars as pl

from alora_ts.cli.main import run

VARIABLES = ("load", "flow", "pressure", "heat")
QUICK = ("--window", "8", "--epochs", "1")


@dataclass(frozen=True)
class Outcome:
    """Exit code and what was printed."""

    code: int
    out: str
    err: str


def invoke(*arguments: str | Path) -> Outcome:
    """What ``alora-ts ARGUMENTS`` does, its translation of errors into exit codes included."""
    out, err = io.StringIO(), io.StringIO()
    code = 0
    argv = ["alora-ts", *map(str, arguments)]
    with (
        mock.patch.object(sys, "argv", argv),
        contextlib.redirect_stdout(out),
        contextlib.redirect_stderr(err),
    ):
        try:
            run()
        except SystemExit as stop:
            code = int(stop.code or 0)
    return Outcome(code, out.getvalue(), err.getvalue())


def plant(rows: int, *, seed: int = 0, start: int = 0) -> pl.DataFrame:
    """Four signals that follow one load, a minute apart, beginning at row ``start``."""
    rng = np.random.default_rng(seed)
    at = np.arange(start, start + rows)
    load = np.sin(at / 9) + 0.3 * np.sin(at / 31)
    mix = np.column_stack([load, 2 * load + 1, -load, 0.5 * load + np.cos(at / 9)])
    values = mix + 0.05 * rng.normal(size=mix.shape)
    times = np.datetime64("2026-03-01T00:00", "us") + at * np.timedelta64(60, "s")
    return pl.DataFrame({"time": times, **dict(zip(VARIABLES, values.T, strict=True))})


def faulty(rows: int = 200) -> pl.DataFrame:
    """The same plant later, its flow off by far from row 120 to 139."""
    frame = plant(rows, seed=1, start=500)
    at = np.arange(rows)
    flow = frame["flow"].to_numpy() + 40.0 * ((at >= 120) & (at < 140))
    return frame.with_columns(pl.Series("flow", flow))


def files(folder: Path) -> set[str]:
    """All names in a folder, hidden ones included."""
    return {entry.name for entry in folder.iterdir()}
