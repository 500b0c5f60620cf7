"""A small plant whose signals hang together, and a model of it."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import Any

import numpy as np
import polars as pl
from numpy.typing import NDArray

from alora_ts import ALoRa

VARIABLES = ("flow", "level", "power", "heat")
START = datetime(2026, 3, 1, tzinfo=UTC)


def values(rows: int, *, seed: int = 0) -> NDArray[np.float64]:
    rng = np.random.default_rng(seed)
    moments = np.arange(rows)
    load = 10 * np.sin(moments / 40) + np.sin(moments / 7)
    table = np.column_stack([load, 2 * load, -load, 5 * np.cos(moments / 25)])
    return table + 0.1 * rng.normal(size=table.shape)


def frame(table: NDArray[np.float64], *, seconds: NDArray[Any] | None = None) -> pl.DataFrame:
    offsets = np.arange(len(table)) if seconds is None else seconds
    times = [(START + timedelta(seconds=float(at))).replace(tzinfo=None) for at in offsets]
    return pl.DataFrame({"time": times, **dict(zip(VARIABLES, table.T, strict=True))})


def fit(**options: Any) -> ALoRa:
    chosen = {"window": 8, "epochs": 1, "epoch_windows": 160, **options}
    return ALoRa(**chosen).fit(frame(values(600)), time="time", progress=False)


def rows(
    table: NDArray[np.float64], *, seconds: NDArray[Any] | None = None
) -> list[dict[str, Any]]:
    offsets = np.arange(len(table)) if seconds is None else seconds
    return [
        {
            "time": (START + timedelta(seconds=float(at))).isoformat(),
            "values": {
                name: None if np.isnan(value) else float(value)
                for name, value in zip(VARIABLES, row, strict=True)
            },
        }
        for at, row in zip(offsets, table, strict=True)
    ]
