"""Small fleets to test with."""

from __future__ import annotations

import hashlib
from pathlib import Path

import numpy as np
import polars as pl

from alora_ts import ALoRa, Architecture

VARIABLES = ("load", "heat", "flow")
BAD = {"short", "constant", "other"}


def quick() -> ALoRa:
    """An estimator that fits in a moment."""
    return ALoRa(window=4, epochs=1, epoch_windows=64, architecture=Architecture(layers=1, heads=2))


def machine(seed: int, *, rows: int = 120, fault: int | None = None) -> pl.DataFrame:
    """Three signals of one load, a minute apart; its heat is far off for forty rows."""
    rng = np.random.default_rng(seed)
    at = np.arange(rows)
    load = np.sin(at / 5) + 0.1 * rng.normal(size=rows)
    values = np.column_stack([load, 2 * load, -load]) + 0.05 * rng.normal(size=(rows, 3))
    if fault is not None:
        values[fault : fault + 40, 1] += 30
    times = np.datetime64("2026-03-01T00:00", "us") + at * np.timedelta64(60, "s")
    return pl.DataFrame({"time": times, **dict(zip(VARIABLES, values.T, strict=True))})


def write_machines(
    folder: Path, count: int, *, bad: bool = False, fault: int | None = None
) -> Path:
    """A folder with a Parquet file per machine, three of them useless if asked for."""
    folder.mkdir()
    for number in range(count):
        machine(number, fault=fault).write_parquet(folder / f"m{number}.parquet")
    if bad:
        machine(90).head(12).write_csv(folder / "short.csv")
        still = machine(91).with_columns(pl.lit(7.0).alias(name) for name in VARIABLES)
        still.write_parquet(folder / "constant.parquet")
        machine(92).rename({"flow": "flux"}).write_parquet(folder / "other.parquet")
    return folder


def files(folder: Path) -> dict[str, str]:
    """Every file below a folder with the digest of its content."""
    return {
        str(path.relative_to(folder)): hashlib.sha256(path.read_bytes()).hexdigest()
        for path in sorted(folder.rglob("*"))
        if path.is_file()
    }
