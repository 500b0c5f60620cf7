"""A small labelled dataset and plan of a user's own, for tests of the runner."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import polars as pl

SMALL = "{ window = 4, epochs = 1, epoch_windows = 64, heads = 1, layers = 1 }"


def write_tables(folder: Path, *, rows: int = 300, variables: int = 3, seed: int = 0) -> Path:
    """Train and test tables in which one variable jumps."""
    folder.mkdir(parents=True, exist_ok=True)
    rng = np.random.default_rng(seed)
    for part in ("train", "test"):
        wave = np.sin(np.arange(rows) / 5)
        table = {
            f"v{number}": wave * (number + 1) + 0.1 * rng.normal(size=rows)
            for number in range(variables)
        }
        if part == "test":
            table["v1"][200:230] += 5
            table["label"] = (np.arange(rows) // 10 == 20).astype(int)
            table["label"][200:230] = 1
        pl.DataFrame(table).write_csv(folder / f"{part}.csv")
    affected = pl.DataFrame({"start": [200], "end": [230], "variables": ["v1"]})
    affected.write_csv(folder / "affected.csv")
    return folder


def write_plan(path: Path, methods: str, *, settings: str = "") -> Path:
    path.write_text(f'name = "mine"\n{settings}\n[[datasets]]\nname = "servers"\n\n{methods}')
    return path


def method(name: str, **settings: str) -> str:
    lines = "".join(f"{key} = {value}\n" for key, value in settings.items())
    return f'[[methods]]\nname = "{name}"\n{lines}\n'
